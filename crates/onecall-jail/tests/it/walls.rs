//! The report says which walls stand; required means all.

#![allow(clippy::print_stderr, reason = "a skipped check is to be seen")]

use std::fs;
use std::process::Command;

use crate::inmate::{InmateFixture, User, text, users};

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
    let fixture = InmateFixture::new();
    for user in users() {
        assert_eq!(fixture.run(user, &["report"]), ALL, "as {user:?}");
    }
}

#[test]
fn the_kernel_agrees() {
    let fixture = InmateFixture::new();
    for user in users() {
        assert_eq!(
            fixture.run(user, &["status"]),
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
    let fixture = InmateFixture::new();
    let output = fixture.command(User::Current).arg("report").env("SECRET", "1").output().unwrap();
    assert_eq!(
        text(&output),
        "the sandbox cannot keep programs from seeing what the gateway has open and in its \
         environment (`inheritance`): its wall `environment` is missing: 1 environment variables \
         are visible; report this as a bug of onecall, or accept that with \
         `sandbox_without: [inheritance]`\n\
         exit status 1\n"
    );
}

/// What the inmate prints in a place where no namespace can be made, as an ordinary user.
fn without_namespaces(fixture: &InmateFixture, scenario: &str) -> Option<String> {
    if !fs::exists("/usr/bin/unshare").unwrap() {
        eprintln!("skipped: no unshare here to take namespaces away with");
        return None;
    }
    let inmate = fixture.inmate();
    let script =
        format!("echo 0 > /proc/sys/user/max_user_namespaces && exec env -i {inmate} {scenario}");
    let unshare = ["/usr/bin/unshare", "-Ur", "sh", "-c", &script];
    let mut command = match users().last() {
        Some(User::Nobody) => {
            let mut command = Command::new("/usr/bin/setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).args(unshare);
            command
        }
        _ => {
            let mut command = Command::new(unshare[0]);
            command.args(&unshare[1..]);
            command
        }
    };
    Some(text(&command.current_dir("/").output().unwrap()))
}

#[test]
fn other_walls_hold_what_namespaces_held() {
    let fixture = InmateFixture::new();
    let Some(report) = without_namespaces(&fixture, "report") else { return };
    let missing = ALL
        .replace("namespaces: holds", "namespaces: No space left on device (os error 28)")
        .replace(
            "empty root: holds",
            "empty root: it needs namespaces: No space left on device (os error 28)",
        );
    assert_eq!(report, missing);
    let refused = without_namespaces(&fixture, "canaries").unwrap();
    assert!(!refused.contains("BROKEN") && refused.contains("names: "), "{refused}");
}

#[test]
fn what_no_wall_holds_is_refused_unless_it_is_done_without() {
    let fixture = InmateFixture::new();
    // Files can be named here, and without namespaces their names cannot be hidden.
    let Some(refused) = without_namespaces(&fixture, "readable /usr/share canaries") else {
        return;
    };
    let expected = "the sandbox cannot keep programs from learning which files exist (`metadata`): \
                    its wall `empty root` is missing: it needs namespaces: No space left on device \
                    (os error 28); allow unprivileged";
    assert!(refused.starts_with(expected), "{refused}");
    assert!(refused.contains("or accept that with `sandbox_without: [metadata]`\n"), "{refused}");

    let printed = without_namespaces(&fixture, "without metadata readable /usr/share canaries");
    let printed = printed.unwrap();
    let broken: Vec<&str> = printed.lines().filter(|line| line.contains("BROKEN")).collect();
    assert_eq!(
        broken,
        [
            "metadata: see /etc/passwd: BROKEN: it succeeded",
            "metadata: see /etc by a call for descriptors: BROKEN: it succeeded",
            "metadata: follow /proc/self/exe: BROKEN: it succeeded",
        ]
    );
}

#[test]
fn off_builds_none() {
    assert_eq!(InmateFixture::new().run(User::Current, &["off", "report"]), "");
}
