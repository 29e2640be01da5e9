//! onecall's configuration file, as commands change it: finds it, replaces it in one step, keeps
//! its trust, and tests its servers.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use onecall_bridge::{Bridge, ServerState, ServerStatus, Setting};
use onecall_clients::{Readers, Server, TextFile, own_servers, variables};
use onecall_config::{
    Config, Environment, Format, Found, LOCAL_NAMES, Origin, Surroundings, TrustStore,
};
use onecall_core::text::shell_word;

use crate::cli::Global;
use crate::commands::check;
use crate::terminal::Readable;
use crate::waiting;
use crate::{listings, logs, protection, setup};

const NO_PLACE: &str =
    "there is no place for a configuration: set HOME, or name a file with --config";

/// The configuration file that commands change.
pub(crate) struct OwnFile {
    file: TextFile,
    origin: Origin,
    surroundings: Surroundings<'static>,
}

impl OwnFile {
    /// The file that changes are written to; it may not exist yet.
    pub(crate) fn find(global: &Global) -> anyhow::Result<Self> {
        let surroundings = Surroundings::of_process();
        let place = onecall_config::place_of_changes(global.config.as_deref(), &surroundings);
        let (place, origin) = place.context(NO_PLACE)?;
        if origin == Origin::User {
            // Logs the files in the working directory that are ignored.
            locate(global)?;
        }
        Self::read(&place, origin)
    }

    /// The file that commands read, or the user's own if there is none.
    pub(crate) fn in_use(global: &Global) -> anyhow::Result<Self> {
        match locate(global)? {
            Some(found) => Self::read(&found.path, found.origin),
            None => {
                let own = Surroundings::of_process().directories.config_file();
                Self::read(&own.context(NO_PLACE)?, Origin::User)
            }
        }
    }

    /// The file in `--output`.
    pub(crate) fn at(path: &Path) -> anyhow::Result<Self> {
        Self::read(path, Origin::Named("--output"))
    }

    fn read(path: &Path, origin: Origin) -> anyhow::Result<Self> {
        let surroundings = Surroundings::of_process();
        let file = TextFile::read(&surroundings.working_directory.join(path))?;
        let own = Self { file, origin, surroundings };
        if origin == Origin::WorkingDirectory && !own.is_trusted() {
            bail!(
                "'{}' has changed since you trusted it; read it, then run `onecall trust {}`",
                own.path().display(),
                own.shell_word()
            );
        }
        Ok(own)
    }

    fn trust_store(&self) -> Option<TrustStore> {
        self.surroundings.directories.state.as_deref().map(TrustStore::at)
    }

    /// Whether the user has trusted the present content.
    fn is_trusted(&self) -> bool {
        self.trust_store().is_some_and(|store| {
            store.is_trusted(self.path(), self.text().as_bytes()).unwrap_or(false)
        })
    }

    /// The file as if it contained this text.
    fn with_text(&self, text: &str) -> Found {
        let (path, bytes) = (self.path().to_path_buf(), text.as_bytes().to_vec());
        Found { path, bytes, origin: self.origin }
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// The path of the file as one word of a shell command.
    pub(crate) fn shell_word(&self) -> String {
        shell_word(&self.path().to_string_lossy()).into_owned()
    }

    pub(crate) fn exists(&self) -> bool {
        self.file.exists()
    }

    pub(crate) fn text(&self) -> &str {
        self.file.text()
    }

    /// Whether other users can read the file.
    pub(crate) fn is_readable_by_others(&self) -> bool {
        self.file.is_readable_by_others()
    }

    /// The servers in the file.
    pub(crate) fn servers(&self) -> anyhow::Result<Vec<Server>> {
        own_servers(self.text()).map_err(|error| self.wrong(&error))
    }

    /// The error message for a file that cannot be edited.
    pub(crate) fn wrong(&self, error: &onecall_clients::edit::EditError) -> anyhow::Error {
        use onecall_clients::edit::EditError;
        let path = self.path().display();
        match error {
            EditError::Syntax { .. } => anyhow::anyhow!("{path}:{error}; nothing was changed"),
            other => anyhow::anyhow!("'{path}': {other}"),
        }
    }

    /// Validates `text` as the content of this file.
    pub(crate) fn check(&self, text: &str) -> anyhow::Result<()> {
        let secrets = self.surroundings.secrets()?;
        let environment = Environment::new(self.surroundings.environment).with_secrets(&secrets);
        let parsed = self.with_text(text).parse(&environment)?;
        Ok(protection::check(&parsed.config, Some(self.path()))?)
    }

    /// Replaces the content. A file in a working directory that is new or was trusted becomes
    /// trusted with its new content.
    pub(crate) fn save(&self, text: &str) -> anyhow::Result<()> {
        let is_ptc_mcp = |text: &str| self.with_text(text).format() == Format::PtcMcp;
        if self.exists() && is_ptc_mcp(self.text()) && !is_ptc_mcp(text) {
            bail!(
                "'{}' is a configuration of ptc-mcp, and with this change it would be one of onecall, \
                 in which some of it means something else; nothing was changed. Name another file \
                 with --config",
                self.path().display()
            );
        }
        let store = self.trust_store();
        let is_local = self.needs_trust();
        let was_trusted = self.is_trusted();
        self.file.replace(text, Readers::Owner)?;
        if let Some(store) = store.filter(|_| is_local && (was_trusted || !self.exists())) {
            store.trust(self.path(), text.as_bytes())?;
        } else if is_local && !was_trusted {
            super::note(&format!(
                "'{}' is not trusted yet; read it, then run `onecall trust {}`",
                self.path().display(),
                self.shell_word()
            ));
        }
        Ok(())
    }

    /// Whether the file is read only if it is trusted: it is one of a working directory and not the
    /// user's own.
    fn needs_trust(&self) -> bool {
        let has_name = |name: &std::ffi::OsStr| LOCAL_NAMES.iter().any(|known| name == *known);
        let users =
            self.surroundings.directories.config.as_ref().map(|config| config.join("onecall"));
        self.path().file_name().is_some_and(has_name) && self.path().parent() != users.as_deref()
    }

    /// Connects to the servers with these names, and prints the results. Returns whether all of
    /// them answer.
    pub(crate) fn try_out(&self, text: &str, names: &[String]) -> anyhow::Result<bool> {
        let secrets = self.surroundings.secrets()?;
        let environment = Environment::new(self.surroundings.environment).with_secrets(&secrets);
        let mut unset: Vec<(String, Vec<String>)> = Vec::new();
        for server in own_servers(text).map_err(|error| self.wrong(&error))? {
            let texts = server.texts().flat_map(variables);
            let missing: Vec<String> =
                texts.filter(|name| !environment.has(name)).map(str::to_owned).collect();
            if !missing.is_empty() && names.contains(&server.name) && !server.disabled {
                unset.push((server.name.clone(), missing));
            }
        }
        // A missing variable only affects its own server, which is not tried.
        let lenient = environment.with_missing_as_empty();
        let is_waiting = |name: &str| unset.iter().any(|(waiting, _)| waiting == name);
        let mut config = self.with_text(text).parse(&lenient)?.config;
        config.servers.retain(|server| {
            names.iter().any(|name| name == server.name.as_str())
                && !is_waiting(server.name.as_str())
        });
        let mut stdout = io::stdout().lock();
        let mut all_ready = true;
        if !config.servers.is_empty() {
            let status = connect(config)?;
            all_ready = status.iter().all(|server| {
                matches!(server.state, ServerState::Ready { .. } | ServerState::Idle)
            });
            let readable = Readable::new(stdout.is_terminal());
            stdout.write_all(readable.text(&check::table(&status)).as_bytes())?;
        }
        for (name, missing) in &unset {
            all_ready = false;
            writeln!(stdout, "{name} was not tried: {}", missing_values(missing))?;
        }
        Ok(all_ready)
    }
}

/// Finds the configuration that commands read, and logs which files are ignored.
fn locate(global: &Global) -> anyhow::Result<Option<Found>> {
    let located = onecall_config::locate(global.config.as_deref(), &Surroundings::of_process())?;
    for warning in &located.warnings {
        tracing::warn!("{warning}");
    }
    Ok(located.found)
}

fn connect(mut config: Config) -> anyhow::Result<Vec<ServerStatus>> {
    logs::keep(&config);
    // This test must not pin any tools.
    config.servers.iter_mut().for_each(|server| server.pins = None);
    let setting = Setting { downloads: setup::downloads(), ..Setting::default() };
    setup::tokio_runtime()?.block_on(async {
        let bridge = Bridge::start_in(config.servers.clone(), Vec::new(), setup::guard()?, setting);
        waiting::shown(bridge.catalog(), || bridge.status()).await;
        listings::keep(&bridge, &config);
        let status = bridge.status();
        bridge.shutdown().await;
        Ok(status)
    })
}

/// Explains which variables a server lacks, and how to provide them.
fn missing_values(names: &[String]) -> String {
    let commands: Vec<String> =
        names.iter().map(|name| format!("`onecall secrets set {name}`")).collect();
    let (have, them) = match names.len() {
        1 => ("has", "it"),
        _ => ("have", "them"),
    };
    format!(
        "{} {have} no value; keep {them} with {}, or set {them} where your client is started",
        names.join(", "),
        commands.join(" and ")
    )
}

/// A number with a noun in singular or plural.
pub(crate) fn counted(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// Fails if stdin is not a terminal, so that the user cannot be asked.
pub(crate) fn must_be_able_to_ask(instead: &str) -> anyhow::Result<()> {
    if !io::stdin().is_terminal() {
        bail!("not a terminal: {instead}");
    }
    Ok(())
}

/// The user's home directory.
pub(crate) fn home() -> anyhow::Result<PathBuf> {
    let variable = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    let home = std::env::var_os(variable).filter(|home| !home.is_empty());
    home.map(PathBuf::from)
        .with_context(|| format!("{variable} is not set; it says where clients keep their files"))
}
