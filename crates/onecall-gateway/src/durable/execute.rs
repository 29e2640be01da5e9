//! Begins durable runs and executes them, each in a task of its own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use onecall_core::storage::{
    DurableRun, DurableState, DurableStore, FinalAnswer, Lease, StoreError,
};
use onecall_core::{CallerCapabilities, InPlaceReason, Principal, Program, RunId, Timestamp};
use onecall_runtime::{Journal, JournalError, Observer, PlanRequest, RunOptions, seldom};
use serde_json::value::to_raw_value;
use thiserror::Error;

use super::followers::FollowedRun;
use super::lease::random_bytes;
use super::live::{LiveObserver, LiveRun, StopReason};
use super::{DurableRuns, RunAnswer, RunFollower, RunRequest, lock};
use crate::Gateway;

/// The pause before the end of a run is stored once more.
const END_PAUSE: Duration = Duration::from_millis(500);

/// The fencing number of a run's first lease.
const FIRST_FENCE: u64 = 1;

/// Why a durable run was not begun.
#[derive(Debug, Error)]
pub enum BeginError {
    /// The gateway has no store for durable runs.
    #[error("neither approvals nor durable runs are configured")]
    NotConfigured,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers: {0}")]
    NoRandomness(#[from] io::Error),
}

impl DurableRuns {
    /// Opens the journal of a new run, which stores the run.
    pub(super) fn begin(
        &self,
        request: &RunRequest,
        principal: &Arc<Principal>,
        observer: &dyn Observer,
    ) -> Result<Arc<LiveRun>, BeginError> {
        let started = Timestamp::now();
        let lease = Lease {
            owner: self.owner.clone(),
            fence: FIRST_FENCE,
            until: started.after(self.lease),
        };
        let capabilities = observer.caller().map(|caller| caller.capabilities.clone());
        let run = DurableRun {
            id: RunId::generate(started.0),
            kind: request.kind().name().to_owned(),
            principal: Principal::clone(principal),
            client: observer.client(),
            started,
            request: request.to_json(&capabilities.unwrap_or_default()),
            configuration: self.configuration(),
            seed: random_bytes()?,
            state: DurableState::Running,
            in_place: match request {
                RunRequest::Program { program: Program { session: Some(_), .. }, .. } => {
                    Some(InPlaceReason::Session)
                }
                _ => None,
            },
            lease: Some(lease),
            resumed: 0,
            interruptions: 0,
        };
        let id = run.id.clone();
        let journal = Journal::begin(run, FIRST_FENCE, Arc::clone(&self.writer));
        let followers = self.followers_of(&id);
        let principal = Arc::clone(principal);
        Ok(self.add_live(LiveRun::new(id, principal, FIRST_FENCE, journal, followers, false)))
    }

    /// Calls the store on a thread that may wait, once it has the run.
    pub(super) async fn with_stored<T: Send + 'static>(
        &self,
        run: &LiveRun,
        work: impl FnOnce(&dyn DurableStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, JournalError> {
        run.journal.stored().await?;
        self.with_store(work)
            .await
            .map_err(|error| JournalError::Store { reason: error.to_string() })
    }

    pub(super) fn add_live(&self, run: LiveRun) -> Arc<LiveRun> {
        let run = Arc::new(run);
        lock(&self.live).insert(run.id.clone(), Arc::clone(&run));
        run
    }

    /// Stores the answer of a run that has ended. Clients get the answer of a run that only read at once:
    /// if this process died before it is stored, nothing would be lost but the answer that they have.
    pub(super) async fn end(self: &Arc<Self>, live: &LiveRun, answer: RunAnswer) {
        let answer = Arc::new(answer);
        if live.journal.has_only_read() {
            live.set_answer(Arc::clone(&answer));
            self.notify_change();
        }
        let end = Arc::new(FinalAnswer { result: answer.to_json(), at: Timestamp::now() });
        let mut failed_since = None;
        // Whether the store gets the run only together with its end.
        let mut ends_unstored = false;
        loop {
            // While the store hangs, the runs that end do not take all threads that wait for it.
            let turn = match failed_since {
                Some(_) => self.end_retries.acquire().await.ok(),
                None => None,
            };
            let stored = match ends_unstored {
                true => live.journal.stored().await.map(|()| true),
                false => self.store_end(live, Arc::clone(&end)).await,
            };
            match stored {
                // The run was cancelled or taken over meanwhile, or an earlier attempt was successful although
                // its answer was lost: what the store says counts.
                Ok(false) => live.stop(StopReason::LeaseLost),
                Ok(true) => {
                    live.journal.close();
                    live.set_answer(answer);
                }
                Err(error) => {
                    let failed_since = *failed_since.get_or_insert_with(|| {
                        tracing::warn!("the end of run {} could not be stored: {error}", live.id);
                        Instant::now()
                    });
                    ends_unstored = ends_unstored || live.journal.end_unstored(&end);
                    // No other gateway will continue the run then, and answer differently.
                    if ends_unstored || !self.continues_interrupted {
                        live.set_answer(Arc::clone(&answer));
                        self.notify_change();
                    }
                    let is_needed = !(ends_unstored && live.journal.has_only_read());
                    if is_needed && self.keeps_ending(live, failed_since) {
                        drop(turn);
                        tokio::time::sleep(END_PAUSE).await;
                        continue;
                    }
                    // If the store does not have the run, it must not get the run without its end.
                    live.journal.close();
                }
            }
            break;
        }
        self.idle.note_end();
        self.prune_if_due();
    }

    /// Stores the end of a run that the store has; `false` if its lease was lost.
    async fn store_end(&self, live: &LiveRun, end: Arc<FinalAnswer>) -> Result<bool, JournalError> {
        let (run, fence) = (live.id.clone(), live.fence);
        self.with_stored(live, move |store| store.end_durable_run(&run, fence, &end)).await
    }

    /// Whether the end of a run is to be stored once more, which could not be stored since `failed_since`. After
    /// the end of the lease, others decide what happens to the run.
    fn keeps_ending(&self, live: &LiveRun, failed_since: Instant) -> bool {
        if failed_since.elapsed() >= self.lease {
            live.set_lease_end(failed_since + self.lease);
        }
        let is_lost = live.is_lease_over() || live.stop_reason() == Some(StopReason::LeaseLost);
        if is_lost && live.answer().is_none() {
            tracing::warn!(
                "run {}: its end could not be stored before its lease was over",
                live.id
            );
            live.stop(StopReason::LeaseLost);
        }
        !is_lost && !self.is_stopping.load(Ordering::Relaxed)
    }

    /// Leaves a run to other processes, or to this one later.
    async fn leave(&self, live: &LiveRun) {
        let (run, fence) = (live.id.clone(), live.fence);
        let give_up = move |store: &dyn DurableStore| store.give_up_lease(&run, fence);
        if let Err(error) = self.with_stored(live, give_up).await {
            tracing::warn!("the lease of run {} could not be given up: {error}", live.id);
        }
    }

    pub(super) fn forget(&self, live: &LiveRun) {
        live.set_gone();
        let mut runs = lock(&self.live);
        if runs.get(&live.id).is_some_and(|known| known.fence == live.fence) {
            runs.remove(&live.id);
        }
        drop(runs);
        self.notify_change();
        // The run may have been answered or ended meanwhile, unless it has ended here.
        if live.answer().is_none() {
            self.look_soon.notify_one();
        }
    }
}

impl Gateway {
    /// Begins a run that may wait for a person. It is executed by a task of its own, which this
    /// future does not wait for. `observer` follows the run until the result is dropped.
    ///
    /// # Errors
    /// If no run can be durable, or there are no random numbers. Nothing has been executed then.
    pub fn begin_durable(
        self: &Arc<Self>,
        request: RunRequest,
        observer: Arc<dyn Observer>,
    ) -> Result<RunFollower, BeginError> {
        let runs = self.durable_runs().ok_or(BeginError::NotConfigured)?;
        let live = runs.begin(&request, &self.access.principal, observer.as_ref())?;
        let client = observer.client();
        let follower = runs.follow(&live.id, observer);
        self.spawn_run(live, request, client, CallerCapabilities::default());
        Ok(follower)
    }

    /// Executes a run in a task of its own. `client` is the name of the client that began the run,
    /// and `capabilities` are what it can be asked.
    pub(super) fn spawn_run(
        self: &Arc<Self>,
        live: Arc<LiveRun>,
        request: RunRequest,
        client: String,
        capabilities: CallerCapabilities,
    ) {
        let gateway = Arc::clone(self);
        let followers = Arc::clone(&live.followers);
        // Policies may be replaced by ones that have a person asked.
        let can_be_continued = self.approvals().is_some() || self.has_policies();
        let observer = FollowedRun { followers, client, capabilities, can_be_continued };
        tokio::spawn(async move {
            gateway.execute_live(&live, &request, &observer).await;
        });
    }

    /// Executes a run and stores its answer, unless the run is stopped before it has ended.
    async fn execute_live(&self, live: &Arc<LiveRun>, request: &RunRequest, client: &dyn Observer) {
        let Some(runs) = self.durable_runs() else { return };
        let observer = LiveObserver { run: Arc::clone(live), client };
        let answer = tokio::select! {
            biased;
            answer = self.execute_request(request, &live.journal, &observer) => Some(answer),
            () = seldom(must_be_dropped(live, request)) => None,
        };
        // The journal may notice it first. What the store says counts then, not how the program ended.
        let has_lost_lease = live.journal.has_lost_lease();
        match (answer, live.stop_reason()) {
            (_, Some(StopReason::LeaseLost)) => {}
            (_, None) if has_lost_lease => live.stop(StopReason::LeaseLost),
            (Some(answer), _) => runs.end(live, answer).await,
            (None, Some(StopReason::Cancelled)) => runs.end(live, RunAnswer::cancelled()).await,
            (None, _) => runs.leave(live).await,
        }
        runs.forget(live);
        if live.answer().is_some() {
            // The requests that follow the run are answered first.
            tokio::task::yield_now().await;
            live.journal.free_events();
        }
    }

    async fn execute_request(
        &self,
        request: &RunRequest,
        journal: &Arc<Journal>,
        observer: &dyn Observer,
    ) -> RunAnswer {
        let options = RunOptions::journalled(Arc::clone(journal));
        match request {
            RunRequest::Program { program, file } => {
                let outcome = self.run_with(program, &options, observer).await;
                RunAnswer::of_program(&outcome, program, file.as_deref())
            }
            RunRequest::Plan(plan) => {
                let plan = PlanRequest::read(plan);
                RunAnswer::of_plan(&self.run_plan_with(plan, &options, observer).await)
            }
            RunRequest::ExposedTool { name, arguments } => {
                // A JSON object can always be written.
                let arguments = to_raw_value(arguments).unwrap_or_default();
                let call = self.call_exposed_with(name, arguments, &options, observer);
                RunAnswer::of_exposed(&call.await)
            }
        }
    }
}

/// Completes when the future of the run has to be dropped. A program or plan that is cancelled ends
/// by itself.
async fn must_be_dropped(live: &LiveRun, request: &RunRequest) {
    let is_call = matches!(request, RunRequest::ExposedTool { .. });
    if live.stopped().await == StopReason::Cancelled && !is_call {
        std::future::pending::<()>().await;
    }
}
