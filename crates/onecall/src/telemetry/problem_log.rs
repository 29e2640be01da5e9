//! Logs a problem with a collector once.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};

/// Logs problems with one collector.
#[derive(Debug)]
pub(super) struct ProblemLog {
    /// Scheme, host and port of its URL, which contain no secret.
    collector: String,
    is_logged: AtomicBool,
}

impl ProblemLog {
    pub fn new(collector: String) -> Self {
        Self { collector, is_logged: AtomicBool::new(false) }
    }

    /// Logs why spans are lost, unless a problem was logged before.
    pub fn log_once(&self, why: impl Display) {
        if !self.is_logged.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                collector = self.collector,
                "the collector does not accept spans, so they are lost: {why}; onecall logs this once"
            );
        }
    }
}
