//! Packages from PyPI, exactly those of a list, each list in a virtual environment of its own
//! because their versions exclude each other.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::stamp::{installed, run, source};

/// The virtual environment with what `tests/interop/python/NAME.txt` lists.
pub fn install(name: &str) -> Result<PathBuf, String> {
    install_from(name, &source("python").join(format!("{name}.txt")))
}

/// The same with a list that is elsewhere.
pub fn install_from(name: &str, requirements: &Path) -> Result<PathBuf, String> {
    installed(name, requirements, |folder| {
        let mut make = Command::new("python3");
        make.args(["-m", "venv"]).arg(folder);
        run(make)?;
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        // The list is complete, and wheels run nothing while they are installed.
        pip.args(["--no-deps", "--only-binary=:all:", "--timeout", "20", "--retries", "1"]);
        pip.arg("--requirement").arg(requirements);
        run(pip)
    })
}
