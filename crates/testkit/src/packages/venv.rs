//! Installs packages from PyPI, exactly those of a list. Each list has its own virtual environment,
//! because their versions exclude each other.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::stamp::{install_if_changed, run, shared_path, versions_path};

/// The virtual environment with the packages in `tests/interop/python/NAME.txt`.
pub fn install(name: &str) -> Result<PathBuf, String> {
    install_from(name, &versions_path("python").join(format!("{name}.txt")))
}

/// The virtual environment with the packages in a list at another path.
pub fn install_from(name: &str, requirements: &Path) -> Result<PathBuf, String> {
    install_into(shared_path(name), requirements)
}

/// The virtual environment in this folder, with the packages in a list.
pub fn install_into(folder: PathBuf, requirements: &Path) -> Result<PathBuf, String> {
    install_if_changed(folder, requirements, |folder| {
        let mut make = Command::new("python3");
        make.args(["-m", "venv"]).arg(folder);
        run(make)?;
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        // The list is complete, and wheels execute no code during the installation.
        pip.args(["--no-deps", "--only-binary=:all:", "--timeout", "20", "--retries", "1"]);
        pip.arg("--requirement").arg(requirements);
        run(pip)
    })
}
