//! Docker's default seccomp profile, for the capabilities that a container has by default and a
//! kernel from 4.8 on: every system call except those below.

use super::profile::{Action, Condition, Operator, Profile, Rule};
use super::system_calls;

const EPERM: u32 = 1;
const ENOSYS: u32 = 38;

/// System calls that are refused, grouped by purpose.
const REFUSED: &[(&str, &[&str])] = &[
    ("new namespaces and other containers' ones", &["unshare", "setns"]),
    (
        "mounting",
        &[
            "mount",
            "umount2",
            "pivot_root",
            "open_tree",
            "open_tree_attr",
            "move_mount",
            "mount_setattr",
            "fsopen",
            "fsconfig",
            "fsmount",
            "fspick",
        ],
    ),
    (
        "the machine's names and clock",
        &["sethostname", "setdomainname", "settimeofday", "clock_settime"],
    ),
    ("the kernel's keys, which know no namespace", &["add_key", "request_key", "keyctl"]),
    (
        "large parts of the kernel with a history of holes",
        &[
            "bpf",
            "perf_event_open",
            "userfaultfd",
            "io_uring_setup",
            "io_uring_enter",
            "io_uring_register",
        ],
    ),
    ("looking into other processes", &["kcmp", "pidfd_getfd", "process_madvise", "uprobe"]),
    (
        "the placement of memory, others' too",
        &[
            "mbind",
            "get_mempolicy",
            "set_mempolicy",
            "set_mempolicy_home_node",
            "migrate_pages",
            "move_pages",
        ],
    ),
    ("files by handle, past the folders above them", &["open_by_handle_at", "fanotify_init"]),
    ("attributes of files that are newer than the list", &["file_getattr", "file_setattr"]),
    (
        "the kernel's code, hardware and end",
        &[
            "init_module",
            "finit_module",
            "delete_module",
            "kexec_load",
            "kexec_file_load",
            "reboot",
            "iopl",
            "ioperm",
        ],
    ),
    (
        "administration",
        &[
            "acct",
            "swapon",
            "swapoff",
            "quotactl",
            "quotactl_fd",
            "syslog",
            "vhangup",
            "lookup_dcookie",
        ],
    ),
    ("security modules", &["lsm_get_self_attr", "lsm_set_self_attr", "lsm_list_modules"]),
    (
        "calls that are gone or were never there",
        &[
            "_sysctl",
            "sysfs",
            "uselib",
            "ustat",
            "nfsservctl",
            "create_module",
            "get_kernel_syms",
            "query_module",
            "getpmsg",
            "putpmsg",
            "afs_syscall",
            "tuxcall",
            "security",
            "vserver",
        ],
    ),
];

/// Every flag of `clone` that creates a namespace.
const NEW_NAMESPACES: u64 = 0x7e02_0000;

/// The socket families that are refused: the kernel's ciphers (38) and the host of a virtual
/// machine (40).
const CIPHERS: u64 = 38;
const VIRTUAL_MACHINES: u64 = 40;

/// Linux, Linux with 2.6 in its version, both with 32-bit addresses, and the query.
const PERSONALITIES: [u64; 5] = [0, 0x2_0000, 0x8, 0x2_0008, 0xffff_ffff];

/// Docker's default profile.
#[must_use]
pub fn default_profile() -> Profile {
    let conditional = ["clone", "clone3", "socket", "personality"];
    let is_refused = |name| REFUSED.iter().any(|(_, calls)| calls.contains(&name));
    let allowed = system_calls().into_iter().map(|call| call.name);
    let allowed = allowed.filter(|name| !is_refused(name) && !conditional.contains(name));
    let socket = |op, value| Rule::allow(["socket"], [Condition::new(0, op, value)]);
    let mut rules = vec![
        Rule::allow(allowed, []),
        Rule::allow(["clone"], [Condition::masked(0, NEW_NAMESPACES, 0)])
            .because("processes and threads, in no new namespace"),
        // A filter cannot see its flags. Callers use `clone` if it does not exist.
        Rule::refuse(["clone3"], ENOSYS),
        socket(Operator::Less, CIPHERS).because("sockets, but for two families"),
        socket(Operator::Equal, CIPHERS + 1),
        socket(Operator::Greater, VIRTUAL_MACHINES),
    ];
    rules.extend(PERSONALITIES.map(|personality| {
        Rule::allow(["personality"], [Condition::new(0, Operator::Equal, personality)])
    }));
    Profile { default_action: Action::Refuse, default_errno: EPERM, rules, ..Profile::default() }
}

#[test]
fn every_refused_call_is_one_of_the_kernel() {
    let known: Vec<&str> = system_calls().into_iter().map(|call| call.name).collect();
    let refused = REFUSED.iter().flat_map(|(_, calls)| *calls);
    let unknown: Vec<_> = refused.filter(|call| !known.contains(call)).collect();
    assert_eq!(unknown, [&""; 0]);
}
