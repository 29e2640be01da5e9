//! The keeper: the first process of the workers' process namespace.
//!
//! The namespace exists as long as its first process: without one that only waits, the exit of the
//! first worker would end all of them. The keeper exits with the zygote, and then the kernel kills
//! all remaining processes inside.
#![expect(unsafe_code, reason = "forking has no safe form")]

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, getpid, pidfd_open, setsid};

use super::{descriptors, privileges};

/// Starts the keeper. The caller has just unshared the process namespace.
pub(crate) fn start() -> io::Result<()> {
    let zygote = pidfd_open(getpid(), PidfdFlags::empty())?;
    // SAFETY: the process has one thread (otherwise the user namespace could not have
    // been unshared), so no lock is held by a thread that the child lacks.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => keep(&zygote),
        _ => Ok(()),
    }
}

/// Waits for the exit of the zygote. If anything fails, exiting early is safe: it ends the workers
/// too.
fn keep(zygote: &OwnedFd) -> ! {
    // Detaches from the zygote's process group, so that its signals do not reach this process.
    let settled = setsid()
        .map_err(io::Error::from)
        .and_then(|_| descriptors::close_all_but(&[zygote.as_fd()]))
        .and_then(|()| crate::close_standard_streams())
        .and_then(|()| privileges::drop_all(None));
    if settled.is_ok() {
        while poll(&mut [PollFd::new(zygote, PollFlags::IN)], None) == Err(Errno::INTR) {}
    }
    // SAFETY: ends the process at once; the zygote's exit handlers are not this copy's to run.
    unsafe { libc::_exit(0) }
}
