//! onecall's configuration file, as commands change it: finds it, replaces it in one step, keeps
//! its trust, and tests its servers.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use onecall_bridge::{Bridge, ConnectionOptions, ServerState, ServerStatus};
use onecall_clients::{ReadableBy, Server, TextFile, own_config_servers, referenced_variables};
use onecall_config::{
    Config, ConfigFormat, ConfigOrigin, Environment, FoundConfigFile, LOCAL_NAMES, ProcessContext,
    TrustStore,
};
use onecall_core::text::shell_word;

use crate::cli::Global;
use crate::commands::check;
use crate::terminal::TerminalEscaper;
use crate::waiting;
use crate::{listings, logs, protection, setup, user_vault};

const NO_CONFIG_PATH: &str =
    "onecall cannot find your configuration directory: set HOME, or name a file with --config";

/// The configuration file that commands change.
pub(crate) struct EditableConfig {
    file: TextFile,
    origin: ConfigOrigin,
    context: ProcessContext<'static>,
}

impl EditableConfig {
    /// The file that changes are written to; it may not exist yet.
    pub(crate) fn find(global: &Global) -> anyhow::Result<Self> {
        let context = ProcessContext::current();
        let place = onecall_config::file_to_edit(global.config.as_deref(), &context);
        let (place, origin) = place.context(NO_CONFIG_PATH)?;
        if origin == ConfigOrigin::User {
            // Logs the files in the working directory that are ignored.
            locate(global)?;
        }
        Self::read(&place, origin)
    }

    /// The file that commands read, or the user's own if there is none.
    pub(crate) fn current(global: &Global) -> anyhow::Result<Self> {
        match locate(global)? {
            Some(found) => Self::read(&found.path, found.origin),
            None => {
                let own = ProcessContext::current().directories.config_file();
                Self::read(&own.context(NO_CONFIG_PATH)?, ConfigOrigin::User)
            }
        }
    }

    /// The file in `--output`.
    pub(crate) fn at(path: &Path) -> anyhow::Result<Self> {
        Self::read(path, ConfigOrigin::Named("--output"))
    }

    fn read(path: &Path, origin: ConfigOrigin) -> anyhow::Result<Self> {
        let context = ProcessContext::current();
        let file = TextFile::read(&context.working_directory.join(path))?;
        let own = Self { file, origin, context };
        if origin == ConfigOrigin::WorkingDirectory && !own.is_trusted() {
            bail!(
                "'{}' has changed since you trusted it; read it, then run `onecall trust {}`",
                own.path().display(),
                own.shell_word()
            );
        }
        Ok(own)
    }

    fn trust_store(&self) -> Option<TrustStore> {
        self.context.directories.state.as_deref().map(TrustStore::at)
    }

    /// Whether the user has trusted the present content.
    fn is_trusted(&self) -> bool {
        self.trust_store().is_some_and(|store| {
            store.is_trusted(self.path(), self.text().as_bytes()).unwrap_or(false)
        })
    }

    /// The file as if it contained this text.
    fn with_text(&self, text: &str) -> FoundConfigFile {
        let (path, bytes) = (self.path().to_path_buf(), text.as_bytes().to_vec());
        FoundConfigFile { path, bytes, origin: self.origin }
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
        own_config_servers(self.text()).map_err(|error| self.edit_error(&error))
    }

    /// The error message for a file that cannot be edited.
    pub(crate) fn edit_error(&self, error: &onecall_clients::edit::EditError) -> anyhow::Error {
        use onecall_clients::edit::EditError;
        let path = self.path().display();
        match error {
            EditError::Syntax { .. } => anyhow::anyhow!("{path}:{error}; nothing was changed"),
            other => anyhow::anyhow!("'{path}': {other}"),
        }
    }

    /// Validates `text` as the content of this file.
    pub(crate) fn check(&self, text: &str) -> anyhow::Result<()> {
        let secrets = self.context.secrets()?;
        let environment = Environment::new(self.context.environment).with_secrets(&secrets);
        let parsed = self.with_text(text).parse(&environment)?;
        Ok(protection::check(&parsed.config, Some(self.path()))?)
    }

    /// Replaces the content. A file in a working directory that is new or was trusted becomes
    /// trusted with its new content.
    pub(crate) fn save(&self, text: &str) -> anyhow::Result<()> {
        let is_ptc_mcp = |text: &str| self.with_text(text).format() == ConfigFormat::PtcMcp;
        if self.exists() && is_ptc_mcp(self.text()) && !is_ptc_mcp(text) {
            bail!(
                "'{}' is a configuration of ptc-mcp, and this change would make it one of onecall, \
                 where some of its keys mean something else; nothing was changed. Name another \
                 file with --config",
                self.path().display()
            );
        }
        let store = self.trust_store();
        let is_local = self.needs_trust();
        let was_trusted = self.is_trusted();
        self.file.replace(text, ReadableBy::Owner)?;
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
        let users = self.context.directories.config.as_ref().map(|config| config.join("onecall"));
        self.path().file_name().is_some_and(has_name) && self.path().parent() != users.as_deref()
    }

    /// Connects to the servers with these names, and prints the results. Returns whether all of
    /// them answer.
    pub(crate) fn test_servers(&self, text: &str, names: &[String]) -> anyhow::Result<bool> {
        let secrets = self.context.secrets()?;
        let environment = Environment::new(self.context.environment).with_secrets(&secrets);
        let mut unset: Vec<(String, Vec<String>)> = Vec::new();
        for server in own_config_servers(text).map_err(|error| self.edit_error(&error))? {
            let texts = server.string_values().flat_map(referenced_variables);
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
            let escaper = TerminalEscaper::new(stdout.is_terminal());
            stdout.write_all(escaper.text(&check::table(&status)).as_bytes())?;
        }
        for (name, missing) in &unset {
            all_ready = false;
            writeln!(stdout, "onecall did not connect to {name}: {}", missing_values(missing))?;
        }
        Ok(all_ready)
    }
}

/// Finds the configuration that commands read, and logs which files are ignored.
fn locate(global: &Global) -> anyhow::Result<Option<FoundConfigFile>> {
    let located = onecall_config::locate(global.config.as_deref(), &ProcessContext::current())?;
    for warning in &located.warnings {
        tracing::warn!("{warning}");
    }
    Ok(located.found)
}

fn connect(mut config: Config) -> anyhow::Result<Vec<ServerStatus>> {
    logs::configure(&config);
    // This test must not pin any tools.
    config.servers.iter_mut().for_each(|server| server.pins = None);
    let options = ConnectionOptions {
        downloads: setup::downloads(),
        vault: user_vault::with_shared_logins(&config),
        ..ConnectionOptions::default()
    };
    setup::tokio_runtime()?.block_on(async {
        let bridge =
            Bridge::start_with(config.servers.clone(), Vec::new(), setup::guard()?, options);
        waiting::with_progress(bridge.catalog(), || bridge.status()).await;
        listings::save(&bridge, &config);
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
        "{} {have} no value; store {them} with {}, or set {them} in the environment of your client",
        names.join(", "),
        commands.join(" and ")
    )
}

/// A number with a noun in singular or plural.
pub(crate) fn counted(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// Fails if stdin is not a terminal, so that the user cannot be asked.
pub(crate) fn require_terminal(instead: &str) -> anyhow::Result<()> {
    if !io::stdin().is_terminal() {
        bail!("cannot ask you, because this is not a terminal: {instead}");
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
