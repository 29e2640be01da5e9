//! Runs every test of the workspace.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use testkit::cargo::{self, cargo, output};

use crate::client;
use crate::conformance;
use crate::dist;
use crate::interop;
use crate::quality;

/// Tests of behaviour that is the same on every engine; they also run on the system's Python.
const ON_EVERY_ENGINE: &str = "on_every_engine::";

/// The third-party packages that programs of the suite import.
const PACKAGES: [&str; 2] = ["numpy", "pandas"];

/// Runs all tests; arguments are passed to the test binaries, as with `cargo test -- ARGS`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let has_python = has_recent_python();
    if !has_python {
        eprintln!(
            "skipped: no python3 from 3.11 on here, so no test of the engine cpython; programs \
             are compared with CPython's stored output"
        );
    }
    if testkit::postgres::binaries().is_none() {
        eprintln!("skipped: PostgreSQL is not installed, so no test of the store in a database");
    }
    if !testkit::browser::is_installed() {
        eprintln!("{}", testkit::browser::MISSING);
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
        quality::test()?;
    }
    if !has_python {
        return Ok(());
    }
    eprintln!("once more on the system's Python");
    let engine = [("ONECALL_TEST_ENGINE", PathBuf::from("cpython"))];
    run_modules(&[ON_EVERY_ENGINE], arguments, &engine)
}

/// Runs the tests in these modules of `crates/onecall/tests/it`, each written as `module::`.
/// Arguments are passed to the test binary; filters among them select from these tests.
pub fn run_modules(
    modules: &[&str],
    arguments: &[String],
    variables: &[(&str, PathBuf)],
) -> Result<(), String> {
    let tests = || {
        let mut tests = cargo("test");
        // The whole workspace, so that dependencies have the same features as there.
        tests.args(["--workspace", "--no-fail-fast", "--test", "it", "--"]);
        tests
    };
    let (options, filters): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|argument| argument.starts_with('-'));
    let mut run = tests();
    run.args(options).envs(variables.iter().cloned());
    if filters.is_empty() {
        run.args(modules);
        return cargo::run(run);
    }
    // The test binary would run every test that matches any filter, also in other modules.
    let mut list = tests();
    list.args(["--list", "--format=terse"]).args(modules).stderr(Stdio::inherit());
    let listed = list.output().map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !listed.status.success() {
        return Err(format!("the tests cannot be listed: {}", listed.status));
    }
    let text = String::from_utf8_lossy(&listed.stdout);
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    let chosen: Vec<&str> =
        names.filter(|name| filters.iter().any(|filter| name.contains(*filter))).collect();
    if chosen.is_empty() {
        return Ok(());
    }
    run.arg("--exact").args(chosen);
    cargo::run(run)
}

/// Runs only the MCP conformance suite.
pub fn conformance() -> Result<(), String> {
    cargo::build_binaries()?;
    conformance::run()
}

fn has_recent_python() -> bool {
    let is_recent = ["-c", "import sys; sys.exit(sys.version_info < (3, 11))"];
    quiet("python3").args(is_recent).status().is_ok_and(|status| status.success())
}

/// A virtual environment with packages, created on the first run.
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
