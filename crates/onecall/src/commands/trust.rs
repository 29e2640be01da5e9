//! `onecall trust`: lets a configuration in a working directory be used.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use onecall_config::{
    Config, LOCAL_NAMES, LocalTool, LocalWork, Surroundings, TrustStore, read_file,
};

use crate::cli::Global;
use crate::commands::say;

/// Remembers the file's present content as trusted.
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
    let config = Config::parse_bytes(&bytes, &file, surroundings.environment)?;
    let Some(state) = &surroundings.directories.state else {
        bail!("there is no place to remember it: set HOME or XDG_STATE_HOME");
    };
    let path = file.canonicalize().with_context(|| format!("cannot find '{}'", file.display()))?;
    TrustStore::at(state).trust(&path, &bytes)?;
    let servers = config.servers.iter().map(|server| server.name.as_str());
    let is_command = |tool: &&LocalTool| matches!(tool.work, LocalWork::Command(_));
    let commands = config.local_tools.iter().filter(is_command).map(|tool| tool.name.as_str());
    let started: Vec<_> = servers.chain(commands).collect();
    say(&format!(
        "trusted {} until it changes; it starts: {}",
        path.display(),
        if started.is_empty() { "nothing".to_owned() } else { started.join(", ") }
    ));
    Ok(ExitCode::SUCCESS)
}
