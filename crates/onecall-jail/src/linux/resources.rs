//! The limits of a program that only this kernel keeps.
//!
//! Forking is refused by the system call filter, so what counts as processes is
//! threads. The kernel counts those of all workers of a zygote together; see `counted.rs`
//! for those of root.

use std::io;

use rustix::process::Resource;

use crate::ProgramLimits;
use crate::resources::{THREADS, limit_cpu, lower};
use crate::signals::ignore_file_size_signal;

/// Descriptors a program may have open; it is born with a handful.
const OPEN_FILES: u64 = 64;

/// Address space over a program's limit. Allocators take it in pieces, one for each
/// thread that needs more at the same time, and use only a part: without this, a
/// program far below its limit would now and then get nothing.
const PIECES: u64 = 2 * 32 * 1024 * 1024;

/// Applies the limits that are the same for every program. How much it may write is
/// known with its other limits, before anything of it runs.
pub(crate) fn limit() -> io::Result<()> {
    lower(Resource::Core, 0)?;
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
