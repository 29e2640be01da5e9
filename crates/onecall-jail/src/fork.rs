//! Forks workers from a zygote.
#![expect(unsafe_code, reason = "forking has no safe form")]

use std::io;

use rustix::process::Pid;

use crate::confinement::{Confinement, System};

/// The side of a fork on which the code runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forked {
    /// The parent; the child has this process id.
    Parent(Pid),
    /// The child.
    Child,
}

/// Forks this process, which must have a single thread: a lock that another thread holds would stay
/// locked in the child for ever.
pub fn fork() -> io::Result<Forked> {
    System::check_single_thread()?;
    // SAFETY: there is one thread, this one, so the child lacks none.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        child => Pid::from_raw(child)
            .map(Forked::Parent)
            .ok_or_else(|| io::Error::other("the system returned no process id")),
    }
}

/// Makes the kernel kill this process when its parent dies, so that a worker never outlives its
/// zygote. It is an error if the parent is already gone.
pub fn die_with_parent() -> io::Result<()> {
    System::die_with_parent()
}
