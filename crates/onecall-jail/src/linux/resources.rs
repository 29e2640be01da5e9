//! Resource limits of a program that only Linux enforces.
//!
//! The system call filter prevents forking, so the process limit applies to threads. The kernel
//! counts those of all workers of a zygote together; see `counted_user.rs` for those of root.

use std::io;

use rustix::process::Resource;

use crate::ProgramLimits;
use crate::resources::{MAX_THREADS, limit_cpu, lower_limit};
use crate::signals::ignore_file_size_signal;

/// The largest number of open descriptors; a program starts with a few.
const MAX_OPEN_FILES: u64 = 64;

/// Address space on top of a program's limit. Allocators reserve it in large pieces, one for each
/// thread that needs more at the same time, and use only a part: without this allowance, a program
/// far below its limit could sometimes get no memory.
const ALLOCATOR_RESERVE: u64 = 2 * 32 * 1024 * 1024;

/// Applies the limits that are the same for every program. The file size limit is applied later
/// with the others, before any of the program runs.
pub(crate) fn limit() -> io::Result<()> {
    lower_limit(Resource::Core, 0)?;
    ignore_file_size_signal()?;
    lower_limit(Resource::Nofile, MAX_OPEN_FILES)?;
    // Memory outside of the address space, and scheduling priority.
    lower_limit(Resource::Msgqueue, 0)?;
    lower_limit(Resource::Memlock, 0)?;
    lower_limit(Resource::Nice, 0)?;
    lower_limit(Resource::Rtprio, 0)
}

/// Applies the limits of one program. The address space may grow beyond `baseline`.
pub(crate) fn limit_program(baseline: u64, limits: ProgramLimits) -> io::Result<()> {
    let memory = limits.memory_bytes.saturating_add(ALLOCATOR_RESERVE);
    lower_limit(Resource::As, baseline.saturating_add(memory))?;
    lower_limit(Resource::Fsize, limits.file_bytes)?;
    // Applied late, because a worker must be able to start its own threads first.
    lower_limit(Resource::Nproc, MAX_THREADS)?;
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
