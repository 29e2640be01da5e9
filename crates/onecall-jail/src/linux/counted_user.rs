//! A user whose threads the kernel counts against the limit.
//!
//! The kernel limits the threads of a user, but never those of root. If root runs the gateway,
//! workers get another *real* user, to which the limit applies; the effective user, which
//! determines access to files, stays the same.
#![expect(unsafe_code, reason = "forking has no safe form")]

use std::fs;
use std::io::{self, Read, Write};

use rustix::process::{Pid, RawUid, Uid, WaitOptions, getegid, geteuid, getpid, waitpid};
use rustix::thread::{CapabilitySet, capabilities, set_thread_res_uid};

use super::namespaces::NOBODY;

/// The id of that user outside of the workers' namespaces. It is not used by an account: it is
/// beyond the ranges that distributions assign.
const OUTER_ID: RawUid = 64_861;

/// The id of the gateway's user inside of the namespaces. There, programs see the counted user as
/// their own.
const EFFECTIVE_ID: RawUid = NOBODY - 1;

/// The real user of workers, if root runs the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CountedUser(RawUid);

impl CountedUser {
    /// The id of the user inside of the workers' namespaces.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    /// Makes this the real user of the process, which must have one thread and the capability to
    /// change its user.
    pub(crate) fn become_real_user(self) -> io::Result<()> {
        let effective = geteuid();
        Ok(set_thread_res_uid(Uid::from_raw(self.0), effective, effective)?)
    }
}

/// The counted user of a zygote without its own namespaces; `None` if the kernel counts the threads
/// of its user, or if it may not change its user.
pub(crate) fn without_namespaces() -> Option<CountedUser> {
    let capabilities = capabilities(None).ok()?;
    let may_change = capabilities.effective.contains(CapabilitySet::SETUID);
    (geteuid().is_root() && may_change && exists_here(OUTER_ID)).then_some(CountedUser(OUTER_ID))
}

/// Whether a user with this id can exist in the namespace of this process.
fn exists_here(user: RawUid) -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.lines().any(|line| {
        let numbers: Vec<RawUid> = line.split_whitespace().flat_map(str::parse).collect();
        matches!(numbers[..], [first, _, count] if user.checked_sub(first).is_some_and(|it| it < count))
    })
}

/// A helper process that stays outside of the zygote's namespaces until it has written their user
/// maps: only a privileged process outside may map more than one user.
pub(crate) struct IdMapWriter {
    process: Pid,
    /// Closed when the namespaces exist.
    start_signal: io::PipeWriter,
}

impl IdMapWriter {
    /// Starts the helper process, if root runs this one and other users can exist. The caller must
    /// have one thread.
    pub(crate) fn start() -> Option<Self> {
        if !geteuid().is_root() || !exists_here(OUTER_ID) {
            return None;
        }
        let zygote = getpid();
        let (mut signal_reader, start_signal) = io::pipe().ok()?;
        // SAFETY: the process has one thread, so the child lacks none.
        match unsafe { libc::fork() } {
            0 => {
                drop(start_signal);
                // Only the end of the pipe matters, not what is read.
                let waited = signal_reader.read(&mut [0]).map_err(drop);
                let mapped = waited.and_then(|_| write_maps(zygote).map_err(drop));
                // SAFETY: ends this process at once, without the exit handlers of the other.
                unsafe { libc::_exit(mapped.is_err().into()) }
            }
            child => Some(Self { process: Pid::from_raw(child)?, start_signal }),
        }
    }

    /// Makes the helper write the maps, now that the namespaces exist.
    pub(crate) fn finish(self) -> Option<CountedUser> {
        drop(self.start_signal);
        let (_, status) = waitpid(Some(self.process), WaitOptions::empty()).ok()??;
        (status.exit_status() == Some(0)).then_some(CountedUser(NOBODY))
    }
}

fn write_maps(zygote: Pid) -> io::Result<()> {
    let file = |name: &str| {
        fs::OpenOptions::new().write(true).open(format!("/proc/{}/{name}", zygote.as_raw_nonzero()))
    };
    // The kernel requires a single write for each map.
    let groups = format!("{NOBODY} {} 1\n", getegid().as_raw());
    file("gid_map")?.write_all(groups.as_bytes())?;
    let users = format!("{EFFECTIVE_ID} {} 1\n{NOBODY} {OUTER_ID} 1\n", geteuid().as_raw());
    file("uid_map")?.write_all(users.as_bytes())
}
