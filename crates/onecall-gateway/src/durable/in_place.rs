//! Durable runs of a command: they are a part of the future that runs them, and keep their worker
//! while they wait for a person.

use std::sync::Arc;

use onecall_core::storage::{DurableStore, FinalAnswer};
use onecall_core::{RunId, Timestamp};
use onecall_runtime::{Observer, RunOptions};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::live::{LiveObserver, LiveRun, StopReason};
use super::{
    AcceptedConfiguration, BeginError, DurableRuns, ResumeError, RunAnswer, RunRequest, RunStatus,
    WaitingRun,
};
use crate::Gateway;

impl Gateway {
    /// Stores a run that is executed as a part of the caller's future; `None` if it does not have to
    /// be durable.
    ///
    /// # Errors
    /// If there are no random numbers. The run must not be executed then.
    pub(crate) async fn begin_in_place(
        &self,
        request: &RunRequest,
        observer: &dyn Observer,
    ) -> Result<Option<InPlaceRun<'_>>, BeginError> {
        let runs = match self.durable_runs() {
            Some(runs) if self.has_to_be_durable(request).await => runs,
            _ => return Ok(None),
        };
        let live = runs.begin(request, &self.access.principal, observer)?;
        live.keep_worker();
        Ok(Some(InPlaceRun { runs, live, has_ended: false }))
    }

    /// The runs of this process that wait for a person.
    #[must_use]
    pub fn waiting_runs(&self) -> Vec<WaitingRun> {
        let live = self.durable_runs().map(|runs| runs.all_live()).unwrap_or_default();
        let mut waiting: Vec<_> = live.iter().filter_map(|run| run.waiting()).collect();
        waiting.sort_by(|one, other| one.run.cmp(&other.run));
        waiting
    }

    /// Notifies when runs begin to wait or stop waiting; `None` if no run can wait.
    #[must_use]
    pub fn run_changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.durable_runs()?.changes.subscribe())
    }

    /// Continues a run in this process and waits for its end, however long that takes.
    ///
    /// # Errors
    /// If the run cannot be continued here.
    pub async fn finish_run(
        self: &Arc<Self>,
        run: &RunId,
        accepted: AcceptedConfiguration,
    ) -> Result<Arc<RunAnswer>, ResumeError> {
        let mut watch = self.watch_run(run).ok_or(ResumeError::NotConfigured)?;
        loop {
            match watch.status().await? {
                RunStatus::Ended(answer) => return Ok(answer),
                RunStatus::Unknown => return Err(ResumeError::Unknown { run: run.to_string() }),
                RunStatus::Running | RunStatus::Waiting(_) => watch.changed().await,
                RunStatus::Interrupted(_) => match self.resume(run, accepted).await {
                    Ok(()) | Err(ResumeError::Ended | ResumeError::InPlace(_)) => {}
                    Err(ResumeError::OwnedByOther) => watch.changed().await,
                    Err(error) => return Err(error),
                },
            }
        }
    }
}

/// A durable run that is a part of the future that executes it. It is cancelled if it is dropped
/// before its end.
pub(crate) struct InPlaceRun<'a> {
    runs: &'a Arc<DurableRuns>,
    live: Arc<LiveRun>,
    has_ended: bool,
}

impl InPlaceRun<'_> {
    pub(crate) fn options(&self) -> RunOptions {
        RunOptions::journalled(Arc::clone(&self.live.journal))
    }

    /// Passes events on to `client`, and ends the run when it is cancelled by another process.
    pub(crate) fn observer<'a>(&self, client: &'a dyn Observer) -> impl Observer + 'a {
        LiveObserver { run: Arc::clone(&self.live), client }
    }

    /// Stores the answer of the run.
    pub(crate) async fn end(mut self, answer: RunAnswer) {
        self.has_ended = true;
        if self.live.stop_reason() != Some(StopReason::LeaseLost) {
            self.runs.end(&self.live, answer).await;
            self.live.journal.free_events();
        }
        self.runs.forget(&self.live);
    }
}

impl Drop for InPlaceRun<'_> {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        self.live.stop(StopReason::Cancelled);
        let Ok(runtime) = Handle::try_current() else { return };
        let (runs, live) = (Arc::clone(self.runs), Arc::clone(&self.live));
        runtime.spawn(async move {
            let answer =
                FinalAnswer { result: RunAnswer::cancelled().to_json(), at: Timestamp::now() };
            let run = live.id.clone();
            let cancel = move |store: &dyn DurableStore| store.cancel_durable_run(&run, &answer);
            let ended = runs.with_stored(&live, cancel);
            if let Err(error) = ended.await {
                tracing::warn!("run {} is not cancelled: {error}", live.id);
            }
            runs.forget(&live);
        });
    }
}
