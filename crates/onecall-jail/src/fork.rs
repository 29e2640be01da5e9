//! How a zygote brings a worker into the world.
#![expect(unsafe_code, reason = "forking has no safe form")]

use std::io;

use rustix::process::Pid;

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
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("a process with several threads cannot be forked"));
    }
    // SAFETY: there is one thread, this one, so the child lacks none.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        child => Pid::from_raw(child)
            .map(Forked::Parent)
            .ok_or_else(|| io::Error::other("the system gave a process no number")),
    }
}
