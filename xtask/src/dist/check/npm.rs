//! Checks the npm package: installs it into an empty folder, and runs it from there and with npx.

use std::path::Path;

use super::place::{Place, finish, has};
use super::session::{self, Signals};

pub fn check(package: &Path, version: &str) -> Result<(), String> {
    if !has("npm") || !has("npx") {
        eprintln!("skipped: no npm here, so no test of the npm package");
        return Ok(());
    }
    let place = Place::new()?;
    let mut install = place.installer("npm".as_ref());
    install.args(["install", "--offline", "--no-audit", "--no-fund", "--loglevel=error"]);
    install.arg("--prefix").arg(place.path("project")).arg(package);
    finish(install)?;
    let onecall = place.path("project/node_modules/.bin/onecall");
    session::check(
        "the npm package, as npm installs it",
        version,
        Signals::ReachOnecall,
        |arguments| {
            let mut command = place.command(&onecall);
            command.args(arguments);
            command
        },
    )?;
    session::check("the npm package, as npx runs it", version, Signals::EndAtNpx, |arguments| {
        let mut command = place.installer("npx".as_ref());
        command.args(["--yes", "--offline", "--package"]).arg(package).args(["--", "onecall"]);
        command.args(arguments);
        command
    })
}
