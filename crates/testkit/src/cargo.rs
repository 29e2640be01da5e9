//! Runs cargo as this workspace needs it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The interpreter's parser declares this Rust version but builds with the
/// workspace's own; an older cargo has to be told not to mind.
const PARSER_NEEDS: (u32, u32) = (1, 96);

/// `cargo <subcommand>`, in the workspace, with what its toolchain needs.
pub fn cargo(subcommand: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).arg(subcommand).arg("--locked");
    if toolchain().is_some_and(|version| version < PARSER_NEEDS) {
        command.arg("--ignore-rust-version");
    }
    command
}

/// Runs a command to its end; a failure names it.
pub fn run(mut command: Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown} failed: {status}")),
        Err(error) => Err(format!("{shown} cannot be started: {error}")),
    }
}

/// Builds the binaries that tests run, which is not a test's business.
pub fn build_binaries() -> Result<(), String> {
    let mut build = cargo("build");
    // All of the workspace, as for the tests: a part of it would be built with other features.
    build.args(["--workspace", "--bins"]);
    run(build)
}

/// The top of the workspace.
pub fn root() -> PathBuf {
    let testkit = Path::new(env!("CARGO_MANIFEST_DIR"));
    testkit.ancestors().nth(2).unwrap_or(testkit).to_path_buf()
}

/// Where cargo puts what it builds with `profile`.
pub fn output(profile: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    target.unwrap_or_else(|| root().join("target")).join(profile)
}

/// Where what we start keeps its state, instead of in the user's own directory.
pub fn state() -> PathBuf {
    output("state")
}

fn toolchain() -> Option<(u32, u32)> {
    let output = Command::new("rustc").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut parts = text.split_whitespace().nth(1)?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}
