//! Removes runs that ended long ago from the store, as old as records may become. Runs that have not
//! ended stay, however old they are.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use onecall_core::Timestamp;
use onecall_core::storage::StoreError;

use super::{DurableRuns, lock};

/// How often ended runs are removed.
const INTERVAL: Duration = Duration::from_secs(3_600);

/// When ended runs are removed.
pub(super) struct Pruning {
    /// How long an ended run is kept.
    max_age: Duration,
    last: Mutex<Option<Instant>>,
}

impl Pruning {
    pub(super) fn new(max_age: Duration) -> Self {
        Self { max_age, last: Mutex::default() }
    }

    /// Whether it is time to remove runs. The time until the next removal begins with it.
    fn is_due(&self) -> bool {
        let mut last = lock(&self.last);
        let is_due = last.is_none_or(|last| last.elapsed() >= INTERVAL);
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }
}

impl DurableRuns {
    /// Removes runs that ended long ago in the background, if it is time to. Must be called inside a
    /// tokio runtime.
    pub(super) fn prune_if_due(self: &Arc<Self>) {
        if self.pruning.is_due() {
            let runs = Arc::clone(self);
            tokio::spawn(async move {
                if let Err(error) = runs.prune().await {
                    tracing::warn!("old runs cannot be removed from the store: {error}");
                }
            });
        }
    }

    /// Removes runs that ended long ago, and says so if the store cannot be written: calls that
    /// need it are refused then.
    pub(super) fn prune_at_start(self: &Arc<Self>) {
        self.pruning.is_due();
        let runs = Arc::clone(self);
        tokio::spawn(async move {
            match runs.prune().await {
                Ok(()) | Err(StoreError::Replaced { .. }) => {}
                Err(error) => tracing::error!(
                    "calls that need an approval, or a journal before they are sent, are refused: {error}"
                ),
            }
        });
    }

    async fn prune(&self) -> Result<(), StoreError> {
        let before = Timestamp::now().before(self.pruning.max_age);
        let removed = self.with_store(move |store| store.prune_durable_runs(before)).await?;
        if removed > 0 {
            tracing::debug!("removed {removed} runs that ended long ago");
        }
        Ok(())
    }
}
