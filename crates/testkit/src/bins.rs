//! Finds the executables of this workspace beside the running test, so that tests run exactly what
//! was built with them.

use std::path::PathBuf;
use std::process::Command;

/// The path of `onecall` itself.
#[must_use]
pub fn onecall() -> PathBuf {
    find("onecall")
}

/// The path of the fixture MCP server of this crate.
#[must_use]
pub fn fixture_server() -> PathBuf {
    find("fixture-server")
}

/// The path of the server that the MCP conformance suite expects.
#[must_use]
pub fn reference_server() -> PathBuf {
    find("reference-server")
}

/// A command that starts the fixture server with these flags.
#[must_use]
pub fn fixture_command(flags: &[&str]) -> Command {
    let mut command = Command::new(fixture_server());
    command.args(flags);
    command
}

/// The executable `name` in the build folder that the running test came from.
///
/// # Panics
/// If it has not been built.
#[must_use]
pub fn find(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the running test has a path");
    // A test is target/<profile>/deps/<test>-<hash>, an executable of the workspace is
    // target/<profile>/<name>; an example is in a folder beside deps.
    let mut folder = test.parent().expect("an executable is in a folder");
    if folder.ends_with("deps") || folder.ends_with("examples") {
        folder = folder.parent().expect("deps is in a profile folder");
    }
    let executable = folder.join(name);
    assert!(
        executable.is_file(),
        "{} is missing: run the tests through `cargo xtask test`, which builds it first",
        executable.display()
    );
    executable
}
