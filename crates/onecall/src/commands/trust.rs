//! `onecall trust`: permits the use of a configuration in a working directory.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use onecall_config::{
    Environment, Found, LOCAL_NAMES, LocalTool, LocalWork, Origin, Parsed, Surroundings,
    TrustStore, read_file,
};

use crate::cli::Global;
use crate::commands::note;

/// Marks the present content of the file as trusted.
pub(crate) fn trust(file: Option<PathBuf>, global: &Global) -> anyhow::Result<ExitCode> {
    let file = match file.or_else(|| global.config.clone()) {
        Some(file) => file,
        None => match LOCAL_NAMES.iter().map(PathBuf::from).find(|file| file.is_file()) {
            Some(file) => file,
            None => bail!("there is no {} here; name the file to trust", LOCAL_NAMES.join(" or ")),
        },
    };
    let surroundings = Surroundings::of_process();
    let bytes = read_file(&file)?;
    // The file is parsed as it will be when it is used.
    let found = Found { path: file, bytes, origin: Origin::WorkingDirectory };
    let secrets = surroundings.secrets()?;
    let environment = Environment::new(surroundings.environment).with_secrets(&secrets);
    let Parsed { config, warnings, .. } = found.parse(&environment)?;
    for warning in &warnings {
        tracing::warn!("{warning}");
    }
    let Found { path: file, bytes, .. } = found;
    let Some(state) = &surroundings.directories.state else {
        bail!("there is no place to remember it: set HOME or XDG_STATE_HOME");
    };
    let path = file.canonicalize().with_context(|| format!("cannot find '{}'", file.display()))?;
    TrustStore::at(state).trust(&path, &bytes)?;
    let servers = config.servers.iter().map(|server| server.name.as_str());
    let is_command = |tool: &&LocalTool| matches!(tool.work, LocalWork::Command(_));
    let commands = config.local_tools.iter().filter(is_command).map(|tool| tool.name.as_str());
    let started: Vec<_> = servers.chain(commands).collect();
    note(&format!(
        "Trusted {} until it changes. It starts: {}",
        path.display(),
        if started.is_empty() { "nothing".to_owned() } else { started.join(", ") }
    ));
    Ok(ExitCode::SUCCESS)
}
