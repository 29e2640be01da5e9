//! Replays for the page of a gateway.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use onecall_config::{Config, LoadedConfig};
use onecall_core::storage::RunRecord;
use onecall_core::{BoxFuture, RunLimits};
use onecall_engine::Engines;
use onecall_runtime::NoopObserver;
use onecall_server::{ReplayError, ReplayReport, Replayer};

use super::{PreparedReplay, replay_engines};

/// Replays runs for the page of a gateway.
pub(crate) struct PageReplayer {
    config: Config,
    /// The file of the configuration.
    source: Option<PathBuf>,
    /// The engines of the replays under way. They end with the last of these.
    engines: Mutex<Weak<Engines>>,
}

impl PageReplayer {
    pub(crate) fn new(loaded: &LoadedConfig) -> Self {
        let (config, source) = (loaded.config.clone(), loaded.source.clone());
        Self { config, source, engines: Mutex::default() }
    }

    /// The engines of the replays under way, or new ones.
    fn engines(&self) -> anyhow::Result<Arc<Engines>> {
        let mut current = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engines) = current.upgrade() {
            return Ok(engines);
        }
        let engines = Arc::new(replay_engines(&self.config, self.source.as_deref())?);
        *current = Arc::downgrade(&engines);
        Ok(engines)
    }
}

impl Replayer for PageReplayer {
    fn replay(
        &self,
        mut record: RunRecord,
        limits: RunLimits,
    ) -> BoxFuture<'_, Result<ReplayReport, ReplayError>> {
        Box::pin(async move {
            let not_run = |error: anyhow::Error| ReplayError::NotRun(format!("{error:#}"));
            // A journal can be large.
            let prepared = tokio::task::spawn_blocking(move || PreparedReplay::of(&mut record));
            let prepared = prepared.await.map_err(|error| not_run(error.into()))?;
            let replay =
                prepared.map_err(|error| ReplayError::NotReplayable(format!("{error:#}")))?;
            let engines = self.engines().map_err(not_run)?;
            let outcome = replay.run(engines, limits, &NoopObserver).await;
            let failure = outcome.result.as_ref().err().map(|failure| failure.summary());
            Ok(ReplayReport {
                output: outcome.stdout.text,
                error: failure.map(|error| (error.kind, error.message)),
                calls_left: replay.journal().unrepeated_calls(),
            })
        })
    }
}
