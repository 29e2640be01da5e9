//! Runs cargo with what this workspace needs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The interpreter's parser declares this Rust version but builds with the workspace's own; an
/// older cargo needs an option to accept that.
const PARSER_RUST_VERSION: (u32, u32) = (1, 96);

/// `cargo <subcommand>` in the workspace, with the options that its toolchain needs.
pub fn cargo(subcommand: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).arg(subcommand).arg("--locked");
    if toolchain().is_some_and(|version| version < PARSER_RUST_VERSION) {
        command.arg("--ignore-rust-version");
    }
    command
}

/// Runs a command to its end; the error names the command.
pub fn run(mut command: Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown} failed: {status}")),
        Err(error) => Err(format!("{shown} cannot be started: {error}")),
    }
}

/// Builds the binaries that tests run, since tests do not build them.
pub fn build_binaries() -> Result<(), String> {
    let mut build = cargo("build");
    // The whole workspace, as for the tests: a part of it would be built with other features.
    build.args(["--workspace", "--bins"]);
    run(build)
}

/// The top of the workspace.
pub fn root() -> PathBuf {
    let testkit = Path::new(env!("CARGO_MANIFEST_DIR"));
    testkit.ancestors().nth(2).unwrap_or(testkit).to_path_buf()
}

/// The folder of what cargo builds with `profile`.
pub fn output(profile: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    target.unwrap_or_else(|| root().join("target")).join(profile)
}

/// The state directory for processes that tests start, instead of the user's own.
pub fn state() -> PathBuf {
    output("state")
}

fn toolchain() -> Option<(u32, u32)> {
    let output = Command::new("rustc").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut parts = text.split_whitespace().nth(1)?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}
