//! Packages from npm, exactly those of a lock file, without their install scripts.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::stamp::{installed, run, source};

/// Files of a project that npm installs from.
const FILES: [&str; 2] = ["package.json", "package-lock.json"];

/// The folder that has `node_modules` for the project `tests/interop/NAME`.
pub fn install(name: &str) -> Result<PathBuf, String> {
    install_from(name, &source(name))
}

/// The same for a project that is elsewhere.
pub fn install_from(name: &str, project: &Path) -> Result<PathBuf, String> {
    installed(name, &project.join("package-lock.json"), |folder| {
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
