//! A worker never outlives the process that forked it.

use std::io;

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

/// Has the kernel kill this process when its parent dies.
///
/// The parent may have died just before the request; then nobody would send the
/// signal, so that case is an error.
pub(crate) fn die_with_parent() -> io::Result<()> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != parent {
        return Err(io::Error::other("the parent process is gone"));
    }
    Ok(())
}
