//! Records what a binary was built from, for `onecall --version` and `onecall doctor`, and links it
//! so that it needs no library but glibc.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let (profile, target) = (variable("PROFILE"), variable("TARGET"));
    // Debug builds are too frequent to run git each time.
    let commit = if profile == "release" { commit() } else { None };
    let mut details = vec![profile.clone(), target.clone()];
    details.extend(commit.as_ref().map(|commit| format!("commit {commit}")));
    println!("cargo::rustc-env=ONECALL_BUILD={}", details.join(", "));
    println!("cargo::rustc-env=ONECALL_PROFILE={profile}");
    println!("cargo::rustc-env=ONECALL_TARGET={target}");
    println!("cargo::rustc-env=ONECALL_COMMIT={}", commit.unwrap_or_default());
    let is_for_this_machine = target == variable("HOST");
    // Zig, with which `cargo xtask dist` links, always links its own unwinder statically.
    let is_linked_by_zig = variable("RUSTC_LINKER").contains("zig");
    if let Some(archive) = unwinder().filter(|_| is_for_this_machine && !is_linked_by_zig) {
        println!(
            "cargo::rustc-link-arg-bins=-Wl,--whole-archive,{},--no-whole-archive",
            archive.display()
        );
    }
}

/// The static library for unwinding stacks. Images that contain only glibc lack `libgcc_s.so.1`,
/// which Rust's own libraries require; it is not needed if this library is linked before it.
fn unwinder() -> Option<PathBuf> {
    let compiler = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output().ok()?;
    let path = String::from_utf8(compiler.stdout).ok()?;
    // If the compiler does not know the library, it prints a name without a path.
    let path = Path::new(path.trim());
    (path.is_absolute() && path.exists()).then(|| path.to_path_buf())
}

fn commit() -> Option<String> {
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/logs/HEAD");
    let commit = Command::new("git").args(["rev-parse", "--short=10", "HEAD"]).output().ok()?;
    let commit = String::from_utf8(commit.status.success().then_some(commit.stdout)?).ok()?;
    Some(commit.trim().to_owned())
}
