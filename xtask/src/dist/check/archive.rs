//! Checks the archive: unpacks it, and compares all files with the checksums.

use std::path::Path;

use super::install_folder::{InstallFolder, finish};
use super::session::{self, Signals};
use crate::dist::checksums;

pub fn check(archive: &Path, version: &str) -> Result<(), String> {
    let folder = InstallFolder::new()?;
    let mut compare = folder.command("sha256sum".as_ref());
    compare.args(["--check", "--quiet", checksums::FILE]);
    compare.current_dir(archive.parent().unwrap_or(archive));
    finish(compare)?;
    let mut unpack = folder.command("tar".as_ref());
    unpack.args(["--extract", "--strip-components=1", "--directory"]).arg(folder.path("home"));
    unpack.arg("--file").arg(archive);
    finish(unpack)?;
    for file in ["LICENSE-MIT", "THIRD-PARTY.txt", "README.md", "man/man1/onecall.1"] {
        if !folder.path("home").join(file).exists() {
            return Err(format!("{} has no {file}", archive.display()));
        }
    }
    let onecall = folder.path("home/onecall");
    session::check("the archive", version, Signals::ReachOnecall, |arguments| {
        let mut command = folder.command(&onecall);
        command.args(arguments);
        command
    })
}
