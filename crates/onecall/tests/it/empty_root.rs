//! The binary where there is nothing but glibc: no other library, no user, no time zone, no shell.

#![expect(clippy::print_stderr, reason = "a skipped check is to be seen")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::bins;
use testkit::empty_root::{self, can_enter, is_of_glibc, libraries};

use crate::support::{CommandResult, Home, finish};

#[test]
fn the_binary_needs_glibc_and_no_other_library() {
    for library in libraries(&bins::onecall()) {
        assert!(is_of_glibc(&library), "the binary needs {}", library.display());
    }
}

/// A folder with the binary and glibc in it.
fn root(home: &Home) -> PathBuf {
    let root = home.path("root");
    empty_root::copy_glibc(&root, &bins::onecall());
    fs::create_dir_all(root.join("bin")).unwrap();
    // By another process: a descriptor of ours open for writing would be inherited by what another
    // test starts meanwhile, and the file could not be executed.
    let copied = Command::new("cp").arg(bins::onecall()).arg(root.join("bin/onecall")).status();
    assert!(copied.unwrap().success());
    root
}

fn inside(root: &Path, command: &[&str]) -> CommandResult {
    finish(empty_root::command_in_root(root, command))
}

#[test]
fn it_runs_where_there_is_nothing_but_glibc() {
    if !can_enter() {
        eprintln!("skipped: `unshare`, `mount` and `pivot_root` cannot make an empty root here");
        return;
    }
    let home = Home::new();
    let root = root(&home);
    fs::set_permissions(home.path("."), Permissions::from_mode(0o755)).unwrap();
    let version = inside(&root, &["/bin/onecall", "--version"]);
    assert_eq!((version.code, version.stderr.as_str()), (Some(0), ""));
    let python = "import decimal, hashlib, json, os, re, zoneinfo\n\
                  print(json.dumps([9**20, hashlib.sha256(b'').hexdigest()[:4]]))\n\
                  print(os.path.expanduser('~/x'), dict(os.environ))";
    let cases = [
        ("program.py", python, "[12157665459056928801, \"e3b0\"]\n~/x {}\n"),
        (
            "program.ts",
            "const xs: number[] = [1, 2];\nconsole.log(xs.map((x) => x * 2))",
            "[ 2, 4 ]\n",
        ),
    ];
    for (file, code, expected) in cases {
        home.write(&format!("root/{file}"), code);
        let ended = inside(&root, &["/bin/onecall", "run", &format!("/{file}")]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), expected), "{}", ended.stderr);
    }
    let demo = inside(&root, &["/bin/onecall", "demo"]);
    assert_eq!((demo.code, demo.stderr.as_str()), (Some(0), ""));
    assert!(demo.stdout.contains("    [Script executed successfully]\n"), "{}", demo.stdout);
}
