//! Builds onecall and runs its demo.

use std::process::Command;

use testkit::cargo::{self, cargo, output};

pub fn run() -> Result<(), String> {
    eprintln!("building onecall; the first time takes some minutes, most of them for Python");
    let mut build = cargo("build");
    build.args(["--package", "onecall"]);
    cargo::run(build)?;
    let mut demo = Command::new(output("debug").join("onecall"));
    demo.arg("demo");
    cargo::run(demo)
}
