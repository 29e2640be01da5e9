//! Changes the configuration file of Claude Code through its own command, if it is installed:
//! Claude Code writes that file often and knows its format best.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use onecall_clients::edit;
use onecall_clients::{FileFormat, TextFile};
use serde_json::{Map, Value};

use crate::setup;

/// The timeout for the command, longer than it takes on a busy machine.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

const NAME: &str = "onecall";

/// Makes this change of the file through Claude Code's command; returns whether that worked.
pub(crate) fn change(path: &Path, old: &str, new: &str, is_project: bool) -> bool {
    let Some(program) = program() else { return false };
    let (Some(old), Some(new)) = (servers(old), servers(new)) else { return false };
    let without = |servers: &Map<String, Value>| {
        let mut servers = servers.clone();
        servers.shift_remove(NAME);
        servers
    };
    // The command is used only for adding or removing onecall.
    if without(&old) != without(&new) {
        return false;
    }
    let scope = if is_project { "project" } else { "user" };
    let entry = new.get(NAME).map(Value::to_string);
    let arguments = match (old.get(NAME), &entry) {
        (None, Some(entry)) => vec!["mcp", "add-json", "--scope", scope, NAME, entry],
        (Some(_), None) => vec!["mcp", "remove", "--scope", scope, NAME],
        _ => return false,
    };
    let is_done = run(&program, &arguments);
    let now = TextFile::read(path).ok().and_then(|file| servers(file.text()));
    is_done
        && now.is_some_and(|now| now.get(NAME) == new.get(NAME) && without(&now) == without(&new))
}

fn program() -> Option<PathBuf> {
    let search = std::env::var_os("PATH")?;
    std::env::split_paths(&search)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("claude"))
        .find(|path| path.is_file())
}

fn servers(text: &str) -> Option<Map<String, Value>> {
    let mut document = edit::read(text, FileFormat::Json).ok()?;
    match document.get_mut("mcpServers").map(Value::take) {
        Some(Value::Object(servers)) => Some(servers),
        None => Some(Map::new()),
        Some(_) => None,
    }
}

fn run(program: &Path, arguments: &[&str]) -> bool {
    let Ok(runtime) = setup::tokio_runtime() else { return false };
    runtime.block_on(async {
        let mut command = tokio::process::Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.kill_on_drop(true);
        let Ok(mut child) = command.spawn() else { return false };
        let ended = tokio::time::timeout(COMMAND_TIMEOUT, child.wait()).await;
        ended.is_ok_and(|status| status.is_ok_and(|status| status.success()))
    })
}
