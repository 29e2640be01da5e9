//! Resource limits of the kernel, lowered for good: hard and soft alike.

use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};

/// Applies the limits of one program.
pub(crate) fn limit(memory_bytes: u64) -> io::Result<()> {
    let address_space = virtual_memory()?.saturating_add(memory_bytes);
    lower(Resource::As, address_space)?;
    lower(Resource::Core, 0)?;
    // A program has no file of its own to write, so a write beyond byte zero
    // of any regular file is refused.
    lower(Resource::Fsize, 0)
}

fn lower(resource: Resource, limit: u64) -> io::Result<()> {
    let limit = Some(limit);
    setrlimit(resource, Rlimit { current: limit, maximum: limit })?;
    Ok(())
}

/// Address space in use now. The interpreter's own share is not the program's
/// to pay for, so the limit counts from here.
fn virtual_memory() -> io::Result<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages = statm
        .split_ascii_whitespace()
        .next()
        .and_then(|pages| pages.parse::<u64>().ok())
        .ok_or_else(|| io::Error::other("/proc/self/statm is not readable as numbers"))?;
    let page_size = u64::try_from(rustix::param::page_size()).map_err(io::Error::other)?;
    Ok(pages.saturating_mul(page_size))
}
