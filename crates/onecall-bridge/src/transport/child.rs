//! Starts child processes: with a minimal environment, in their own process group, and killed when
//! the handle is dropped.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Stdio;

use onecall_config::Secret;
use tokio::process::{Child, Command};

use crate::error::StartError;
use crate::system::with_huge_pages;
use crate::transport::environment::base_environment;

/// Creates a command without arguments; all its streams are pipes.
pub(crate) fn command(
    program: impl AsRef<OsStr>,
    env: &BTreeMap<String, Secret>,
    cwd: Option<&Path>,
) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    command.envs(base_environment());
    command.envs(env.iter().map(|(name, value)| (name, value.reveal())));
    if let Some(cwd) = cwd {
        command.current_dir(cwd);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    command
}

/// Starts a child process with huge pages, which this process may have disabled for itself.
pub(crate) fn spawn(command: &mut Command) -> io::Result<Child> {
    with_huge_pages(|| command.spawn())
}

/// Converts the error of a failed start into one that says what the user can do.
pub(crate) fn explain(error: io::Error, command: &str, cwd: Option<&Path>) -> StartError {
    let is_folder = cwd.unwrap_or(Path::new("")).join(command).is_dir();
    let command = command.to_owned();
    match (error.kind(), cwd) {
        // The system reports the same error for a missing directory and a missing command.
        (io::ErrorKind::NotFound, Some(path)) if !path.is_dir() => {
            StartError::NoWorkingDirectory { path: path.to_owned() }
        }
        (io::ErrorKind::NotFound, _) => match command.trim().split_once(char::is_whitespace) {
            Some((program, _)) => {
                let program = program.to_owned();
                StartError::CommandLine { command, program }
            }
            None => StartError::CommandNotFound { command },
        },
        (io::ErrorKind::PermissionDenied, _) if is_folder => StartError::Folder { command },
        (io::ErrorKind::PermissionDenied, _) => StartError::NotExecutable { command },
        _ => StartError::NotStarted { command, source: error },
    }
}
