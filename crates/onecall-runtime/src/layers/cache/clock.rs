//! The clock of the cache, replaceable in tests.

use std::time::SystemTime;

/// Tells the current time. This is wall-clock time and not a monotonic clock: cached answers must
/// age while the machine sleeps, and processes that share answers have to agree on their age.
pub(super) trait Clock: Send + Sync {
    /// The current time.
    fn now(&self) -> SystemTime;
}

/// The clock of the operating system.
pub(super) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}
