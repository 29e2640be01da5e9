//! Runs every test of the workspace.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::cargo::{self, cargo, output};
use crate::client;
use crate::conformance;
use crate::dist;
use crate::interop;

/// Tests of behaviour that is the same on every engine, run on the system's Python too.
const ON_EVERY_ENGINE: [&str; 7] =
    ["arguments", "asyncio", "concurrency", "contract", "policy", "tools_interface", "values"];

/// What programs of the suite import of a third party.
const PACKAGES: [&str; 2] = ["numpy", "pandas"];

/// Arguments go to the test binaries, as with `cargo test -- ARGS`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let has_python = has_recent_python();
    if !has_python {
        eprintln!(
            "skipped: no python3 from 3.11 on here, so no test of the engine cpython; programs \
             are compared with CPython's stored output"
        );
    }
    cargo::build_binaries()?;
    let mut test = cargo("test");
    test.args(["--workspace", "--no-fail-fast", "--"]).args(arguments);
    if let Some(packages) = has_python.then(packages).flatten() {
        test.env("ONECALL_TEST_PACKAGES", packages);
    }
    test.envs(interop::install());
    cargo::run(test)?;
    if arguments.is_empty() {
        client::test()?;
        dist::test()?;
        conformance::run()?;
    }
    if !has_python {
        return Ok(());
    }
    eprintln!("once more on the system's Python");
    let mut again = cargo("test");
    again.args(["--workspace", "--no-fail-fast"]);
    for name in ON_EVERY_ENGINE {
        again.args(["--test", name]);
    }
    again.arg("--").args(arguments).env("ONECALL_TEST_ENGINE", "cpython");
    cargo::run(again)
}

/// The MCP conformance suite alone.
pub fn conformance() -> Result<(), String> {
    cargo::build_binaries()?;
    conformance::run()
}

fn has_recent_python() -> bool {
    let is_recent = ["-c", "import sys; sys.exit(sys.version_info < (3, 11))"];
    quiet("python3").args(is_recent).status().is_ok_and(|status| status.success())
}

/// A virtual environment with packages, made on the first run.
fn packages() -> Option<PathBuf> {
    let folder = output("interop").join("python");
    let python = folder.join("bin/python");
    let import = format!("import {}", PACKAGES.join(", "));
    let is_complete =
        || quiet(&python).args(["-c", &import]).status().is_ok_and(|status| status.success());
    if is_complete() {
        return Some(folder);
    }
    eprintln!("installing {} into {}", PACKAGES.join(" and "), folder.display());
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(&folder);
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(PACKAGES);
    match cargo::run(make).and_then(|()| cargo::run(install)) {
        Ok(()) if is_complete() => Some(folder),
        outcome => {
            let why = outcome.err().unwrap_or_else(|| "they do not import".to_owned());
            eprintln!("skipped: no test of packages on the engine cpython: {why}");
            None
        }
    }
}

fn quiet(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
