//! Logs a problem with a collector once.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};

/// Logs problems with one collector.
#[derive(Debug)]
pub(super) struct Complaint {
    /// Scheme, host and port of its URL, which contain no secret.
    collector: String,
    told: AtomicBool,
}

impl Complaint {
    pub fn about(collector: String) -> Self {
        Self { collector, told: AtomicBool::new(false) }
    }

    /// Logs why spans are lost, unless a problem was logged before.
    pub fn tell(&self, why: impl Display) {
        if !self.told.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                collector = self.collector,
                "spans are lost, the collector does not take them: {why}; this is not said again"
            );
        }
    }
}
