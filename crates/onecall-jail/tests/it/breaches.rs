//! Whatever a jailed process tries, it is refused with the error meant for it.

use crate::inmate::{InmateFixture, User, users};

#[test]
fn every_canary_is_refused() {
    let fixture = InmateFixture::new();
    for user in users() {
        assert_eq!(
            fixture.run(user, &["canaries"]),
            "\
files: read /etc/passwd: EACCES
files: read /proc/1/environ: EACCES
files: list the root: EACCES
files: create a file: EACCES
metadata: see /etc/passwd: EACCES
metadata: see /etc by a call for descriptors: EACCES
metadata: follow /proc/self/exe: EACCES
network: open a TCP socket: EACCES
network: open a UDP socket: EACCES
network: reach an abstract socket: EACCES
processes: fork: EPERM
processes: signal process 1: EPERM
processes: ask for the processors of process 1: ENOSYS
processes: read the clock of process 1: EACCES
processes: learn who started it: EACCES
names: see the number of the parent process: EACCES
names: see the machine's name: EACCES
privileges: execute a program: EPERM
privileges: become root: EPERM
privileges: make memory executable: EPERM
inheritance: find a descriptor of the gateway's: EACCES
inheritance: see a variable: EACCES
limits: raise a limit: EPERM
limits: start a thread that is one too many: EACCES
",
            "as {user:?}"
        );
    }
}

#[test]
fn canaries_notice_that_there_is_no_jail() {
    let fixture = InmateFixture::new();
    let printed = fixture.run(User::Current, &["off", "canaries"]);
    let held: Vec<&str> = printed
        .lines()
        .filter(|line| !line.contains("BROKEN"))
        .filter_map(|line| line.rsplit_once(": ").map(|(canary, _)| canary))
        .collect();
    // The inmate is born without a variable or a strange descriptor; the others are
    // what an ordinary user is refused anyway.
    let without_a_jail = [
        "inheritance: find a descriptor of the gateway's",
        "inheritance: see a variable",
        "files: read /proc/1/environ",
        "files: create a file",
        "processes: signal process 1",
        "privileges: become root",
        "limits: raise a limit",
        "limits: start a thread that is one too many",
    ];
    assert_eq!(held.iter().find(|canary| !without_a_jail.contains(canary)), None, "{printed}");
}

#[test]
fn the_deadly_canary_dies() {
    let fixture = InmateFixture::new();
    for user in users() {
        assert_eq!(fixture.run(user, &["deadly"]), "signal 31\n", "as {user:?}");
    }
}

#[test]
fn calls_that_break_out_are_fatal() {
    let fixture = InmateFixture::new();
    let fatal = [
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_process_madvise,
        libc::SYS_pidfd_getfd,
        libc::SYS_kcmp,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_move_mount,
        libc::SYS_open_tree,
        libc::SYS_mount_setattr,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_open_by_handle_at,
        libc::SYS_bpf,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_kexec_load,
        libc::SYS_kexec_file_load,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        libc::SYS_seccomp,
        libc::SYS_reboot,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_acct,
        libc::SYS_quotactl,
        libc::SYS_syslog,
    ];
    for user in users() {
        for call in fatal.map(|call| call.to_string()) {
            assert_eq!(fixture.run(user, &["call", &call]), "signal 31\n", "{call} as {user:?}");
        }
    }
}

#[test]
fn calls_that_are_not_listed_are_refused() {
    let fixture = InmateFixture::new();
    let not_permitted = [
        // A process that is no thread, one that shares memory, a thread in another namespace.
        &[libc::SYS_clone, 17][..],
        &[libc::SYS_clone, 17 | 0x4100],
        &[libc::SYS_clone, 0x10000 | 0x100 | 0x800 | 0x1000_0000],
        &[libc::SYS_execve],
        &[libc::SYS_execveat, 3, 0, 0, 0, 0x1000],
        // Signals to others.
        &[libc::SYS_kill, 1],
        &[libc::SYS_kill, -1],
        &[libc::SYS_kill],
        &[libc::SYS_tkill, 1],
        &[libc::SYS_tgkill, 1, 1],
        &[libc::SYS_rt_sigqueueinfo, 1],
        &[libc::SYS_pidfd_open, 1],
        &[libc::SYS_pidfd_send_signal, 3],
        &[libc::SYS_wait4],
        // Descriptors that the walls do not know.
        &[libc::SYS_setsockopt, 3, 1, 33],
        &[libc::SYS_memfd_create],
        &[libc::SYS_memfd_secret],
        &[libc::SYS_name_to_handle_at, -100],
        &[libc::SYS_fanotify_init],
        &[libc::SYS_inotify_init1],
        &[libc::SYS_signalfd4, -1, 0, 8],
        &[libc::SYS_timerfd_create],
        &[libc::SYS_splice, 3, 0, 3, 0, 1],
        &[libc::SYS_vmsplice, 3],
        &[libc::SYS_tee, 3, 3, 1],
        &[libc::SYS_io_setup, 1],
        // Typing into a terminal, in 32 bits and past them; the owner of a descriptor's signals.
        &[libc::SYS_ioctl, 3, 0x5412],
        &[libc::SYS_ioctl, 3, 0x1_0000_5412],
        &[libc::SYS_fcntl, 3, 8, 1],
        // Privileges, limits, schedulers, code.
        &[libc::SYS_prctl, 22, 1],
        &[libc::SYS_prctl, 4, 1],
        &[libc::SYS_prctl, 0x5961_6D61, -1],
        &[libc::SYS_prlimit64, 1, 7],
        &[libc::SYS_setuid],
        &[libc::SYS_capset],
        &[libc::SYS_setpriority],
        &[libc::SYS_sched_setaffinity, 0, 8],
        &[libc::SYS_personality, 0x40_0000],
        &[libc::SYS_mprotect, 0, 4096, 5],
        &[libc::SYS_mmap, 0, 4096, 7, 0x22, -1],
        &[libc::SYS_mmap, 0, 4096, 4, 0x22, -1],
        &[libc::SYS_mlock],
        &[libc::SYS_pkey_alloc],
        &[libc::SYS_remap_file_pages],
        &[libc::SYS_landlock_restrict_self, 3],
        // Memory, queues and timers that outlive a process, and the machine.
        &[libc::SYS_shmget, 0, 4096, 0o1777],
        &[libc::SYS_msgget, 0, 0o1777],
        &[libc::SYS_semget, 0, 1, 0o1777],
        &[libc::SYS_mq_open],
        &[libc::SYS_timer_create],
        &[libc::SYS_sethostname],
        &[libc::SYS_umask],
        &[libc::SYS_sysinfo],
        &[libc::SYS_adjtimex],
        // Of another table (x32), of a kernel to come, and a number past 32 bits.
        &[0x4000_0000 + 39],
        &[9999],
        &[(1 << 32) + libc::SYS_execve],
    ];
    let denied = [
        &[libc::SYS_socket, 2, 1][..],
        &[libc::SYS_socketpair, 1, 2],
        &[libc::SYS_connect, 3],
        &[libc::SYS_bind, 3],
        &[libc::SYS_openat, -100],
        &[libc::SYS_openat, -100, 0, 1],
        &[libc::SYS_openat2, -100],
    ];
    let absent = [&[libc::SYS_clone3][..]];
    let answers = [
        (&not_permitted[..], "Operation not permitted (os error 1)"),
        (&denied, "Permission denied (os error 13)"),
        (&absent, "Function not implemented (os error 38)"),
    ];
    for (calls, answer) in answers {
        for numbers in calls {
            let words: Vec<String> = numbers.iter().map(i64::to_string).collect();
            let mut scenario = vec!["call"];
            scenario.extend(words.iter().map(String::as_str));
            let expected = format!("survived: -1 {answer}\n");
            assert_eq!(fixture.run(User::Current, &scenario), expected, "{numbers:?}");
        }
    }
}
