//! `cargo xtask deny`: checks the dependencies against `deny.toml` with cargo-deny: licences, bans,
//! sources, and known vulnerabilities if their database is available.

use std::path::PathBuf;
use std::process::Command;

use testkit::cargo::{self, output, root};

/// The version that is installed, once, below cargo's output folder.
const VERSION: &str = "0.20.2";

/// It runs for seconds only, so it is built with little optimisation.
const BUILD: [(&str, &str); 3] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
];

const USAGE: &str = "usage: cargo xtask deny [--require-advisories]";

/// Checks everything. If the database of advisories cannot be fetched, they are skipped with a
/// message, unless the argument requires them.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let is_required = match arguments.as_slice() {
        [] => false,
        ["--require-advisories"] => true,
        _ => return Err(USAGE.to_owned()),
    };
    let deny = install()?;
    let check = |what: &[&str]| {
        let mut command = Command::new(&deny);
        command
            .current_dir(root())
            .args(["--locked", "check", "--hide-inclusion-graph"])
            .args(what);
        cargo::run(command)
    };
    check(&["licenses", "bans", "sources"])?;
    match fetch(&deny) {
        Ok(()) => check(&["advisories"]),
        Err(why) if is_required => Err(format!("the database of advisories: {why}")),
        Err(why) => {
            eprintln!(
                "skipped: known vulnerabilities, because their database cannot be had: {why}"
            );
            Ok(())
        }
    }
}

/// Fetches the latest advisories.
fn fetch(deny: &PathBuf) -> Result<(), String> {
    let fetched = Command::new(deny).current_dir(root()).args(["fetch", "db"]).output();
    let fetched = fetched.map_err(|error| error.to_string())?;
    if fetched.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&fetched.stderr);
    Err(text.lines().rev().find(|line| !line.is_empty()).unwrap_or("it says nothing").to_owned())
}

/// The path of cargo-deny, which is built on the first run.
fn install() -> Result<PathBuf, String> {
    let folder = output("tools");
    let deny = folder.join("bin/cargo-deny");
    let is_current = Command::new(&deny).arg("--version").output().is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).split_whitespace().last() == Some(VERSION)
    });
    if is_current {
        return Ok(deny);
    }
    eprintln!("installing cargo-deny {VERSION} into {}", folder.display());
    let mut install = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    install.args(["install", "--locked", "--force", "--quiet", "cargo-deny", "--version", VERSION]);
    install.arg("--root").arg(&folder).env("CARGO_TARGET_DIR", folder.join("build")).envs(BUILD);
    cargo::run(install)?;
    // The intermediate build files are not needed any more.
    _ = std::fs::remove_dir_all(folder.join("build"));
    Ok(deny)
}
