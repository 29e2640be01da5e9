//! The system call filter: an allowlist, and suitable errors for the calls that are not on it.
#![expect(unsafe_code, reason = "installing a filter has no safe form")]

mod allowed;
mod conditions;
mod denied;
mod fatal;
mod files;
mod identity;
mod program;

use std::collections::BTreeMap;
use std::io;

use libc::sock_filter;
use rustix::io::Errno;
use rustix::process::getpid;
use rustix::thread::set_no_new_privs;

use self::conditions::Condition;
use self::program::{Decision, Verdict};
use crate::FileCalls;

/// System calls by number, each with alternative sets of conditions, or none.
type Rules = BTreeMap<i64, Vec<Vec<Condition>>>;

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

/// The filter. The zygote makes it once for all its workers; workers of another program install it
/// themselves.
#[derive(Clone, Debug)]
pub(crate) struct Filter(Vec<sock_filter>);

impl Filter {
    /// The placeholder for the process id; see
    /// [`SyscallFilter::own_process`](crate::SyscallFilter::own_process).
    pub(crate) const OWN_PROCESS: u32 = 0x7fff_fffe;

    /// The system call that installs a filter.
    pub(crate) const INSTALLED_BY: i64 = libc::SYS_seccomp;

    /// The filter for a program with these possibilities.
    pub(crate) fn new(
        files: FileAccess,
        code: CodeSource,
        namespace_scope: NamespaceScope,
    ) -> io::Result<Self> {
        let decisions = decisions(files, code, namespace_scope)?;
        Ok(Self(program::compile(&decisions, Verdict::Fail(Errno::PERM))?))
    }

    /// Installs the filter for this process and every thread it starts.
    pub(crate) fn install(&self) -> io::Result<()> {
        let own_process = getpid().as_raw_nonzero().get().unsigned_abs();
        let mut instructions = self.0.clone();
        for instruction in instructions.iter_mut().filter(|it| it.k == Self::OWN_PROCESS) {
            instruction.k = own_process;
        }
        // Without it, the kernel takes filters from privileged processes only.
        set_no_new_privs(true)?;
        let program = libc::sock_fprog {
            len: u16::try_from(instructions.len()).map_err(io::Error::other)?,
            filter: instructions.as_mut_ptr(),
        };
        // SAFETY: the kernel reads as many instructions as there are, and keeps none of them.
        let result = unsafe {
            libc::syscall(Self::INSTALLED_BY, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program)
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// The instructions in the kernel's format.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let instruction = |it: &sock_filter| {
            let mut bytes = it.code.to_ne_bytes().to_vec();
            bytes.extend([it.jt, it.jf]);
            bytes.extend(it.k.to_ne_bytes());
            bytes
        };
        self.0.iter().flat_map(instruction).collect()
    }
}

/// What becomes of each system call. What comes later here has priority.
fn decisions(
    files: FileAccess,
    code: CodeSource,
    namespace_scope: NamespaceScope,
) -> io::Result<BTreeMap<u32, Decision>> {
    let mut allowed = allowed::rules(files, code);
    let mut denied = unconditional(denied::CALLS);
    denied.retain(|call, _| !allowed.contains_key(call));
    denied.extend(files::denied(files));
    allowed.extend(identity::rules(namespace_scope));
    // glibc starts threads with clone3, whose flags a filter cannot inspect. If the call does not
    // exist, glibc uses clone.
    let mut absent = unconditional(&[libc::SYS_clone3]);
    absent.extend(identity::absent(namespace_scope));
    let zero = match namespace_scope {
        NamespaceScope::Own => Rules::new(),
        NamespaceScope::Shared => unconditional(identity::CALLS),
    };
    let mut decisions = BTreeMap::new();
    for (rules, verdict) in [
        (allowed, Verdict::Allow),
        (denied, Verdict::Fail(Errno::ACCESS)),
        (absent, Verdict::Fail(Errno::NOSYS)),
        (zero, Verdict::ReturnZero),
        (unconditional(fatal::CALLS), Verdict::Kill),
    ] {
        for (call, alternatives) in rules {
            let call = u32::try_from(call).map_err(io::Error::other)?;
            let before = decisions.remove(&call);
            decisions.insert(call, decision(alternatives, verdict, before));
        }
    }
    Ok(decisions)
}

/// The decision about a call that gets this verdict in some or in all cases, and otherwise what was decided before.
fn decision(
    alternatives: Vec<Vec<Condition>>,
    verdict: Verdict,
    before: Option<Decision>,
) -> Decision {
    if alternatives.is_empty() {
        return verdict.into();
    }
    let mut decision = before.unwrap_or_else(|| Verdict::Fail(Errno::PERM).into());
    let exceptions = alternatives.into_iter().map(|conditions| (conditions, verdict));
    decision.exceptions.splice(0..0, exceptions);
    decision
}

fn unconditional(calls: &[i64]) -> Rules {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}
