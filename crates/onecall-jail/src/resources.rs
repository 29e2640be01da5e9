//! Resource limits that are lowered permanently: soft and hard limits alike.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// The largest number of threads of all programs of an engine together: more than they use, and
/// less than would harm the machine.
pub const MAX_THREADS: u64 = 4096;

/// Limits the process to `seconds` more of processor time.
pub(crate) fn limit_cpu(seconds: u64) -> io::Result<()> {
    // The kernel counts from the fork, and the warm-up should not count for the program.
    let used = clock_gettime(ClockId::ProcessCPUTime).tv_sec;
    let limit = u64::try_from(used).unwrap_or(0).saturating_add(1).saturating_add(seconds);
    // The soft limit sends SIGXCPU, which distinguishes this end from a kill by the gateway. A
    // program that ignores the signal has one second more.
    lower_to(Resource::Cpu, limit, limit.saturating_add(1))
}

/// Lowers a limit, soft and hard.
pub(crate) fn lower_limit(resource: Resource, limit: u64) -> io::Result<()> {
    lower_to(resource, limit, limit)
}

fn lower_to(resource: Resource, soft: u64, hard: u64) -> io::Result<()> {
    // A limit that is already lower stays: raising it would be rejected without privileges.
    let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit = Rlimit { current: Some(soft.min(most)), maximum: Some(hard.min(most)) };
    setrlimit(resource, limit)?;
    Ok(())
}
