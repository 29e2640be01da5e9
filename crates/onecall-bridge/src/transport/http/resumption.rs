//! Decides whether and when a broken event stream is resumed.

use std::time::Duration;

use reqwest::header::HeaderValue;

use super::events::EventParser;

/// How often in a row a stream is resumed without a new event.
const MAX_RESUMPTIONS: u32 = 5;

/// The delay before a stream is resumed, unless the server requests another; it doubles.
const RESUME_PAUSE: Duration = Duration::from_millis(500);
const MIN_PAUSE: Duration = Duration::from_millis(10);
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Counts how often a stream was resumed since the last new event.
#[derive(Default)]
pub(crate) struct Resumptions {
    attempts: u32,
    last_id: Option<HeaderValue>,
}

impl Resumptions {
    /// Counts another attempt and returns whether it should be made.
    pub fn next(&mut self, events: &EventParser) -> bool {
        if self.last_id.as_ref() != events.last_id() {
            self.last_id = events.last_id().cloned();
            self.attempts = 0;
        }
        self.attempts += 1;
        self.attempts <= MAX_RESUMPTIONS
    }

    /// The delay before the next attempt.
    pub fn pause(&self, events: &EventParser) -> Duration {
        let doubled = RESUME_PAUSE.saturating_mul(1 << self.attempts.saturating_sub(1).min(8));
        events.retry().unwrap_or(doubled.min(MAX_PAUSE)).max(MIN_PAUSE)
    }

    /// The delay before a stream is resumed that no request waits for: at least the usual one, even
    /// if the server requests a shorter one.
    pub fn background_pause(&self, events: &EventParser) -> Duration {
        self.pause(events).max(RESUME_PAUSE)
    }
}
