//! Separate namespaces: no network, no other processes, no shared memory by name.
//!
//! The zygote enters them once, not each worker: a network namespace takes half a millisecond to
//! create and more to remove, and a process cannot enter a new process namespace itself, only its
//! children can. The workers of one zygote share them; the system call filter prevents
//! communication between workers.
#![expect(unsafe_code, reason = "rustix marks unshare unsafe for the sake of one flag")]

use std::{fs, io};

use rustix::process::{getgid, getuid};
use rustix::system::sethostname;
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// The user and group id that a program sees, whichever user runs the gateway.
pub(crate) const NOBODY: u32 = 65534;

/// The machine name that a program sees.
pub(crate) const HOST_NAME: &str = "onecall";

/// The user and group that run the gateway, read before the namespaces are entered, because they
/// have no ids inside.
pub(crate) struct GatewayIdentity {
    user: u32,
    group: u32,
}

/// Enters new namespaces of every kind that isolates something. The process must have one thread;
/// its next child is the first process of the process namespace.
pub(crate) fn enter_new() -> io::Result<GatewayIdentity> {
    let identity = GatewayIdentity { user: getuid().as_raw(), group: getgid().as_raw() };
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

/// Sets a neutral user, group and machine name. The user may be `mapped` already.
pub(crate) fn set_neutral_identity(identity: GatewayIdentity, mapped: bool) -> io::Result<()> {
    if !mapped {
        // The kernel requires this before an unprivileged process may map a group.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{NOBODY} {} 1", identity.user))?;
        fs::write("/proc/self/gid_map", format!("{NOBODY} {} 1", identity.group))?;
    }
    sethostname(HOST_NAME.as_bytes())?;
    Ok(())
}
