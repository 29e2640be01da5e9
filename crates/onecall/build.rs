//! Notes what a binary was built from, for `onecall --version`.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let mut details = vec![variable("PROFILE"), variable("TARGET")];
    // A debug build is made too often to ask each time.
    if variable("PROFILE") == "release" {
        println!("cargo::rerun-if-changed=../../.git/HEAD");
        println!("cargo::rerun-if-changed=../../.git/logs/HEAD");
        let commit = Command::new("git").args(["rev-parse", "--short=10", "HEAD"]).output().ok();
        let commit = commit.filter(|output| output.status.success());
        let commit = commit.and_then(|output| String::from_utf8(output.stdout).ok());
        details.extend(commit.map(|commit| format!("commit {}", commit.trim())));
    }
    println!("cargo::rustc-env=ONECALL_BUILD={}", details.join(", "));
}
