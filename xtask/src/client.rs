//! Tests the Python client with the binary that was built: from its folder, and installed by pip.

use std::path::Path;
use std::process::{Command, Stdio};

use testkit::cargo::{self, output, root, state};

/// The check for a Python version that the client supports.
const IS_RECENT: &str = "import sys; sys.exit(sys.version_info < (3, 9))";

/// Runs the client's tests, if there is a Python for them.
pub fn test() -> Result<(), String> {
    if !succeeds(Command::new("python3").args(["-c", IS_RECENT])) {
        eprintln!("skipped: no python3 from 3.9 on here, so no test of the Python client");
        return Ok(());
    }
    eprintln!("the Python client");
    run_tests(Path::new("python3"))?;
    let folder = output("interop").join("client");
    let python = folder.join("bin/python");
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(&folder);
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    install.arg(root().join("clients/python"));
    if let Err(why) = cargo::run(make).and_then(|()| cargo::run(install)) {
        eprintln!("skipped: no test of the Python client as pip installs it: {why}");
        return Ok(());
    }
    eprintln!("the Python client, as pip installs it");
    run_tests(&python)
}

fn run_tests(python: &Path) -> Result<(), String> {
    let mut tests = Command::new(python);
    // Warnings are errors, for example a descriptor that is left open.
    tests.args(["-B", "-X", "dev", "-W", "error", "-m", "unittest", "discover"]);
    tests.arg(root().join("clients/python/tests"));
    tests.env("ONECALL_BIN", output("debug").join("onecall")).env("XDG_STATE_HOME", state());
    cargo::run(tests)
}

fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
