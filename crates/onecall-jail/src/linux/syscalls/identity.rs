//! Who a program is, and on which machine.
//!
//! In namespaces of its own that says nothing. Elsewhere a filter cannot give another answer than
//! an error or zero, so that is what a program gets: its process has the number 0, its user too,
//! and the machine has no name.

use std::io;

use libc::*;

use super::conditions::{different, one_of, rule};
use super::{Filter, Rules, Surroundings, unconditional};

/// Answered by zero where the truth would name something of the machine. The C library ignores
/// errors of these.
pub(super) const CALLS: &[i64] = &[
    SYS_getpid,
    SYS_getppid,
    SYS_gettid,
    // Answers the number of the thread. Only a new process needs it for something else.
    SYS_set_tid_address,
    SYS_getpgid,
    SYS_getsid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getgroups,
    #[cfg(target_arch = "x86_64")]
    SYS_getpgrp,
];

/// Allowed in namespaces of its own only; elsewhere they are errors.
const NAMES: &[i64] = &[SYS_uname, SYS_getresuid, SYS_getresgid];

/// Calls that do not exist for this program. glibc asks for the processors of a thread when it looks
/// for the thread's stack, and does without if the kernel does not know the call; of any other
/// process the answer would say that it exists.
pub(super) fn absent(surroundings: Surroundings) -> io::Result<Rules> {
    let mut others = vec![different(0, 0)?];
    if surroundings == Surroundings::Own {
        others.push(different(0, u64::from(Filter::OWN_PROCESS))?);
    }
    Ok(Rules::from([(SYS_sched_getaffinity, vec![rule(others)?])]))
}

/// The part of the allowlist that has to do with names and numbers.
pub(super) fn rules(surroundings: Surroundings) -> io::Result<Rules> {
    let itself = [0, u64::from(Filter::OWN_PROCESS)];
    let mut rules = unconditional(CALLS);
    match surroundings {
        Surroundings::Own => {
            rules.extend(unconditional(NAMES));
            // Of siblings these would say that they exist.
            rules.insert(SYS_getpgid, one_of(0, &itself)?);
            rules.insert(SYS_getsid, one_of(0, &itself)?);
        }
        Surroundings::Shared => {
            // A program takes itself for process 0. As such it signals its process group, in
            // which it is alone. Its true number would be found by trying all, so it is not
            // allowed in any call.
            for call in [SYS_kill, SYS_tgkill] {
                rules.insert(call, one_of(0, &[0])?);
            }
        }
    }
    Ok(rules)
}
