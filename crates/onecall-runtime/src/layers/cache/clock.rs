//! The time of day, which decides how old an answer is.

use std::time::SystemTime;

/// Tells the time. A clock on the wall and no stopwatch: a machine that slept all night must
/// not take yesterday's answers for new ones, and processes that share answers share it.
pub(super) trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> SystemTime;
}

/// The system's.
pub(super) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}
