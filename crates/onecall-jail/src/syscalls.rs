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
use rustix::process::getpid;
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

/// Where code may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    /// All there is has been loaded.
    Sealed,
    /// Files may be mapped as code; memory that was written may not become it.
    Files,
}

/// One of the filters. Compiled once, by the zygote, for all its workers; one that is
/// another program than this installs them itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter(BpfProgram);

/// Installs the filters for this process and every thread it starts.
pub(crate) fn restrict(filters: &[Filter]) -> io::Result<()> {
    let own_process = getpid().as_raw_nonzero().get().unsigned_abs();
    for filter in filters {
        seccompiler::apply_filter(&filter.of(own_process)).map_err(io::Error::other)?;
    }
    Ok(())
}

impl Filter {
    /// Stands for the process that installs a filter wherever one names it, and has
    /// to be replaced there. No process has such a number.
    pub const OWN_PROCESS: u32 = 0x7fff_fffe;

    /// The system call that installs a filter.
    pub const INSTALLED_BY: i64 = libc::SYS_seccomp;

    /// The filter for one process.
    fn of(&self, process: u32) -> BpfProgram {
        let mut program = self.0.clone();
        for instruction in program.iter_mut().filter(|it| it.k == Self::OWN_PROCESS) {
            instruction.k = process;
        }
        program
    }

    /// The instructions as the kernel reads them.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let instruction = |it: &seccompiler::sock_filter| {
            let mut bytes = it.code.to_ne_bytes().to_vec();
            bytes.extend([it.jt, it.jf]);
            bytes.extend(it.k.to_ne_bytes());
            bytes
        };
        self.0.iter().flat_map(instruction).collect()
    }
}

/// All filters, to be installed in this order.
pub(crate) fn filters(jail: &Jail) -> io::Result<Vec<Filter>> {
    let files = match jail {
        Jail { writable: Some(_), .. } => Files::Writable,
        Jail { readable, loadable, presented, .. }
            if readable.len() + loadable.len() + presented.len() > 0 =>
        {
            Files::Readable
        }
        _ => Files::None,
    };
    let code = if jail.loadable.is_empty() { Code::Sealed } else { Code::Files };
    let mut allowed = allowed::rules(files, code)?;
    let mut denied = unconditional(denied::CALLS);
    denied.retain(|call, _| !allowed.contains_key(call));
    denied.extend(files::denied(files)?);
    allowed.insert(libc::SYS_seccomp, Vec::new());
    // glibc starts a thread by clone3, whose flags a filter cannot see; told that it
    // does not exist, it takes clone.
    let absent = unconditional(&[libc::SYS_clone3]);
    let fatal = unconditional(fatal::CALLS);

    Ok(vec![
        filter(allowed, error(Errno::PERM), SeccompAction::Allow)?,
        filter(denied, SeccompAction::Allow, error(Errno::ACCESS))?,
        filter(absent, SeccompAction::Allow, error(Errno::NOSYS))?,
        filter(fatal, SeccompAction::Allow, SeccompAction::KillProcess)?,
    ])
}

fn unconditional(calls: &[i64]) -> Rules {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

fn error(errno: Errno) -> SeccompAction {
    SeccompAction::Errno(errno.raw_os_error().unsigned_abs())
}

fn filter(rules: Rules, otherwise: SeccompAction, matching: SeccompAction) -> io::Result<Filter> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let filter =
        SeccompFilter::new(rules, otherwise, matching, architecture).map_err(io::Error::other)?;
    Ok(Filter(BpfProgram::try_from(filter).map_err(io::Error::other)?))
}
