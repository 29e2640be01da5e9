//! The allowlist: what an interpreter needs once it is running, which is memory, threads, time, and
//! its open descriptors. All other calls get `EPERM`: new processes and programs (`execve`,
//! `fork`), identities, clocks, queues, and calls that future kernels will add.

use libc::*;

use super::conditions::{Condition, one_of};
use super::{CodeSource, FileAccess, Filter, Rules};

/// Allowed with any arguments.
const CALLS: &[i64] = &[
    // Descriptors that the process has; the conditions for its socket are below.
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_pwrite64,
    SYS_lseek,
    SYS_shutdown,
    SYS_getsockname,
    SYS_getpeername,
    SYS_fstat,
    SYS_ftruncate,
    SYS_fsync,
    SYS_fdatasync,
    SYS_close,
    SYS_dup,
    SYS_dup3,
    SYS_pipe2,
    SYS_eventfd2,
    SYS_ppoll,
    SYS_pselect6,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_epoll_pwait2,
    // Memory; the conditions against executable memory are below.
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    // Threads and their locks.
    SYS_futex,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_getcpu,
    SYS_membarrier,
    SYS_exit,
    SYS_exit_group,
    // Handling signals; the conditions for sending are below.
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigpending,
    SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait,
    SYS_sigaltstack,
    SYS_restart_syscall,
    // Time. The process's own timers only signal itself.
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_getitimer,
    SYS_setitimer,
    SYS_times,
    SYS_getrusage,
    SYS_getrandom,
    // The current directory: an empty root, or the workspace.
    SYS_getcwd,
];

/// The older variants of allowed calls, which aarch64 does not have.
#[cfg(target_arch = "x86_64")]
const OLDER_CALLS: &[i64] = &[
    SYS_poll,
    SYS_select,
    SYS_epoll_create,
    SYS_epoll_wait,
    SYS_eventfd,
    SYS_pipe,
    SYS_dup2,
    SYS_time,
    SYS_alarm,
    SYS_pause,
    SYS_getrlimit,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_CALLS: &[i64] = &[];

/// The allowlist for this process.
pub(super) fn rules(files: FileAccess, code: CodeSource) -> Rules {
    let mut rules = super::unconditional(CALLS);
    rules.extend(super::unconditional(OLDER_CALLS));
    rules.extend(super::files::rules(files));
    rules.extend(conditional());
    rules.insert(SYS_mmap, mappings(code));
    rules
}

/// Memory is either writable or executable, and executable memory comes from a file.
fn mappings(code: CodeSource) -> Vec<Vec<Condition>> {
    let data = vec![Condition::masked(2, flags(PROT_EXEC), 0)];
    match code {
        CodeSource::Sealed => vec![data],
        CodeSource::Files => {
            let read_only = Condition::masked(2, flags(PROT_EXEC | PROT_WRITE), flags(PROT_EXEC));
            let of_a_file = Condition::masked(3, flags(MAP_ANONYMOUS), 0);
            vec![data, vec![read_only, of_a_file]]
        }
    }
}

fn conditional() -> [(i64, Vec<Vec<Condition>>); 16] {
    let own_process = Filter::OWN_PROCESS;
    let masked = |argument, mask, value| vec![Condition::masked(argument, mask, value)];
    let equal = |argument, value| vec![Condition::equal(argument, value)];
    let not_negative = |argument| masked(argument, SIGN_BIT, 0);
    [
        (SYS_mprotect, vec![masked(2, flags(PROT_EXEC), 0)]),
        // Sockets are connected, so addresses are not needed. Urgent data is not needed either, and
        // its implementation in the kernel has allowed escapes from other sandboxes.
        (SYS_sendto, vec![to_connected_peer()]),
        (SYS_recvfrom, vec![masked(3, flags(MSG_OOB), 0)]),
        (SYS_sendmsg, vec![masked(2, flags(MSG_OOB), 0)]),
        (SYS_recvmsg, vec![masked(2, flags(MSG_OOB), 0)]),
        (
            SYS_clone,
            vec![masked(0, flags(THREAD_FLAGS | OTHER_NAMESPACE_FLAGS), flags(THREAD_FLAGS))],
        ),
        // `abort` and timers of threads; the process can only signal itself.
        (SYS_kill, vec![equal(0, own_process)]),
        (SYS_tgkill, vec![equal(0, own_process)]),
        // Excludes the clocks for the processor time of other processes: they have negative
        // numbers, and a query shows whether the process exists.
        (SYS_clock_gettime, vec![not_negative(0)]),
        (SYS_clock_getres, vec![not_negative(0)]),
        (SYS_clock_nanosleep, vec![not_negative(0)]),
        // The options of the socket that Python and Rust query; not who is at its other end.
        (SYS_getsockopt, one_of(2, &[SO_TYPE, SO_ERROR, SO_DOMAIN, SO_PROTOCOL].map(flags))),
        // Only for the process itself. A limit can be lowered, as the sandbox does when the program
        // is known, but not raised again.
        (SYS_prlimit64, vec![equal(0, 0)]),
        // Names of threads.
        (SYS_prctl, one_of(0, &[PR_SET_NAME, PR_GET_NAME].map(flags))),
        // Excludes F_SETOWN, which makes the kernel signal any process, and F_SETPIPE_SZ, which
        // allocates memory outside of the address space.
        (SYS_fcntl, one_of(1, &DESCRIPTOR_COMMANDS.map(flags))),
        // How Rust makes a descriptor non-blocking, and how much there is to read. Excludes
        // TIOCSTI, which types into the user's terminal.
        (SYS_ioctl, one_of(1, &INPUT_OUTPUT_COMMANDS)),
    ]
}

/// The condition for writing to a socket without an address and without urgent data.
fn to_connected_peer() -> Vec<Condition> {
    [vec![Condition::masked(3, flags(MSG_OOB), 0)], Condition::null(4).to_vec()].concat()
}

/// The sign bit of an `int`.
const SIGN_BIT: u32 = 1 << 31;

/// The flags that make a new task a thread of this process.
const THREAD_FLAGS: c_int = CLONE_THREAD | CLONE_VM | CLONE_SIGHAND;

/// The flags that would put it into other namespaces, or have another process trace it.
const OTHER_NAMESPACE_FLAGS: c_int = CLONE_NEWUSER
    | CLONE_NEWPID
    | CLONE_NEWNET
    | CLONE_NEWIPC
    | CLONE_NEWUTS
    | CLONE_NEWCGROUP
    | CLONE_NEWNS
    | CLONE_PTRACE;

const DESCRIPTOR_COMMANDS: [c_int; 6] =
    [F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD, F_DUPFD_CLOEXEC];

/// Their numbers have 16 bits.
const INPUT_OUTPUT_COMMANDS: [u32; 4] =
    [FIONBIO as u32, FIONREAD as u32, FIOCLEX as u32, FIONCLEX as u32];

/// The bits of an argument as a filter sees them.
fn flags(bits: c_int) -> u32 {
    bits.cast_unsigned()
}
