//! `onecall trust`: permits the use of a configuration in a working directory.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use onecall_config::{
    ConfigOrigin, Environment, FoundConfigFile, LOCAL_NAMES, LocalTool, LocalToolKind,
    ParsedConfig, ProcessContext, TrustStore, read_file,
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
    let context = ProcessContext::current();
    let bytes = read_file(&file)?;
    // The file is parsed as it will be when it is used.
    let found = FoundConfigFile { path: file, bytes, origin: ConfigOrigin::WorkingDirectory };
    let secrets = context.secrets()?;
    let environment = Environment::new(context.environment).with_secrets(&secrets);
    let ParsedConfig { config, warnings, .. } = found.parse(&environment)?;
    for warning in &warnings {
        tracing::warn!("{warning}");
    }
    let FoundConfigFile { path: file, bytes, .. } = found;
    let Some(state) = &context.directories.state else {
        bail!(
            "onecall cannot find your state directory, where it remembers trusted files: set HOME or XDG_STATE_HOME"
        );
    };
    let path = file.canonicalize().with_context(|| format!("cannot find '{}'", file.display()))?;
    TrustStore::at(state).trust(&path, &bytes)?;
    let servers = config.servers.iter().map(|server| server.name.as_str());
    let is_command = |tool: &&LocalTool| matches!(tool.kind, LocalToolKind::Command(_));
    let commands = config.local_tools.iter().filter(is_command).map(|tool| tool.name.as_str());
    let started: Vec<_> = servers.chain(commands).collect();
    note(&format!(
        "Trusted {} until it changes. It starts: {}",
        path.display(),
        if started.is_empty() { "nothing".to_owned() } else { started.join(", ") }
    ));
    Ok(ExitCode::SUCCESS)
}
