//! Where a program is locked in: the zygote isolates itself once, each worker
//! builds the walls around itself before its program is known.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;

use onecall_jail::{FileCalls, Isolation, Jail, Prepared, ProgramLimits, Verdict, canaries};

use crate::examination::{Attempt, Examination, ExaminedWall};

static ZYGOTE: OnceLock<(Jail, Isolation)> = OnceLock::new();
static WORKER: OnceLock<Prepared> = OnceLock::new();

/// Isolates this process, which becomes a zygote, and all it will fork.
pub(crate) fn isolate(jail: Jail) -> io::Result<()> {
    let isolation = jail.isolate().map_err(io::Error::other)?;
    // A second isolation would be of the same process, so the first one stands.
    _ = ZYGOTE.set((jail, isolation));
    Ok(())
}

/// Builds the walls around this worker, which keeps only the descriptors in `keep`.
pub(crate) fn lock(keep: &[BorrowedFd<'_>]) -> io::Result<()> {
    let (jail, isolation) =
        ZYGOTE.get().ok_or_else(|| io::Error::other("the zygote is not isolated"))?;
    _ = WORKER.set(jail.prepare(isolation, keep).map_err(io::Error::other)?);
    Ok(())
}

/// Applies the limits of the program that runs next.
pub(crate) fn limit(limits: ProgramLimits) -> io::Result<()> {
    worker()?.limit(limits)
}

/// Tries to break out of this worker, which is of no use to a program afterwards.
pub(crate) fn examine(keep: &[BorrowedFd<'_>]) -> io::Result<Examination> {
    let attempt = |canary: onecall_jail::Canary<'_>| Attempt {
        property: canary.property.name().to_owned(),
        tried: canary.attempt.to_owned(),
        broke: match canary.sing() {
            Verdict::Held(_) => None,
            Verdict::Broken(how) => Some(how),
        },
    };
    let report = &worker()?.report;
    Ok(Examination {
        walls: report.walls.iter().map(ExaminedWall::from).collect(),
        file_calls: report.file_calls == FileCalls::Allowed,
        attempts: canaries(keep).into_iter().map(attempt).collect(),
    })
}

fn worker() -> io::Result<&'static Prepared> {
    WORKER.get().ok_or_else(|| io::Error::other("the worker is not locked in"))
}
