//! Runs every test of the workspace.

use std::process::Command;

use crate::cargo::{self, cargo};

/// Arguments go to the test binaries, as with `cargo test -- ARGS`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("no python3 here: programs are compared with CPython's stored output");
    }
    // The tests run these binaries, and building them is not a test's business.
    let mut build = cargo("build");
    build.args(["--package", "onecall", "--package", "testkit", "--bins"]);
    cargo::run(build)?;
    let mut test = cargo("test");
    test.args(["--workspace", "--no-fail-fast", "--"]).args(arguments);
    cargo::run(test)
}
