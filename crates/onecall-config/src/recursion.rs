//! Detects a server entry that would start onecall itself, which would start itself again without
//! end.

use std::fs;
use std::path::{Path, PathBuf};

use crate::locate::ProcessContext;
use crate::model::{StdioTransport, Transport};

/// Whether this server is onecall in the mode that serves clients.
pub(crate) fn starts_onecall(transport: &Transport, context: &ProcessContext<'_>) -> bool {
    let Transport::Stdio(StdioTransport { command, args, .. }) = transport else { return false };
    let serves = args.first().is_none_or(|first| first == "serve");
    serves && (is_named_onecall(command) || is_this_program(command, context))
}

fn is_named_onecall(command: &str) -> bool {
    let name = Path::new(command).file_name();
    name.is_some_and(|name| name == "onecall" || name == "onecall.exe")
}

/// Compares the files, so that a link or another name cannot hide the program.
fn is_this_program(command: &str, context: &ProcessContext<'_>) -> bool {
    let executable = context.executable.as_ref().and_then(|path| fs::canonicalize(path).ok());
    let resolved = resolve(command, context).and_then(|path| fs::canonicalize(path).ok());
    executable.is_some() && executable == resolved
}

fn resolve(command: &str, context: &ProcessContext<'_>) -> Option<PathBuf> {
    let is_bare = Path::new(command).components().count() == 1 && !command.contains('/');
    if !is_bare {
        return Some(context.working_directory.join(command));
    }
    let search = (context.environment)("PATH")?;
    std::env::split_paths(&search)
        .map(|directory| context.working_directory.join(directory).join(command))
        .find(|path| path.is_file())
}
