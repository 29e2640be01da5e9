//! Resource limits of the kernel, lowered for good: hard and soft alike.
//!
//! Forking is refused by the system call filter, so what counts as processes is
//! threads. The kernel counts those of all workers of a zygote together, and not at
//! all where root runs the gateway; then the address space, from which each thread's
//! stack takes, is the limit.
#![expect(unsafe_code, reason = "ignoring a signal has no safe form")]

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use crate::ProgramLimits;

/// Descriptors a program may have open; it is born with a handful.
const OPEN_FILES: u64 = 64;

/// Address space over a program's limit. Allocators take it in pieces, one for each
/// thread that needs more at the same time, and use only a part: without this, a
/// program far below its limit would now and then get nothing.
const PIECES: u64 = 2 * 32 * 1024 * 1024;

/// Threads of all programs of an engine together: more than they use, less than
/// hurts the machine.
const THREADS: u64 = 4096;

/// Applies the limits that are the same for every program. How much it may write is
/// known later, if it `writes` at all.
pub(crate) fn limit(writes: bool) -> io::Result<()> {
    lower(Resource::Core, 0)?;
    if !writes {
        lower(Resource::Fsize, 0)?;
    }
    ignore_file_size_signal()?;
    lower(Resource::Nofile, OPEN_FILES)?;
    // Memory that is not part of the address space, and a place before others.
    lower(Resource::Msgqueue, 0)?;
    lower(Resource::Memlock, 0)?;
    lower(Resource::Nice, 0)?;
    lower(Resource::Rtprio, 0)
}

/// Applies the limits of one program. The address space may grow over `baseline`.
pub(crate) fn limit_program(baseline: u64, limits: ProgramLimits) -> io::Result<()> {
    let memory = limits.memory_bytes.saturating_add(PIECES);
    lower(Resource::As, baseline.saturating_add(memory))?;
    lower(Resource::Fsize, limits.file_bytes)?;
    // Not before: a worker that is getting ready must be able to start its own.
    lower(Resource::Nproc, THREADS)?;
    limit_cpu(limits.cpu_seconds)
}

/// A file that grows over its limit is an error of the write, not the end of the process.
fn ignore_file_size_signal() -> io::Result<()> {
    // SAFETY: no handler is installed, so no code of ours runs in a signal's context.
    match unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) } {
        libc::SIG_ERR => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Lets the process compute for `seconds` more.
fn limit_cpu(seconds: u64) -> io::Result<()> {
    // The kernel counts from the fork, and the warm-up is not the program's to pay for.
    let used = clock_gettime(ClockId::ProcessCPUTime).tv_sec;
    let limit = u64::try_from(used).unwrap_or(0).saturating_add(1).saturating_add(seconds);
    // SIGXCPU first, so that the end can be told from a kill of ours; a program that
    // ignores it has one second more.
    lower_to(Resource::Cpu, limit, limit.saturating_add(1))
}

fn lower(resource: Resource, limit: u64) -> io::Result<()> {
    lower_to(resource, limit, limit)
}

fn lower_to(resource: Resource, soft: u64, hard: u64) -> io::Result<()> {
    // What is lower already stays so: raising it is refused without privileges.
    let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit = Rlimit { current: Some(soft.min(most)), maximum: Some(hard.min(most)) };
    setrlimit(resource, limit)?;
    Ok(())
}

/// Address space in use now. The interpreter's own share is not the program's
/// to pay for, so the limit counts from here.
pub(crate) fn virtual_memory() -> io::Result<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages = statm
        .split_ascii_whitespace()
        .next()
        .and_then(|pages| pages.parse::<u64>().ok())
        .ok_or_else(|| io::Error::other("/proc/self/statm is not readable as numbers"))?;
    let page_size = u64::try_from(rustix::param::page_size()).map_err(io::Error::other)?;
    Ok(pages.saturating_mul(page_size))
}
