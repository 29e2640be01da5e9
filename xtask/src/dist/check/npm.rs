//! Checks the npm package: installs it into an empty folder, and runs it from there and with npx.

use std::path::Path;

use super::install_folder::{InstallFolder, finish, has};
use super::session::{self, Signals};

pub fn check(package: &Path, version: &str) -> Result<(), String> {
    if !has("npm") || !has("npx") {
        eprintln!("skipped: no npm here, so no test of the npm package");
        return Ok(());
    }
    let folder = InstallFolder::new()?;
    let mut install = folder.installer("npm".as_ref());
    install.args(["install", "--offline", "--no-audit", "--no-fund", "--loglevel=error"]);
    install.arg("--prefix").arg(folder.path("project")).arg(package);
    finish(install)?;
    let onecall = folder.path("project/node_modules/.bin/onecall");
    session::check(
        "the npm package, as npm installs it",
        version,
        Signals::ReachOnecall,
        |arguments| {
            let mut command = folder.command(&onecall);
            command.args(arguments);
            command
        },
    )?;
    session::check("the npm package, as npx runs it", version, Signals::EndAtNpx, |arguments| {
        let mut command = folder.installer("npx".as_ref());
        command.args(["--yes", "--offline", "--package"]).arg(package).args(["--", "onecall"]);
        command.args(arguments);
        command
    })
}
