//! Installs packages from npm, exactly those of a lock file, without running their install scripts.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::stamp::{install_if_changed, run, shared_path, versions_path};

/// The files of a project that npm needs.
const FILES: [&str; 2] = ["package.json", "package-lock.json"];

/// The folder with the `node_modules` of the project `tests/interop/NAME`.
pub fn install(name: &str) -> Result<PathBuf, String> {
    install_from(name, &versions_path(name))
}

/// The folder with the `node_modules` of a project at another path.
pub fn install_from(name: &str, project: &Path) -> Result<PathBuf, String> {
    install_if_changed(shared_path(name), &project.join("package-lock.json"), |folder| {
        for file in FILES {
            let copied = std::fs::copy(project.join(file), folder.join(file));
            copied.map_err(|error| format!("{file} cannot be copied: {error}"))?;
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
        npm.args(["--fetch-retries=1", "--fetch-timeout=60000"]).current_dir(folder);
        run(npm)
    })
}
