//! Checks the Debian package: installs it into a root that contains only glibc, and runs it there.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use testkit::empty_root::{self, can_enter, command_in_root};

use super::install_folder::{InstallFolder, finish, has};
use super::session::{self, Signals};

/// Files that must exist after the installation.
const INSTALLED: [&str; 5] = [
    "usr/bin/onecall",
    "usr/share/bash-completion/completions/onecall",
    "usr/share/zsh/vendor-completions/_onecall",
    "usr/share/man/man1/onecall.1.gz",
    "usr/share/doc/onecall/copyright",
];

pub fn check(package: &Path, version: &str) -> Result<(), String> {
    if !has("dpkg") || !has("dpkg-deb") {
        eprintln!("skipped: no dpkg here, so no test of the Debian package");
        return Ok(());
    }
    let folder = InstallFolder::new()?;
    let root = folder.path("root");
    install(&folder, package, &root)?;
    if let Some(missing) = INSTALLED.iter().find(|path| !root.join(path).is_file()) {
        return Err(format!("{} does not install {missing}", package.display()));
    }
    if !can_enter() {
        eprintln!(
            "skipped: `unshare`, `mount` and `pivot_root` cannot make an empty root here, \
                   so the Debian package is installed and not run"
        );
        return Ok(());
    }
    empty_root::copy_glibc(&root, &root.join("usr/bin/onecall"));
    session::check(
        "the Debian package, in a root with glibc alone",
        version,
        Signals::ReachOnecall,
        |arguments| {
            let mut command = command_in_root(&root, &[&["/usr/bin/onecall"], arguments].concat());
            command.env("HOME", "/tmp");
            command
        },
    )
}

/// Installs with `dpkg` as root, which also verifies the checksums; an ordinary user only unpacks.
fn install(folder: &InstallFolder, package: &Path, root: &Path) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", root.display());
    let is_root = fs::metadata("/proc/self").map_err(failed)?.uid() == 0;
    if !is_root {
        eprintln!("skipped: dpkg installs for root alone, so the Debian package is only unpacked");
        let mut unpack = folder.command("dpkg-deb".as_ref());
        unpack.arg("--extract").arg(package).arg(root);
        return finish(unpack).map(drop);
    }
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"] {
        fs::create_dir_all(root.join(folder)).map_err(failed)?;
    }
    fs::write(root.join("var/lib/dpkg/status"), "").map_err(failed)?;
    let dpkg = |arguments: &[&str]| -> Command {
        let mut dpkg = folder.command("dpkg".as_ref());
        // glibc was copied as files, which the package database does not know.
        dpkg.arg("--root").arg(root).arg("--force-depends").args(arguments);
        dpkg
    };
    let mut unpack = dpkg(&["--install"]);
    unpack.arg(package);
    finish(unpack)?;
    let differences = finish(dpkg(&["--verify", "onecall"]))?;
    if differences.is_empty() { Ok(()) } else { Err(format!("dpkg --verify: {differences}")) }
}
