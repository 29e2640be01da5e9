//! The official Python SDK, installed for the benchmark alone.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use testkit::process::wait_until;

use super::{Python, script};

/// The last release with the `FastMCP` class that such servers are written with.
const REQUIREMENT: &str = "mcp==1.30.0";

/// The registry has this long to answer and to deliver.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(90);

/// An interpreter that has the SDK.
pub struct Sdk {
    program: PathBuf,
    pub version: String,
}

impl Sdk {
    /// Finds the SDK in `folder`, or installs it there.
    pub fn install(python: &Python, folder: &Path) -> Result<Self, String> {
        let program = folder.join("bin/python");
        if let Some(found) = Self::find(&program) {
            return Ok(found);
        }
        eprintln!("installing {REQUIREMENT} into {}", folder.display());
        let mut create = python.command();
        create.args(["-m", "venv", "--clear"]).arg(folder);
        run(create)?;
        let mut install = Command::new(&program);
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        install.args(["--timeout", "10", "--retries", "1", REQUIREMENT]);
        run(install)?;
        Self::find(&program).ok_or_else(|| format!("{REQUIREMENT} does not import"))
    }

    fn find(program: &Path) -> Option<Self> {
        let code = "import importlib.metadata as m; print('mcp==' + m.version('mcp'))";
        let output = Command::new(program).args(["-c", code]).output().ok()?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (version == REQUIREMENT).then(|| Self { program: program.to_owned(), version })
    }

    /// The server on it, over this downstream server.
    pub fn command(&self, downstream: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(script("sdk_server.py")).arg(downstream);
        command
    }
}

/// Runs a command to its end, or until the time for installing is over.
fn run(mut command: Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("{shown}: {error}"))?;
    let mut status = None;
    wait_until(INSTALL_TIMEOUT, || {
        status = child.try_wait().ok().flatten();
        status.is_some()
    });
    match status {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!("{shown} failed: {status}")),
        None => {
            let _ = child.kill();
            let _ = child.wait();
            Err(format!("{shown} took longer than {INSTALL_TIMEOUT:?}"))
        }
    }
}
