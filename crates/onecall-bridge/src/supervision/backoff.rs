//! The delay before a failed server is started again. It grows exponentially and is reset after a
//! server has been up for a while.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// The first delay; each further one is twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(500);
const MAX_DELAY: Duration = Duration::from_secs(60);

/// After this uptime, a failure counts as the first one again.
const HEALTHY_UPTIME: Duration = Duration::from_secs(30);

/// The delays between the starts of one server.
pub(crate) struct Backoff {
    next: Duration,
}

impl Backoff {
    pub fn new() -> Self {
        Self { next: FIRST_DELAY }
    }

    /// The delay after a server that was up for this long.
    pub fn delay_after(&mut self, up: Duration) -> Duration {
        if up >= HEALTHY_UPTIME {
            self.next = FIRST_DELAY;
        }
        let pause = self.next;
        self.next = (pause * 2).min(MAX_DELAY);
        jittered(pause)
    }
}

/// Varies a delay by up to a fifth, so that servers that failed together do not all start together.
fn jittered(pause: Duration) -> Duration {
    // Every hasher has random keys, which is random enough here.
    let thousandths = RandomState::new().hash_one(0) % 401 + 800;
    pause * u32::try_from(thousandths).unwrap_or(1000) / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_about(pause: Duration, seconds: f64) -> bool {
        (seconds * 0.8..=seconds * 1.2).contains(&pause.as_secs_f64())
    }

    #[test]
    fn pauses_double_up_to_a_minute() {
        let mut backoff = Backoff::new();
        for seconds in [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0] {
            let pause = backoff.delay_after(Duration::ZERO);
            assert!(is_about(pause, seconds), "{pause:?} for {seconds}");
        }
    }

    #[test]
    fn a_server_that_was_healthy_starts_anew() {
        let mut backoff = Backoff::new();
        for _ in 0..5 {
            backoff.delay_after(HEALTHY_UPTIME - Duration::from_millis(1));
        }
        assert!(is_about(backoff.delay_after(HEALTHY_UPTIME), 0.5));
        assert!(is_about(backoff.delay_after(Duration::ZERO), 1.0));
    }

    #[test]
    fn equal_pauses_differ() {
        let pauses: Vec<Duration> = (0..20).map(|_| jittered(MAX_DELAY)).collect();
        assert!(pauses.iter().any(|pause| *pause != pauses[0]), "{pauses:?}");
    }
}
