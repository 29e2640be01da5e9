//! Resource limits, lowered for good: hard and soft alike.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Threads of all programs of an engine together: more than they use, less than
/// hurts the machine.
pub const THREADS: u64 = 4096;

/// Lets the process compute for `seconds` more.
pub(crate) fn limit_cpu(seconds: u64) -> io::Result<()> {
    // The kernel counts from the fork, and the warm-up is not the program's to pay for.
    let used = clock_gettime(ClockId::ProcessCPUTime).tv_sec;
    let limit = u64::try_from(used).unwrap_or(0).saturating_add(1).saturating_add(seconds);
    // SIGXCPU first, so that the end can be told from a kill of ours; a program that
    // ignores it has one second more.
    lower_to(Resource::Cpu, limit, limit.saturating_add(1))
}

/// Lowers a limit, soft and hard.
pub(crate) fn lower(resource: Resource, limit: u64) -> io::Result<()> {
    lower_to(resource, limit, limit)
}

fn lower_to(resource: Resource, soft: u64, hard: u64) -> io::Result<()> {
    // What is lower already stays so: raising it is refused without privileges.
    let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit = Rlimit { current: Some(soft.min(most)), maximum: Some(hard.min(most)) };
    setrlimit(resource, limit)?;
    Ok(())
}
