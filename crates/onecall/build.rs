//! Notes what a binary was built from, for `onecall --version` and `onecall doctor`.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let (profile, target) = (variable("PROFILE"), variable("TARGET"));
    // A debug build is made too often to ask each time.
    let commit = if profile == "release" { commit() } else { None };
    let mut details = vec![profile.clone(), target.clone()];
    details.extend(commit.as_ref().map(|commit| format!("commit {commit}")));
    println!("cargo::rustc-env=ONECALL_BUILD={}", details.join(", "));
    println!("cargo::rustc-env=ONECALL_PROFILE={profile}");
    println!("cargo::rustc-env=ONECALL_TARGET={target}");
    println!("cargo::rustc-env=ONECALL_COMMIT={}", commit.unwrap_or_default());
}

fn commit() -> Option<String> {
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/logs/HEAD");
    let commit = Command::new("git").args(["rev-parse", "--short=10", "HEAD"]).output().ok()?;
    let commit = String::from_utf8(commit.status.success().then_some(commit.stdout)?).ok()?;
    Some(commit.trim().to_owned())
}
