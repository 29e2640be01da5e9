//! What a program can learn about its identity and its machine.
//!
//! In separate namespaces the answers reveal nothing. Otherwise a filter can only return an error
//! or zero, so a program sees 0 as the id of its process and of its user, and the machine has no
//! name.

use libc::*;

use super::conditions::{Condition, one_of};
use super::{Filter, NamespaceScope, Rules, unconditional};

/// Calls that return zero where the true answer would reveal something about the machine. The C
/// library ignores errors of these calls.
pub(super) const CALLS: &[i64] = &[
    SYS_getpid,
    SYS_getppid,
    SYS_gettid,
    // Returns the id of the thread. Only a new process needs it for another purpose.
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

/// Allowed in separate namespaces only; otherwise they are errors.
const NAMES: &[i64] = &[SYS_uname, SYS_getresuid, SYS_getresgid];

/// Calls that do not exist for this program. glibc asks for the processors of a thread when it
/// determines the thread's stack, and continues without if the call does not exist; for any other
/// process the answer would show that it exists.
pub(super) fn absent(namespace_scope: NamespaceScope) -> Rules {
    let mut others = vec![Condition::different(0, 0)];
    if namespace_scope == NamespaceScope::Own {
        others.push(Condition::different(0, Filter::OWN_PROCESS));
    }
    Rules::from([(SYS_sched_getaffinity, vec![others])])
}

/// The part of the allowlist for names and ids.
pub(super) fn rules(namespace_scope: NamespaceScope) -> Rules {
    let itself = [0, Filter::OWN_PROCESS];
    let mut rules = unconditional(CALLS);
    match namespace_scope {
        NamespaceScope::Own => {
            rules.extend(unconditional(NAMES));
            // For other workers, the answer would show that they exist.
            rules.insert(SYS_getpgid, one_of(0, &itself));
            rules.insert(SYS_getsid, one_of(0, &itself));
        }
        NamespaceScope::Shared => {
            // A program sees 0 as its process id, which as an argument means its process group; it
            // is the only member. Its true id could be found by trying all, so it is not allowed in
            // any call.
            for call in [SYS_kill, SYS_tgkill] {
                rules.insert(call, one_of(0, &[0]));
            }
        }
    }
    rules
}
