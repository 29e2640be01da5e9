//! Whether and when an event stream that broke off is worth another try.

use std::time::Duration;

use reqwest::header::HeaderValue;

use super::events::Events;

/// How often in a row a stream is resumed without anything new on it.
const MAX_RESUMPTIONS: u32 = 5;

/// The pause before that, unless the server asks for another; it doubles.
const RESUME_PAUSE: Duration = Duration::from_millis(500);
const MIN_PAUSE: Duration = Duration::from_millis(10);
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// How often a stream has been resumed since something new came.
#[derive(Default)]
pub(crate) struct Resumptions {
    in_vain: u32,
    seen: Option<HeaderValue>,
}

impl Resumptions {
    /// Whether the stream is worth another try.
    pub fn next(&mut self, events: &Events) -> bool {
        if self.seen.as_ref() != events.last_id() {
            self.seen = events.last_id().cloned();
            self.in_vain = 0;
        }
        self.in_vain += 1;
        self.in_vain <= MAX_RESUMPTIONS
    }

    /// How long to wait before that.
    pub fn pause(&self, events: &Events) -> Duration {
        let doubled = RESUME_PAUSE.saturating_mul(1 << self.in_vain.saturating_sub(1).min(8));
        events.retry().unwrap_or(doubled.min(MAX_PAUSE)).max(MIN_PAUSE)
    }

    /// How long to wait before a stream is resumed that no request waits for: at least the usual
    /// pause, even if the server asks for a shorter one.
    pub fn long_pause(&self, events: &Events) -> Duration {
        self.pause(events).max(RESUME_PAUSE)
    }
}
