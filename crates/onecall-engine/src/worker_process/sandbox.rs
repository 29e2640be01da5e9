//! Builds the sandbox from the inside: the zygote isolates itself once, and each worker completes
//! its own sandbox before it gets a program.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;

use onecall_jail::{
    CanaryResult, FileCalls, Isolation, Jail, ProgramLimits, SandboxedProcess, canaries,
};

use crate::sandbox_report::{EscapeAttempt, SandboxReport, WallReport};

static ZYGOTE: OnceLock<(Jail, Isolation)> = OnceLock::new();
static WORKER: OnceLock<SandboxedProcess> = OnceLock::new();

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
pub(crate) fn test(keep: &[BorrowedFd<'_>]) -> io::Result<SandboxReport> {
    let attempt = |canary: onecall_jail::Canary<'_>| EscapeAttempt {
        property: canary.property.name().to_owned(),
        tried: canary.attempt.to_owned(),
        broke: match canary.attempt_escape() {
            CanaryResult::Refused(_) => None,
            CanaryResult::Escaped(how) => Some(how),
        },
    };
    let report = &worker()?.report;
    Ok(SandboxReport {
        walls: report.walls.iter().map(WallReport::from).collect(),
        file_calls: report.file_calls == FileCalls::Allowed,
        attempts: canaries(keep).into_iter().map(attempt).collect(),
    })
}

fn worker() -> io::Result<&'static SandboxedProcess> {
    WORKER.get().ok_or_else(|| io::Error::other("the worker is not locked in"))
}
