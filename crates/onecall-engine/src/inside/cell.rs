//! Builds the sandbox from the inside: the zygote isolates itself once, and each worker completes
//! its own sandbox before it gets a program.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;

use onecall_jail::{FileCalls, Isolation, Jail, Prepared, ProgramLimits, Verdict, canaries};

use crate::examination::{Attempt, Examination, ExaminedWall};

static ZYGOTE: OnceLock<(Jail, Isolation)> = OnceLock::new();
static WORKER: OnceLock<Prepared> = OnceLock::new();

/// Isolates this process, which becomes a zygote, and everything that it will fork.
pub(crate) fn isolate(jail: Jail) -> io::Result<()> {
    let isolation = jail.isolate().map_err(io::Error::other)?;
    // A second call would isolate the same process, so the first result stays.
    _ = ZYGOTE.set((jail, isolation));
    Ok(())
}

/// Completes the sandbox of this worker, which keeps only the descriptors in `keep`.
pub(crate) fn lock(keep: &[BorrowedFd<'_>]) -> io::Result<()> {
    let (jail, isolation) =
        ZYGOTE.get().ok_or_else(|| io::Error::other("the zygote is not isolated"))?;
    _ = WORKER.set(jail.prepare(isolation, keep).map_err(io::Error::other)?);
    Ok(())
}

/// Applies the limits of the next program.
pub(crate) fn limit(limits: ProgramLimits) -> io::Result<()> {
    worker()?.limit(limits)
}

/// Tests the sandbox of this worker by attempts to break out. The worker cannot run a program
/// afterwards.
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
