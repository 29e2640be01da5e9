//! A user whose threads the kernel counts.
//!
//! The kernel limits the threads of a user, but never those of root. Where root runs the gateway,
//! workers get another *real* user, which is the one that counts; the effective one, which decides
//! about files, stays.
#![expect(unsafe_code, reason = "forking has no safe form")]

use std::fs;
use std::io::{self, Read, Write};

use rustix::process::{Pid, RawUid, Uid, WaitOptions, getegid, geteuid, getpid, waitpid};
use rustix::thread::{CapabilitySet, capabilities, set_thread_res_uid};

use super::namespaces::NOBODY;

/// The number of that user outside of the workers' namespaces. No account has it: it lies beyond
/// those that distributions give out.
const OUTSIDE: RawUid = 64_861;

/// Who runs the gateway, inside of them. There the counted user is the one that every program takes
/// itself for.
const EFFECTIVE: RawUid = NOBODY - 1;

/// The real user of workers, where root runs the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CountedUser(RawUid);

impl CountedUser {
    /// The user's number as the workers' namespaces have it.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    /// Makes this the real user of the process, which has one thread and may change its user.
    pub(crate) fn assume(self) -> io::Result<()> {
        let effective = geteuid();
        Ok(set_thread_res_uid(Uid::from_raw(self.0), effective, effective)?)
    }
}

/// The counted user of a zygote that has not got namespaces of its own; none if the kernel counts
/// the threads of its user, or if it may not change its user.
pub(crate) fn without_namespaces() -> Option<CountedUser> {
    let capabilities = capabilities(None).ok()?;
    let may_change = capabilities.effective.contains(CapabilitySet::SETUID);
    (geteuid().is_root() && may_change && exists_here(OUTSIDE)).then_some(CountedUser(OUTSIDE))
}

/// Whether a user with this number can exist in the namespace of this process.
fn exists_here(user: RawUid) -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.lines().any(|line| {
        let numbers: Vec<RawUid> = line.split_whitespace().flat_map(str::parse).collect();
        matches!(numbers[..], [first, _, count] if user.checked_sub(first).is_some_and(|it| it < count))
    })
}

/// A process that stays outside of the zygote's namespaces for the moment it takes to say who is
/// who inside of them, which only a privileged process outside may do for more than one user.
pub(crate) struct Scribe {
    process: Pid,
    /// Closed when the namespaces are there.
    go: io::PipeWriter,
}

impl Scribe {
    /// Starts the process, where root runs this one and is not the only user there can be. The
    /// caller has one thread.
    pub(crate) fn start() -> Option<Self> {
        if !geteuid().is_root() || !exists_here(OUTSIDE) {
            return None;
        }
        let zygote = getpid();
        let (mut waits, go) = io::pipe().ok()?;
        // SAFETY: the process has one thread, so the child lacks none.
        match unsafe { libc::fork() } {
            0 => {
                drop(go);
                // Whatever is read, the end of the pipe is what is waited for.
                let waited = waits.read(&mut [0]).map_err(drop);
                let mapped = waited.and_then(|_| write_maps(zygote).map_err(drop));
                // SAFETY: ends this process at once, without the exit handlers of the other.
                unsafe { libc::_exit(mapped.is_err().into()) }
            }
            child => Some(Self { process: Pid::from_raw(child)?, go }),
        }
    }

    /// Has the maps written, now that the namespaces are there.
    pub(crate) fn map(self) -> Option<CountedUser> {
        drop(self.go);
        let (_, status) = waitpid(Some(self.process), WaitOptions::empty()).ok()??;
        (status.exit_status() == Some(0)).then_some(CountedUser(NOBODY))
    }
}

fn write_maps(zygote: Pid) -> io::Result<()> {
    let file = |name: &str| {
        fs::OpenOptions::new().write(true).open(format!("/proc/{}/{name}", zygote.as_raw_nonzero()))
    };
    // One write each, as the kernel wants it.
    let groups = format!("{NOBODY} {} 1\n", getegid().as_raw());
    file("gid_map")?.write_all(groups.as_bytes())?;
    let users = format!("{EFFECTIVE} {} 1\n{NOBODY} {OUTSIDE} 1\n", geteuid().as_raw());
    file("uid_map")?.write_all(users.as_bytes())
}
