//! Installs each package in an empty folder, and runs a program over MCP with the installed binary.

mod archive;
mod deb;
mod install_folder;
mod npm;
mod session;
mod wheel;

use super::{Packages, PackagesOfProcessor};

/// Checks all packages that this machine can run; reports what is skipped, and why.
pub fn run(packages: &Packages) -> Result<(), String> {
    let version = &packages.version;
    let (here, elsewhere): (Vec<_>, Vec<&PackagesOfProcessor>) =
        packages.of_processors.iter().partition(|it| it.binary.processor.is_here());
    for other in elsewhere {
        let name = other.binary.processor.name();
        eprintln!("skipped: the packages for {name}, which this machine cannot run");
    }
    for own in here {
        archive::check(&own.archive, version)?;
        deb::check(&own.deb, version)?;
        wheel::check(&own.wheel, version)?;
    }
    npm::check(&packages.npm, version)
}
