//! How every child process is started: with a minimal environment, in a process group of
//! its own, and not left behind by whoever started it.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::Stdio;

use onecall_config::Secret;
use rustix::thread::{disable_transparent_huge_pages, transparent_huge_pages_are_disabled};
use tokio::process::{Child, Command};

use crate::error::StartError;

/// What a child sees of our environment; everything else only if configured.
const BASE_ENVIRONMENT: [&str; 11] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TMPDIR",
    "TZ",
];

/// The part of our environment that every child sees.
pub(crate) fn base_environment() -> impl Iterator<Item = (&'static str, OsString)> {
    BASE_ENVIRONMENT.into_iter().filter_map(|name| Some((name, env::var_os(name)?)))
}

/// A command that is ready for its arguments; all its streams are pipes.
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

/// Starts a child. It inherits whether it may have huge pages; that this process does without
/// is no reason for others to.
pub(crate) fn spawn(command: &mut Command) -> io::Result<Child> {
    let without = transparent_huge_pages_are_disabled().unwrap_or(false);
    // Where the kernel does not let us, the child does without, too.
    if without {
        _ = disable_transparent_huge_pages(false);
    }
    let child = command.spawn();
    if without {
        _ = disable_transparent_huge_pages(true);
    }
    child
}

/// Says what a person can do about a child that did not start.
pub(crate) fn explain(error: io::Error, command: &str, cwd: Option<&Path>) -> StartError {
    let command = command.to_owned();
    match (error.kind(), cwd) {
        // The system does not tell a missing directory from a missing command.
        (io::ErrorKind::NotFound, Some(path)) if !path.is_dir() => {
            StartError::NoWorkingDirectory { path: path.to_owned() }
        }
        (io::ErrorKind::NotFound, _) => StartError::CommandNotFound { command },
        (io::ErrorKind::PermissionDenied, _) => StartError::NotExecutable { command },
        _ => StartError::NotStarted { command, source: error },
    }
}
