//! How long a process has worked, and how often it has waited.

use std::fs;
use std::time::Duration;

use super::{Process, fields_after_name};

/// The unit of the times in `/proc/PID/stat`, the same on every architecture that onecall is built
/// for.
const TICK: Duration = Duration::from_millis(10);

/// What a process has used of the processors since its start, with all its threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessorUse {
    /// The time in its own code, in steps of 10 ms.
    pub user: Duration,
    /// The time that the kernel worked for it, in steps of 10 ms.
    pub system: Duration,
    /// How often a thread left the processor to wait for something; those of threads that have ended
    /// are missing.
    pub waits: u64,
}

impl Process {
    /// Reads what it has used of the processors so far; `None` if it does not exist any more.
    #[must_use]
    pub fn processor_use(&self) -> Option<ProcessorUse> {
        let folder = format!("/proc/{}", self.pid);
        let (user, system) = times(&fs::read_to_string(format!("{folder}/stat")).ok()?)?;
        let threads = fs::read_dir(format!("{folder}/task")).ok()?;
        // A thread may end while this reads.
        let waits = threads
            .filter_map(|thread| {
                voluntary_switches(&fs::read_to_string(thread.ok()?.path().join("status")).ok()?)
            })
            .sum();
        Some(ProcessorUse { user, system, waits })
    }
}

/// The user time and the system time in the text of `/proc/PID/stat`.
fn times(stat: &str) -> Option<(Duration, Duration)> {
    // The state is the third field, these are the 14th and the 15th.
    let mut fields = fields_after_name(stat)?.skip(11);
    let mut time = || Some(TICK * fields.next()?.parse().ok()?);
    Some((time()?, time()?))
}

/// How often a thread has waited, in the text of its `status`.
fn voluntary_switches(status: &str) -> Option<u64> {
    let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    count.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_behind_a_name_with_parentheses() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194560 100 0 5 0 123 45 6 7 20 0 3 0 999";
        assert_eq!(times(stat), Some((Duration::from_millis(1230), Duration::from_millis(450))));
        assert_eq!(times("42 (a) S 1 42 42 0 -1 4194560 100 0 5 0 123"), None);
        assert_eq!(times(""), None);
    }

    #[test]
    fn only_voluntary_switches_are_waits() {
        let status =
            "Name:\ta\nThreads:\t1\nvoluntary_ctxt_switches:\t17\nnonvoluntary_ctxt_switches:\t4\n";
        assert_eq!(voluntary_switches(status), Some(17));
        assert_eq!(voluntary_switches("Name:\ta\n"), None);
    }

    #[test]
    fn the_waits_of_a_process_are_read() {
        std::thread::sleep(Duration::from_millis(1));
        let own = Process::read(std::process::id()).unwrap();
        assert!(own.processor_use().unwrap().waits > 0);
    }
}
