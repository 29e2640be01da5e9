//! Ensures that a worker never outlives the process that forked it.

use std::io;

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

/// Makes the kernel kill this process when its parent dies.
///
/// If the parent died just before the request, the signal would never be sent, so that case is an
/// error.
pub(crate) fn die_with_parent() -> io::Result<()> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != parent {
        return Err(io::Error::other("the parent process is gone"));
    }
    Ok(())
}
