//! Releases the file of the store when no run needs it any more. It is not released with every last
//! run, because the next one would have to protect it again, and programs often follow each other.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::{DurableRuns, lock};

/// How long after the last run the file is released.
const IDLE_TIME: Duration = Duration::from_secs(60);

/// Since when the file could be released.
#[derive(Default)]
pub(super) struct IdleStore {
    /// When a run of this process last ended, unless the file has been released since.
    last_end: Mutex<Option<Instant>>,
}

impl IdleStore {
    /// Notes that a run has ended.
    pub(super) fn note_end(&self) {
        *lock(&self.last_end) = Some(Instant::now());
    }

    /// Whether it is time to release the file. It is not, until the next run has ended.
    fn is_due(&self, after: Duration) -> bool {
        lock(&self.last_end).take_if(|end| end.elapsed() >= after).is_some()
    }
}

impl DurableRuns {
    /// Releases the file of the store if no run has ended for a while. This process executes none.
    pub(super) async fn release_idle_store(&self) {
        self.release_store_after(IDLE_TIME).await;
    }

    /// Releases the file of the store, because this process ends.
    pub(super) async fn release_store(&self) {
        self.release_store_after(Duration::ZERO).await;
    }

    async fn release_store_after(&self, after: Duration) {
        if !self.idle.is_due(after) {
            return;
        }
        if let Err(error) = self.with_store(|store| store.release_file()).await {
            tracing::debug!("the store cannot be released: {error}");
        }
    }
}
