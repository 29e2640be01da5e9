//! Checks the archive: unpacks it, and compares all files with the checksums.

use std::path::Path;

use super::place::{Place, finish};
use super::session::{self, Signals};
use crate::dist::checksums;

pub fn check(archive: &Path, version: &str) -> Result<(), String> {
    let place = Place::new()?;
    let mut compare = place.command("sha256sum".as_ref());
    compare.args(["--check", "--quiet", checksums::FILE]);
    compare.current_dir(archive.parent().unwrap_or(archive));
    finish(compare)?;
    let mut unpack = place.command("tar".as_ref());
    unpack.args(["--extract", "--strip-components=1", "--directory"]).arg(place.path("home"));
    unpack.arg("--file").arg(archive);
    finish(unpack)?;
    for file in ["LICENSE-MIT", "THIRD-PARTY.txt", "README.md", "man/man1/onecall.1"] {
        if !place.path("home").join(file).exists() {
            return Err(format!("{} has no {file}", archive.display()));
        }
    }
    let onecall = place.path("home/onecall");
    session::check("the archive", version, Signals::ReachOnecall, |arguments| {
        let mut command = place.command(&onecall);
        command.args(arguments);
        command
    })
}
