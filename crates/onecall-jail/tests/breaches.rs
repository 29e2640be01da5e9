//! Whatever a jailed process tries, it is refused with the error meant for it.

mod inmate;

use inmate::{Prison, users};

#[test]
fn every_canary_is_refused() {
    let prison = Prison::new();
    for user in users() {
        assert_eq!(
            prison.run(user, &["canaries"]),
            "\
descriptors: find one of the gateway's: EACCES
environment: see a variable: EACCES
namespaces: see the parent process: EACCES
namespaces: see the machine's name: EACCES
empty root: see /etc: EACCES
empty root: read /proc/1/environ: EACCES
filesystem: read /etc/passwd: EACCES
filesystem: list the root: EACCES
filesystem: create a file: EACCES
system calls: open a TCP socket: EACCES
system calls: open a UDP socket: EACCES
system calls: reach an abstract socket: EACCES
system calls: fork: EPERM
system calls: execute a program: EPERM
system calls: signal process 1: EPERM
privileges: become root: EPERM
resources: raise a limit: EPERM
system calls: make memory executable: EPERM
",
            "as {user:?}"
        );
    }
}

#[test]
fn canaries_notice_that_there_is_no_jail() {
    let prison = Prison::new();
    let sung = prison.run(inmate::User::Current, &["off", "canaries"]);
    let held: Vec<&str> = sung
        .lines()
        .filter(|line| !line.contains("BROKEN"))
        .filter_map(|line| line.rsplit_once(": ").map(|(canary, _)| canary))
        .collect();
    // The inmate is born without a variable or a strange descriptor; the others are
    // what an ordinary user is refused anyway.
    let without_a_jail = [
        "descriptors: find one of the gateway's",
        "environment: see a variable",
        "empty root: read /proc/1/environ",
        "filesystem: create a file",
        "system calls: signal process 1",
        "privileges: become root",
    ];
    assert_eq!(held.iter().find(|canary| !without_a_jail.contains(canary)), None, "{sung}");
}

#[test]
fn the_deadly_canary_dies() {
    let prison = Prison::new();
    for user in users() {
        assert_eq!(prison.run(user, &["deadly"]), "signal 31\n", "as {user:?}");
    }
}

#[test]
fn calls_that_break_out_are_fatal() {
    let prison = Prison::new();
    let fatal = [
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_mount,
        libc::SYS_bpf,
        libc::SYS_io_uring_setup,
        libc::SYS_keyctl,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_process_vm_readv,
        libc::SYS_init_module,
        libc::SYS_seccomp,
    ];
    for user in users() {
        for call in fatal.map(|call| call.to_string()) {
            assert_eq!(prison.run(user, &["call", &call]), "signal 31\n", "{call} as {user:?}");
        }
    }
}

#[test]
fn calls_that_are_not_listed_are_refused() {
    let prison = Prison::new();
    let refused = "survived: -1 Operation not permitted (os error 1)\n";
    // The last are of another table (x32) and of a kernel to come.
    let calls = [libc::SYS_memfd_create, libc::SYS_wait4, libc::SYS_setsockopt, 0x4000_0000, 9999];
    for call in calls.map(|call| call.to_string()) {
        assert_eq!(prison.run(inmate::User::Current, &["call", &call]), refused, "{call}");
    }
    let absent = "survived: -1 Function not implemented (os error 38)\n";
    let clone3 = libc::SYS_clone3.to_string();
    assert_eq!(prison.run(inmate::User::Current, &["call", &clone3]), absent);
}
