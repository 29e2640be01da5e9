//! The emulation of a container takes away what a container engine takes away, and what is
//! started in it cannot get it back.

#![expect(clippy::print_stderr, reason = "a skipped check is to be seen")]

use std::path::Path;
use std::process::{Command, Output};

use testkit::container::{Container, Seccomp};

/// Every namespace that the sandbox makes, made by another program.
const ALL_NAMESPACES: [&str; 8] =
    ["--user", "--pid", "--net", "--ipc", "--uts", "--cgroup", "--mount", "true"];

fn run(container: &Container, command: &[&str]) -> Output {
    let (program, arguments) = command.split_first().unwrap();
    let mut inner = Command::new(program);
    inner.args(arguments).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    container.wrap(&inner).output().unwrap()
}

/// The lines of a process's status that begin with one of these words.
fn status(container: &Container, words: &str) -> String {
    let output = run(container, &["grep", "-E", &format!("^({words})"), "/proc/self/status"]);
    String::from_utf8(output.stdout).unwrap()
}

fn unshares(container: &Container, arguments: &[&str]) -> bool {
    run(container, &[&["unshare"], arguments].concat()).status.success()
}

fn is_root() -> bool {
    let root = rustix::process::getuid().is_root();
    if !root {
        eprintln!("skipped: only root has capabilities to give up and can become another user");
    }
    root
}

#[test]
fn root_keeps_the_default_capabilities_and_no_other() {
    if is_root() {
        assert_eq!(
            status(&Container::default(), "Uid|CapInh|CapPrm|CapEff|CapBnd|CapAmb|Seccomp:"),
            "Uid:\t0\t0\t0\t0\n\
             CapInh:\t0000000000000000\n\
             CapPrm:\t00000000a80425fb\n\
             CapEff:\t00000000a80425fb\n\
             CapBnd:\t00000000a80425fb\n\
             CapAmb:\t0000000000000000\n\
             Seccomp:\t2\n"
        );
    }
}

#[test]
fn an_ordinary_user_has_no_capability_and_no_group_of_root() {
    if is_root() {
        let container = Container { user: Some(10_001), ..Container::default() };
        assert_eq!(
            status(&container, "Uid|Gid|Groups|CapPrm|CapEff"),
            "Uid:\t10001\t10001\t10001\t10001\n\
             Gid:\t10001\t10001\t10001\t10001\n\
             Groups:\t \n\
             CapPrm:\t0000000000000000\n\
             CapEff:\t0000000000000000\n"
        );
    }
}

#[test]
fn namespaces_need_a_profile_that_allows_them() {
    let unconfined = Container { seccomp: Seccomp::Unconfined, ..Container::default() };
    if !unshares(&unconfined, &ALL_NAMESPACES) {
        eprintln!("skipped: this machine has no user namespaces");
        return;
    }
    assert!(!unshares(&Container::default(), &["--user", "true"]));
    assert!(!unshares(&Container::default(), &ALL_NAMESPACES));
    let profile =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/container/seccomp.json");
    let shipped = Container { seccomp: Seccomp::File(profile), ..Container::default() };
    assert!(unshares(&shipped, &ALL_NAMESPACES));
    // Nothing is allowed that onecall does not ask for.
    assert!(!unshares(&shipped, &["--user", "true"]));
    assert!(!unshares(&shipped, &[&["--time"], &ALL_NAMESPACES[..]].concat()));
}

#[test]
fn what_is_wrong_with_the_launcher_s_arguments_is_said() {
    let parse = |arguments: &[&str]| Container::parse(arguments.iter().map(Into::into));
    for wrong in [&["--user", "me", "--"][..], &["--user"], &["--landlock", "--"], &[]] {
        let message = parse(wrong).unwrap_err();
        assert!(message.contains("usage: container [--user UID]"), "{wrong:?}: {message}");
    }
    let (container, command) = parse(&["--without-landlock", "--", "ls", "--user"]).unwrap();
    assert_eq!(container, Container { without_landlock: true, ..Container::default() });
    assert_eq!(command, ["ls", "--user"]);
}
