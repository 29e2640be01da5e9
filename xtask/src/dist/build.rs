//! Builds the binaries for release, one for each processor whose Rust target is installed.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::cargo::{self, cargo, output, root};
use testkit::packages::venv;

use crate::dependencies::PLATFORMS;

/// The oldest glibc that Rust's own libraries support; systems since 2014 have it.
const GLIBC: &str = "2.17";

/// Builds for every platform that is possible here; reports what is skipped, and why.
pub fn build() -> Result<Vec<PathBuf>, String> {
    let zig = venv::install_from("zig", &root().join("packaging/dist/zig.txt"));
    if let Err(why) = &zig {
        eprintln!("skipped: no link for glibc {GLIBC}, but for the one of this machine: {why}");
    }
    let mut binaries = Vec::new();
    for platform in PLATFORMS {
        let is_here = platform.starts_with(env::consts::ARCH);
        if !has_standard_library(platform) {
            eprintln!(
                "skipped: {platform}: its Rust is not installed (`rustup target add {platform}`)"
            );
        } else if let Ok(zig) = &zig {
            binaries.push(build_with_zig(platform, zig)?);
        } else if is_here {
            binaries.push(build_plainly()?);
        } else {
            eprintln!("skipped: {platform}: this machine can link for it with zig alone");
        }
    }
    Ok(binaries)
}

/// Links with zig, which knows the symbols of each glibc version.
fn build_with_zig(platform: &str, zig: &Path) -> Result<PathBuf, String> {
    let programs = zig.join("bin");
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(std::iter::once(programs.clone()).chain(env::split_paths(&path)));
    let path = path.map_err(|error| format!("{}: {error}", programs.display()))?;
    let mut build = arguments_of(cargo("zigbuild"));
    build.args(["--target", &format!("{platform}.{GLIBC}")]).env("PATH", path);
    cargo::run(build)?;
    Ok(output(platform).join("dist/onecall"))
}

fn build_plainly() -> Result<PathBuf, String> {
    cargo::run(arguments_of(cargo("build")))?;
    Ok(output("dist").join("onecall"))
}

/// The build arguments. The whole workspace, as for the tests: a part would be built with other
/// features.
fn arguments_of(mut build: Command) -> Command {
    build.args(["--profile", "dist", "--workspace", "--bin", "onecall"]);
    // The symbols show what takes space; packages get a copy without them.
    build.env("CARGO_PROFILE_DIST_STRIP", "none");
    build
}

/// Whether this Rust can compile for a platform.
fn has_standard_library(platform: &str) -> bool {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", platform]);
    let folder = rustc.output().ok().and_then(|output| String::from_utf8(output.stdout).ok());
    folder.is_some_and(|folder| Path::new(folder.trim()).is_dir())
}
