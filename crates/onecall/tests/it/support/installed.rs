//! Where `cargo xtask test` has installed the published packages.

#![expect(clippy::print_stderr, reason = "what is skipped is to be seen")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Longer than any of these processes takes, even on a busy machine; none lives longer,
/// whatever becomes of its test.
pub const DEADLINE: &str = "120";

/// The path in a variable that `cargo xtask test` sets; a test without it is skipped.
pub fn installed(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    if path.is_none() {
        eprintln!("skipped: {variable} is not set; `cargo xtask test` installs what it names");
    }
    path
}

/// Node.js and the main file of a package from npm.
pub fn npm_package(main: &str) -> Option<(PathBuf, PathBuf)> {
    let node = installed("ONECALL_INTEROP_NODE")?;
    let file = installed("ONECALL_INTEROP_NPM")?.join("node_modules").join(main);
    Some((node, file))
}

/// The program of Claude Code.
pub fn claude_code() -> Option<PathBuf> {
    let folder = installed("ONECALL_INTEROP_CLAUDE_CODE")?.join("node_modules/@anthropic-ai");
    let packages = std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    // The program is in a package for each platform.
    let program = packages.map(|package| package.join("claude")).find(|program| program.is_file());
    if program.is_none() {
        eprintln!("skipped: Claude Code has no program for this machine");
    }
    program
}

/// A Node.js that is new enough for the Inspector, and the Inspector's main file.
pub fn inspector() -> Option<(PathBuf, PathBuf)> {
    let node = installed("ONECALL_INTEROP_RECENT_NODE")?;
    let package = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
    Some((node, installed("ONECALL_INTEROP_INSPECTOR")?.join(package)))
}

/// A file below `tests/interop`.
pub fn interop_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/interop").join(name)
}

/// A command that ends by itself when it takes far too long.
pub fn bounded(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", DEADLINE]).arg(program.as_ref());
    command
}
