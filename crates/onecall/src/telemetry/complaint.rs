//! What is wrong with a collector, told once.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};

/// Complains about one collector.
#[derive(Debug)]
pub(super) struct Complaint {
    /// Scheme, host and port: what of its address is no secret.
    collector: String,
    told: AtomicBool,
}

impl Complaint {
    pub fn about(collector: String) -> Self {
        Self { collector, told: AtomicBool::new(false) }
    }

    /// Says why spans are lost, unless something was said before.
    pub fn tell(&self, why: impl Display) {
        if !self.told.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                collector = self.collector,
                "spans are lost, the collector does not take them: {why}; this is not said again"
            );
        }
    }
}
