//! Namespaces of our own: no network, no foreign process, no shared memory to name.
//!
//! Entered once by the zygote, not by each worker: a network namespace costs half a
//! millisecond to make and more to tear down, and a process cannot enter a new
//! process namespace itself, only its children can. Workers of one zygote share
//! them; what could pass between two is refused by the system call filter.
#![expect(unsafe_code, reason = "rustix marks unshare unsafe for the sake of one flag")]

use std::{fs, io};

use rustix::process::{getgid, getuid};
use rustix::system::sethostname;
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// What a program sees itself as, whoever runs the gateway.
pub(crate) const NOBODY: u32 = 65534;

/// What a program sees as the machine's name.
pub(crate) const HOST_NAME: &str = "onecall";

/// Who runs the gateway. Asked before leaving, because after it nobody is anybody.
pub(crate) struct Identity {
    user: u32,
    group: u32,
}

/// Enters new namespaces of every kind that keeps something out. The process must
/// have one thread; its next child is the first process of the process namespace.
pub(crate) fn leave() -> io::Result<Identity> {
    let identity = Identity { user: getuid().as_raw(), group: getgid().as_raw() };
    let kinds = UnshareFlags::NEWUSER
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP
        | UnshareFlags::NEWNS;
    // SAFETY: the unsafe flag is FILES, which is not among these.
    unsafe { unshare_unsafe(kinds) }?;
    Ok(identity)
}

/// Gives the user and the machine names that say nothing. The user may be `mapped` already.
pub(crate) fn settle(identity: Identity, mapped: bool) -> io::Result<()> {
    if !mapped {
        // The kernel asks for this before it lets an unprivileged process map a group.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{NOBODY} {} 1", identity.user))?;
        fs::write("/proc/self/gid_map", format!("{NOBODY} {} 1", identity.group))?;
    }
    sethostname(HOST_NAME.as_bytes())?;
    Ok(())
}
