//! The state of a durable run as clients see it, whichever process executes the run.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onecall_core::storage::{DurableState, QuestionFilter, QuestionState, StoreError};
use onecall_core::{ApprovalQuestion, InPlaceReason, RunId, Timestamp};
use tokio::sync::watch;

use super::live::LiveRun;
use super::{DurableRuns, RunAnswer};

/// What a durable run does.
#[derive(Clone, Debug, PartialEq)]
pub enum RunStatus {
    /// No run has this identifier.
    Unknown,
    /// A process executes the run.
    Running,
    /// The run waits for a person.
    Waiting(WaitingRun),
    /// No process executes the run, and it does not wait: it can be continued, unless the reason
    /// says why not.
    Interrupted(Option<InPlaceReason>),
    /// The run has ended with this answer.
    Ended(Arc<RunAnswer>),
}

/// A run that waits for a person.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingRun {
    /// The run.
    pub run: RunId,
    /// The calls that wait, in the order in which the program made them.
    pub items: Vec<ApprovalQuestion>,
    /// Why the run can be continued only by the process that holds its worker, if that is so.
    pub in_place: Option<InPlaceReason>,
}

/// Watches the state of one run. While this process does not execute the run, changes of the store
/// are looked for often.
pub struct RunWatch {
    runs: Arc<DurableRuns>,
    run: RunId,
    live: Option<Arc<LiveRun>>,
    /// Exists while this process does not execute the run.
    looking: Option<StoreLook>,
    changes: watch::Receiver<u64>,
}

/// Makes changes of the store be looked for often, until it is dropped.
struct StoreLook(Arc<DurableRuns>);

impl StoreLook {
    fn begin(runs: &Arc<DurableRuns>) -> Self {
        runs.watching.fetch_add(1, Ordering::Relaxed);
        runs.look_soon.notify_one();
        Self(Arc::clone(runs))
    }
}

impl Drop for StoreLook {
    fn drop(&mut self) {
        self.0.watching.fetch_sub(1, Ordering::Relaxed);
    }
}

impl RunWatch {
    pub(super) fn new(runs: Arc<DurableRuns>, run: RunId) -> Self {
        let changes = runs.changes.subscribe();
        let mut watch = Self { runs, run, live: None, looking: None, changes };
        watch.find_live();
        if watch.live.as_ref().is_some_and(|live| live.is_waiting()) {
            // Another process may have stored the answer a moment ago.
            watch.runs.look_soon.notify_one();
        }
        watch
    }

    /// Finds out whether this process executes the run. A run that it executes changes only here: its
    /// questions are looked for by themselves, and a lost lease is noticed when it is renewed.
    fn find_live(&mut self) {
        self.live = self.runs.live(&self.run);
        if self.live.is_some() {
            self.looking = None;
        } else if self.looking.is_none() {
            self.looking = Some(StoreLook::begin(&self.runs));
        }
    }

    /// The run that is watched.
    #[must_use]
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// The state of the run now.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn status(&mut self) -> Result<RunStatus, StoreError> {
        self.changes.mark_unchanged();
        if let Some(live) = &self.live {
            if let Some(answer) = live.answer() {
                return Ok(RunStatus::Ended(answer));
            }
            if live.is_gone() {
                self.live = None;
            }
        }
        if self.live.is_none() {
            self.find_live();
        }
        if let Some(live) = &self.live {
            return Ok(live.waiting().map_or(RunStatus::Running, RunStatus::Waiting));
        }
        let (run, now) = (self.run.clone(), Timestamp::now());
        self.runs.with_store(move |store| stored_status(store, &run, now)).await
    }

    /// Completes when the state may have changed since [`Self::status`] was last called.
    pub async fn changed(&mut self) {
        if self.changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// The state of a run that this process does not execute.
fn stored_status(
    store: &dyn onecall_core::storage::DurableStore,
    run: &RunId,
    now: Timestamp,
) -> Result<RunStatus, StoreError> {
    let Some(stored) = store.durable_run(run)? else { return Ok(RunStatus::Unknown) };
    let is_owned = stored.is_owned(now);
    Ok(match stored.state {
        DurableState::Ended(answer) => {
            RunStatus::Ended(Arc::new(RunAnswer::from_json(&answer.result)))
        }
        DurableState::Running if is_owned => RunStatus::Running,
        DurableState::Running => RunStatus::Interrupted(stored.in_place),
        DurableState::Waiting => {
            let filter =
                QuestionFilter { run: Some(run.clone()), open: true, ..QuestionFilter::default() };
            let questions = store.questions(&filter)?;
            let open = questions.into_iter().filter(|it| it.state == QuestionState::Open);
            let items: Vec<_> = open.map(|stored| stored.question).collect();
            match items.is_empty() {
                // The answers are there; the run is about to be continued.
                true if is_owned => RunStatus::Running,
                true => RunStatus::Interrupted(stored.in_place),
                false => RunStatus::Waiting(WaitingRun {
                    run: run.clone(),
                    items,
                    in_place: stored.in_place,
                }),
            }
        }
    })
}
