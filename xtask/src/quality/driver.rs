//! Runs the drivers in `tests/quality`: Python programs that print one JSON object for each thing
//! they tried.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::cargo::{output, root, state};
use testkit::packages::venv;

/// What the drivers need.
pub struct Setup {
    /// The folder of the binary that is tried, and of the servers of the tests.
    pub binaries: PathBuf,
    /// Whether only a small part of everything is tried.
    pub sample: bool,
}

/// The folder of installed packages and of what the drivers write.
pub fn folder() -> PathBuf {
    output("quality")
}

/// The Python of the virtual environment with the packages that drivers import, installed on first
/// use.
pub fn python() -> Result<PathBuf, String> {
    let list = root().join("tests/quality/requirements.txt");
    Ok(venv::install_into(folder().join("python"), &list)?.join("bin/python"))
}

impl Setup {
    /// `sample` if only a small part is tried, else `full`.
    pub fn size<T>(&self, full: T, sample: T) -> T {
        if self.sample { sample } else { full }
    }

    /// The objects that a driver prints. Fails if the driver does.
    pub fn run(
        &self,
        python: &Path,
        driver: &str,
        arguments: &[String],
        variables: &[(&str, PathBuf)],
    ) -> Result<Vec<Value>, String> {
        let mut command = Command::new(python);
        command.arg("-B").arg(root().join("tests/quality").join(driver)).args(arguments);
        command.envs(variables.iter().cloned());
        command.env("ONECALL_BIN", self.binaries.join("onecall")).env("XDG_STATE_HOME", state());
        command.stdin(Stdio::null()).stderr(Stdio::inherit());
        let done = command.output().map_err(|error| format!("{driver} cannot start: {error}"))?;
        if !done.status.success() {
            return Err(format!("{driver} failed: {}", done.status));
        }
        let printed = String::from_utf8_lossy(&done.stdout);
        let read = |line: &str| {
            serde_json::from_str(line).map_err(|error| format!("{driver} printed {line}: {error}"))
        };
        printed.lines().map(read).collect()
    }
}

/// The text of a field, or nothing.
pub fn text<'a>(report: &'a Value, field: &str) -> &'a str {
    report.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The number in a field, or 0.
pub fn number(report: &Value, field: &str) -> u64 {
    report.get(field).and_then(Value::as_u64).unwrap_or_default()
}

/// Whether a field is `true`.
pub fn is_true(report: &Value, field: &str) -> bool {
    report.get(field).and_then(Value::as_bool).unwrap_or_default()
}

/// The sum of a number over reports.
pub fn sum(reports: &[Value], field: &str) -> u64 {
    reports.iter().map(|report| number(report, field)).sum()
}
