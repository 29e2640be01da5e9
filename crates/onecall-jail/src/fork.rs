//! How a zygote brings a worker into the world.
#![expect(unsafe_code, reason = "forking has no safe form")]

use std::io;

use rustix::process::Pid;

use crate::confinement::{Confinement, System};

/// Which of the two processes this is after a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forked {
    /// The one that was there before; the other has this number.
    Parent(Pid),
    /// The new one.
    Child,
}

/// Forks this process, which must have a single thread: a lock that another thread
/// holds would stay locked in the child for good.
pub fn fork() -> io::Result<Forked> {
    System::check_single_thread()?;
    // SAFETY: there is one thread, this one, so the child lacks none.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        child => Pid::from_raw(child)
            .map(Forked::Parent)
            .ok_or_else(|| io::Error::other("the system gave a process no number")),
    }
}

/// Has the kernel kill this process when its parent dies, so that a worker never outlives its
/// zygote. A parent that is gone already is an error.
pub fn die_with_parent() -> io::Result<()> {
    System::die_with_parent()
}
