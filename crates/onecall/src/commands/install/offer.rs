//! What clients are configured to start, and which of their servers become redundant.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use onecall_clients::{Client, Server, own_servers, variables};
use onecall_config::{Format, PTC_MCP_VARIABLE, Surroundings};

use crate::cli::Global;
use crate::commands::note;
use crate::setup;

/// What is installed, and from which configuration.
pub(super) struct Offer {
    executable: PathBuf,
    is_on_path: bool,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) variables: Vec<String>,
    pub(super) bridged: Vec<Server>,
}

impl Offer {
    pub(super) fn of(global: &Global, replace: bool) -> anyhow::Result<Self> {
        let surroundings = Surroundings::of_process();
        let located = onecall_config::locate(global.config.as_deref(), &surroundings)?;
        located.warnings.iter().for_each(|warning| note(&format!("warning: {warning}")));
        let executable = setup::this_executable()?;
        let mut offer = Self {
            is_on_path: is_on_path(&executable, &surroundings),
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
            return Ok(offer);
        };
        let secrets = surroundings.secrets()?;
        let path = std::path::absolute(&found.path).context("cannot find the configuration")?;
        let text = String::from_utf8_lossy(&found.bytes).into_owned();
        let servers =
            own_servers(&text).map_err(|error| anyhow::anyhow!("{}:{error}", path.display()))?;
        for name in servers
            .iter()
            .filter(|server| !server.disabled)
            .flat_map(Server::texts)
            .flat_map(variables)
        {
            let is_kept = secrets.get(name).is_some();
            if !is_kept && !offer.variables.iter().any(|known| known == name) {
                offer.variables.push(name.to_owned());
            }
        }
        let path =
            path.to_str().context("the configuration's path is not valid UTF-8; rename it")?;
        match found.format() {
            Format::Onecall => offer.args.extend(["--config".to_owned(), path.to_owned()]),
            // With --config, the file would be read in onecall's own format.
            Format::PtcMcp => offer.env.push((PTC_MCP_VARIABLE.to_owned(), path.to_owned())),
        }
        offer.bridged = if replace { servers } else { Vec::new() };
        Ok(offer)
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

fn is_on_path(executable: &Path, surroundings: &Surroundings<'_>) -> bool {
    let search = (surroundings.environment)("PATH").unwrap_or_default();
    let found = std::env::split_paths(&search)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("onecall"))
        .find(|path| path.is_file());
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    found.is_some_and(|found| real(&found).is_some() && real(&found) == real(executable))
}
