//! onecall's configuration file as commands change it: found, written in one step, still
//! trusted if it was, and tried out.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use onecall_bridge::{ServerState, ServerStatus};
use onecall_clients::{Readers, Server, TextFile, own_servers, variables};
use onecall_config::{Config, LOCAL_NAMES, Surroundings, TrustStore};

use crate::cli::Global;
use crate::commands::check;
use crate::setup;
use crate::terminal::Readable;
use crate::waiting;

/// The file that changes of the configuration belong in.
pub(crate) struct OwnFile {
    file: TextFile,
    surroundings: Surroundings<'static>,
}

impl OwnFile {
    /// The file that `onecall` would read, or make if there is none.
    pub(crate) fn find(global: &Global) -> anyhow::Result<Self> {
        let surroundings = Surroundings::of_process();
        let place = onecall_config::place_of_changes(global.config.as_deref(), &surroundings);
        let place = place.context(
            "there is no place for a configuration: set HOME, or name a file with --config",
        )?;
        Self::at(&place)
    }

    /// This file.
    pub(crate) fn at(path: &Path) -> anyhow::Result<Self> {
        let surroundings = Surroundings::of_process();
        let file = TextFile::read(&surroundings.working_directory.join(path))?;
        Ok(Self { file, surroundings })
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(crate) fn exists(&self) -> bool {
        self.file.exists()
    }

    pub(crate) fn text(&self) -> &str {
        self.file.text()
    }

    /// Whether others can read it, now that it is there.
    pub(crate) fn is_readable_by_others(&self) -> bool {
        self.file.is_readable_by_others()
    }

    /// The servers in it.
    pub(crate) fn servers(&self) -> anyhow::Result<Vec<Server>> {
        own_servers(self.text()).map_err(|error| self.wrong(&error))
    }

    /// What is wrong with the file.
    pub(crate) fn wrong(&self, error: &onecall_clients::edit::EditError) -> anyhow::Error {
        use onecall_clients::edit::EditError;
        let path = self.path().display();
        match error {
            EditError::Syntax { .. } => anyhow::anyhow!("{path}:{error}; nothing was changed"),
            other => anyhow::anyhow!("'{path}': {other}"),
        }
    }

    /// Replaces what it holds. A file of a working directory that is new or was trusted
    /// is trusted from then on.
    pub(crate) fn save(&self, text: &str) -> anyhow::Result<()> {
        let store = self.surroundings.directories.state.as_deref().map(TrustStore::at);
        let is_local = self.needs_trust();
        let was_trusted = store.as_ref().is_some_and(|store| {
            store.is_trusted(self.path(), self.text().as_bytes()).unwrap_or(false)
        });
        self.file.replace(text, Readers::Owner)?;
        if let Some(store) = store.filter(|_| is_local && (was_trusted || !self.exists())) {
            store.trust(self.path(), text.as_bytes())?;
        } else if is_local && !was_trusted {
            super::say(&format!(
                "'{0}' is not trusted yet; read it, then run `onecall trust {0}`",
                self.path().display()
            ));
        }
        Ok(())
    }

    /// Whether it would be read only if it is trusted: as one of a working directory, and
    /// not as the user's own.
    fn needs_trust(&self) -> bool {
        let has_name = |name: &std::ffi::OsStr| LOCAL_NAMES.iter().any(|known| name == *known);
        let users =
            self.surroundings.directories.config.as_ref().map(|config| config.join("onecall"));
        self.path().file_name().is_some_and(has_name) && self.path().parent() != users.as_deref()
    }

    /// Connects to those of its servers that have these names, and reports. Says whether
    /// all of them answer.
    pub(crate) fn try_out(&self, text: &str, names: &[String]) -> anyhow::Result<bool> {
        let environment = self.surroundings.environment;
        let mut unset: Vec<(String, Vec<String>)> = Vec::new();
        for server in own_servers(text).map_err(|error| self.wrong(&error))? {
            let texts = server.texts().flat_map(variables);
            let missing: Vec<String> =
                texts.filter(|name| environment(name).is_none()).map(str::to_owned).collect();
            if !missing.is_empty() && names.contains(&server.name) && !server.disabled {
                unset.push((server.name.clone(), missing));
            }
        }
        // Of a server that lacks a variable only this much is wrong: it is not tried.
        let lenient = |name: &str| environment(name).or_else(|| Some(String::new()));
        let is_waiting = |name: &str| unset.iter().any(|(waiting, _)| waiting == name);
        let mut config = Config::parse_bytes(text.as_bytes(), self.path(), &lenient)?;
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
            writeln!(stdout, "{name} was not tried: set {} first", missing.join(", "))?;
        }
        Ok(all_ready)
    }
}

fn connect(mut config: Config) -> anyhow::Result<Vec<ServerStatus>> {
    // Looked at here and nowhere else: listing them must accept nothing.
    config.servers.iter_mut().for_each(|server| server.pins = None);
    setup::tokio_runtime()?.block_on(async {
        let bridge = onecall_bridge::Bridge::start(config.servers, setup::guard()?);
        waiting::shown(bridge.catalog(), || bridge.status()).await;
        let status = bridge.status();
        bridge.shutdown().await;
        Ok(status)
    })
}

/// A number of things.
pub(crate) fn counted(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// Refuses to go on where nobody can be asked.
pub(crate) fn must_be_able_to_ask(instead: &str) -> anyhow::Result<()> {
    if !io::stdin().is_terminal() {
        bail!("there is nobody to ask here; {instead}");
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
