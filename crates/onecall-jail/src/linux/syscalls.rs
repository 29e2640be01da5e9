//! The system call filters: an allowlist, and suitable errors for the calls that are not on it.
//!
//! There are several filters, because one filter of seccompiler has a single result for its rules.
//! The kernel runs all of them and uses the strictest result: killing has priority over an error,
//! an error over allowing, and of two errors the later filter's. So the allowlist with its general
//! error comes first, which also saves the kernel most of the work for the later ones; the last
//! filter removes the call that installs filters.

mod allowed;
mod conditions;
mod denied;
mod fatal;
mod files;
mod identity;

use std::collections::BTreeMap;
use std::io;

use rustix::io::Errno;
use rustix::process::getpid;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch};

use crate::FileCalls;

/// System calls by number, each with alternative sets of conditions, or none.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Which file operations a program may request from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileAccess {
    /// No call that takes a path is allowed.
    None,
    /// Calls that read are allowed.
    Readable,
    /// Calls that change files are allowed as well.
    Writable,
    /// Calls that change modes and times are allowed, too: the only files that can be changed are
    /// in a folder that belongs to the program.
    Private,
}

impl From<FileAccess> for FileCalls {
    fn from(files: FileAccess) -> Self {
        match files {
            FileAccess::None => Self::Refused,
            FileAccess::Readable | FileAccess::Writable | FileAccess::Private => Self::Allowed,
        }
    }
}

/// What a program can learn by asking for names and ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamespaceScope {
    /// The names and ids of its own namespaces, which reveal nothing.
    Own,
    /// The names and ids of the machine, so such questions are not answered truthfully.
    Shared,
}

/// The permitted sources of executable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodeSource {
    /// All code has been loaded already.
    Sealed,
    /// Files may be mapped as code, but written memory may not become executable.
    Files,
}

/// One of the filters. The zygote compiles it once for all its workers; workers of another program
/// install the filters themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filter(BpfProgram);

/// Installs the filters for this process and every thread it starts.
pub(crate) fn restrict(filters: &[Filter]) -> io::Result<()> {
    let own_process = getpid().as_raw_nonzero().get().unsigned_abs();
    for filter in filters {
        seccompiler::apply_filter(&filter.of(own_process)).map_err(io::Error::other)?;
    }
    Ok(())
}

impl Filter {
    /// The placeholder for the process id; see
    /// [`SyscallFilters::own_process`](crate::SyscallFilters::own_process).
    pub(crate) const OWN_PROCESS: u32 = 0x7fff_fffe;

    /// The system call that installs a filter.
    pub(crate) const INSTALLED_BY: i64 = libc::SYS_seccomp;

    /// The filter with the id of one process filled in.
    fn of(&self, process: u32) -> BpfProgram {
        let mut program = self.0.clone();
        for instruction in program.iter_mut().filter(|it| it.k == Self::OWN_PROCESS) {
            instruction.k = process;
        }
        program
    }

    /// The instructions in the kernel's format.
    pub(crate) fn bytes(&self) -> Vec<u8> {
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
pub(crate) fn filters(
    files: FileAccess,
    code: CodeSource,
    namespace_scope: NamespaceScope,
) -> io::Result<Vec<Filter>> {
    let mut allowed = allowed::rules(files, code)?;
    let mut denied = unconditional(denied::CALLS);
    denied.retain(|call, _| !allowed.contains_key(call));
    denied.extend(files::denied(files));
    allowed.extend(identity::rules(namespace_scope)?);
    allowed.insert(libc::SYS_seccomp, Vec::new());
    // glibc starts threads with clone3, whose flags a filter cannot inspect. If the call does not
    // exist, glibc uses clone.
    let mut absent = unconditional(&[libc::SYS_clone3]);
    absent.extend(identity::absent(namespace_scope)?);
    let fatal = unconditional(fatal::CALLS);

    let mut filters = vec![
        filter(allowed, error(Errno::PERM), SeccompAction::Allow)?,
        filter(denied, SeccompAction::Allow, error(Errno::ACCESS))?,
        filter(absent, SeccompAction::Allow, error(Errno::NOSYS))?,
    ];
    if namespace_scope == NamespaceScope::Shared {
        let zero = unconditional(identity::CALLS);
        filters.push(filter(zero, SeccompAction::Allow, SeccompAction::Errno(0))?);
    }
    filters.push(filter(fatal, SeccompAction::Allow, SeccompAction::KillProcess)?);
    Ok(filters)
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
