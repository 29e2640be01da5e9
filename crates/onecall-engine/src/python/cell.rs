//! Where a program is locked in: the zygote isolates itself once, each worker
//! builds the walls around itself before its program is known.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;

use onecall_jail::{Isolation, Jail, JailError, Mode, Prepared, State};

/// The one thing a Python program may read from disk: the time zones.
const READABLE: &str = "/usr/share/zoneinfo";

static ZYGOTE: OnceLock<(Jail, Isolation)> = OnceLock::new();
static WORKER: OnceLock<Prepared> = OnceLock::new();

/// Isolates this process, which becomes a zygote, and all it will fork.
pub(super) fn isolate(mode: Mode) -> Result<(), JailError> {
    let jail = Jail { mode, readable: vec![READABLE.into()], writable: None };
    let isolation = jail.isolate()?;
    // A second isolation would be of the same process, so the first one stands.
    _ = ZYGOTE.set((jail, isolation));
    Ok(())
}

/// Builds the walls around this worker, which keeps only the descriptors in `keep`.
/// Returns a line for each wall that could not be built.
pub(super) fn lock(keep: &[BorrowedFd<'_>]) -> io::Result<Vec<String>> {
    let (jail, isolation) =
        ZYGOTE.get().ok_or_else(|| io::Error::other("the zygote is not isolated"))?;
    let prepared = jail.prepare(isolation, keep).map_err(io::Error::other)?;
    let missing = prepared.report.walls.iter().filter_map(|wall| match &wall.state {
        State::Holds => None,
        State::Missing { reason, remedy } => {
            Some(format!("the sandbox lacks its wall `{}`: {reason}; {remedy}", wall.name))
        }
    });
    let missing = missing.collect();
    _ = WORKER.set(prepared);
    Ok(missing)
}

/// Limits the memory of the program that runs next.
pub(super) fn limit(memory_bytes: u64) -> io::Result<()> {
    let prepared = WORKER.get().ok_or_else(|| io::Error::other("the worker is not locked in"))?;
    prepared.limit(memory_bytes, None)
}
