//! The report says which walls stand; required means all.

mod inmate;

use std::fs;
use std::process::Command;

use inmate::{Prison, User, text, users};

const ALL: &str = "\
namespaces: holds
environment: holds
descriptors: holds
resources: holds
empty root: holds
privileges: holds
filesystem: holds
system calls: holds
";

#[test]
fn every_wall_holds() {
    let prison = Prison::new();
    for user in users() {
        assert_eq!(prison.run(user, &["report"]), ALL, "as {user:?}");
    }
}

#[test]
fn the_kernel_agrees() {
    let prison = Prison::new();
    for user in users() {
        assert_eq!(
            prison.run(user, &["status"]),
            "\
CapPrm: 0000000000000000
CapEff: 0000000000000000
CapBnd: 0000000000000000
CapAmb: 0000000000000000
NoNewPrivs: 1
Seccomp: 2
",
            "as {user:?}"
        );
    }
}

#[test]
fn a_missing_wall_is_named_with_the_way_out() {
    let prison = Prison::new();
    let output = prison.command(User::Current).arg("report").env("SECRET", "1").output().unwrap();
    assert_eq!(
        text(&output),
        "the sandbox cannot build its wall `environment`: 1 environment variables are visible; \
         report this as a bug of onecall, \
         or accept less with `sandbox: best-effort` or `sandbox: off`\n\
         exit status 1\n"
    );
}

#[test]
fn best_effort_goes_on_without_namespaces() {
    if !fs::exists("/usr/bin/unshare").unwrap() {
        return;
    }
    let prison = Prison::new();
    let script = format!(
        "echo 0 > /proc/sys/user/max_user_namespaces && exec env -i {} best-effort report",
        prison.inmate()
    );
    let output = Command::new("/usr/bin/unshare").args(["-Ur", "sh", "-c", &script]).output();
    let missing = ALL
        .replace("namespaces: holds", "namespaces: No space left on device (os error 28)")
        .replace("empty root: holds", "empty root: it needs the namespaces");
    assert_eq!(text(&output.unwrap()), missing);
}

#[test]
fn off_builds_none() {
    assert_eq!(Prison::new().run(User::Current, &["off", "report"]), "");
}
