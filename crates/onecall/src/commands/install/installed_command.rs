//! What clients are configured to start, and which of their servers become redundant.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use onecall_clients::{Client, Server, own_config_servers, referenced_variables};
use onecall_config::{ConfigFormat, PTC_MCP_VARIABLE, ProcessContext};

use crate::cli::Global;
use crate::commands::note;
use crate::setup;

/// What is installed, and from which configuration.
pub(super) struct InstalledCommand {
    executable: PathBuf,
    is_on_path: bool,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) variables: Vec<String>,
    pub(super) bridged: Vec<Server>,
}

impl InstalledCommand {
    pub(super) fn of(global: &Global, replace: bool) -> anyhow::Result<Self> {
        let context = ProcessContext::current();
        let located = onecall_config::locate(global.config.as_deref(), &context)?;
        located.warnings.iter().for_each(|warning| note(&format!("warning: {warning}")));
        let executable = setup::this_executable()?;
        let mut installed = Self {
            is_on_path: is_on_path(&executable, &context),
            executable,
            args: vec!["serve".to_owned()],
            env: Vec::new(),
            variables: Vec::new(),
            bridged: Vec::new(),
        };
        let Some(found) = located.found else {
            if replace {
                bail!(
                    "there is no configuration yet, so --replace has no servers: run `onecall init`"
                );
            }
            note(
                "There is no configuration yet, so onecall bridges no servers: run `onecall init`",
            );
            return Ok(installed);
        };
        let secrets = context.secrets()?;
        let path = std::path::absolute(&found.path).context("cannot find the configuration")?;
        let text = String::from_utf8_lossy(&found.bytes).into_owned();
        let servers = own_config_servers(&text)
            .map_err(|error| anyhow::anyhow!("{}:{error}", path.display()))?;
        for name in servers
            .iter()
            .filter(|server| !server.disabled)
            .flat_map(Server::string_values)
            .flat_map(referenced_variables)
        {
            let is_kept = secrets.get(name).is_some();
            if !is_kept && !installed.variables.iter().any(|known| known == name) {
                installed.variables.push(name.to_owned());
            }
        }
        let path =
            path.to_str().context("the configuration's path is not valid UTF-8; rename it")?;
        match found.format() {
            ConfigFormat::Onecall => {
                installed.args.extend(["--config".to_owned(), path.to_owned()])
            }
            // With --config, the file would be read in onecall's own format.
            ConfigFormat::PtcMcp => {
                installed.env.push((PTC_MCP_VARIABLE.to_owned(), path.to_owned()))
            }
        }
        installed.bridged = if replace { servers } else { Vec::new() };
        Ok(installed)
    }

    /// The command for a client: the plain name if a shell finds it. Editors have another search
    /// path.
    pub(super) fn command(&self, client: Client) -> String {
        match self.is_on_path && client.is_started_in_shell() {
            true => "onecall".to_owned(),
            false => self.executable.to_string_lossy().into_owned(),
        }
    }
}

fn is_on_path(executable: &Path, context: &ProcessContext<'_>) -> bool {
    let search = (context.environment)("PATH").unwrap_or_default();
    let found = std::env::split_paths(&search)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("onecall"))
        .find(|path| path.is_file());
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    found.is_some_and(|found| real(&found).is_some() && real(&found) == real(executable))
}
