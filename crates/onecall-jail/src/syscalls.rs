//! The system calls a program may make: an allowlist, and for what is not on it the
//! answer that fits.
//!
//! Four filters, because one of seccompiler's gives one answer. The kernel runs all
//! and takes the strictest: killing beats an error, an error beats allowing, and of
//! two errors the later filter's wins. So the allowlist with its general answer comes
//! first, which also spares the kernel most of the work for the later ones; the last
//! one takes away the call that installs them.

mod allowed;
mod conditions;
mod denied;
mod fatal;
mod files;

use std::collections::BTreeMap;
use std::io;

use rustix::io::Errno;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch};

use crate::Jail;

/// System calls by number; each with alternatives of conditions, or none.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// How much of the disk there is for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Files {
    None,
    Readable,
    Writable,
}

/// Installs the filters for this process and every thread it starts.
pub(crate) fn restrict(jail: &Jail) -> io::Result<()> {
    let files = match jail {
        Jail { writable: Some(_), .. } => Files::Writable,
        Jail { readable, .. } if !readable.is_empty() => Files::Readable,
        _ => Files::None,
    };
    let mut allowed = allowed::rules(files)?;
    let mut denied = unconditional(denied::CALLS);
    denied.retain(|call, _| !allowed.contains_key(call));
    denied.extend(files::denied(files)?);
    allowed.insert(libc::SYS_seccomp, Vec::new());
    // glibc starts a thread by clone3, whose flags a filter cannot see; told that it
    // does not exist, it takes clone.
    let absent = unconditional(&[libc::SYS_clone3]);
    let fatal = unconditional(fatal::CALLS);

    install(allowed, error(Errno::PERM), SeccompAction::Allow)?;
    install(denied, SeccompAction::Allow, error(Errno::ACCESS))?;
    install(absent, SeccompAction::Allow, error(Errno::NOSYS))?;
    install(fatal, SeccompAction::Allow, SeccompAction::KillProcess)
}

fn unconditional(calls: &[i64]) -> Rules {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

fn error(errno: Errno) -> SeccompAction {
    SeccompAction::Errno(errno.raw_os_error().unsigned_abs())
}

fn install(rules: Rules, otherwise: SeccompAction, matching: SeccompAction) -> io::Result<()> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let filter =
        SeccompFilter::new(rules, otherwise, matching, architecture).map_err(io::Error::other)?;
    let program = BpfProgram::try_from(filter).map_err(io::Error::other)?;
    seccompiler::apply_filter(&program).map_err(io::Error::other)
}
