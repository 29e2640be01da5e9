//! Continues durable runs from their journals, cancels them, and answers questions about them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onecall_core::storage::{AnswerReceipt, DurableState, FinalAnswer, StoreError, Users};
use onecall_core::{AnsweredVerdict, InPlaceReason, ItemId, Principal, RunId, Timestamp};
use onecall_runtime::{Journal, Observer};
use thiserror::Error;

use super::live::{LiveRun, StopReason};
use super::request::StoredRun;
use super::{
    DurableRuns, QuestionId, RunAnswer, RunFollower, RunWatch, StateOwner, StateRefusal, seal,
};
use crate::Gateway;

/// With which configuration a run may have begun that is continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptedConfiguration {
    /// Only with the configuration of this gateway: other servers may have the same names.
    Same,
    /// With any. The calls of the run go to the servers of this gateway, under its rules.
    Any,
}

/// Why a run is not continued.
#[derive(Debug, Error)]
pub enum ResumeError {
    /// No run has this identifier.
    #[error("there is no run '{run}' that could be continued")]
    Unknown {
        /// The identifier.
        run: String,
    },
    /// The run has ended.
    #[error("the run has ended")]
    Ended,
    /// The run cannot be repeated, and the process that held its worker has ended.
    #[error(
        "the run cannot be continued: the onecall that executed it has ended, and {}",
        .0.explanation()
    )]
    InPlace(InPlaceReason),
    /// A process executes the run.
    #[error("another onecall executes the run")]
    OwnedByOther,
    /// The run began with another configuration.
    #[error(
        "it began with another configuration, which has other servers, tools or rules. `onecall resume \
         {run}` continues it: with `--config` and the file that it began with, or with \
         `--any-configuration` and the servers and rules of this one"
    )]
    OtherConfiguration {
        /// The identifier.
        run: String,
    },
    /// What the store says about the run cannot be understood.
    #[error("the stored run cannot be read; it may come from another version of onecall")]
    Unreadable,
    /// Neither approvals nor durable runs are configured.
    #[error("this configuration has neither approvals nor durable runs")]
    NotConfigured,
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Gateway {
    /// Continues a run that no process executes, in a task of its own.
    ///
    /// # Errors
    /// If the run cannot be continued here.
    pub async fn resume(
        self: &Arc<Self>,
        run: &RunId,
        accepted: AcceptedConfiguration,
    ) -> Result<(), ResumeError> {
        let runs = self.durable_runs().ok_or(ResumeError::NotConfigured)?;
        let users = self.shared.users.clone();
        let (live, stored, client) = runs.take_over(run, accepted, users).await?;
        let view = self.for_principal(&live.principal).await;
        view.spawn_run(live, stored.request, client, stored.capabilities);
        runs.notify_change();
        Ok(())
    }

    /// From now on, runs that wait for a person are continued here when they have been answered, and
    /// their process has ended or let them go.
    pub fn take_up_waiting_runs(&self) {
        self.durable_runs().inspect(|runs| runs.begin_to_take_up());
    }

    /// Completes when each durable run of this process has ended or only waits for a person.
    pub async fn durable_runs_settled(&self) {
        if let Some(runs) = self.durable_runs() {
            runs.all_settled().await;
        }
    }

    /// Stops every durable run of this process. Another process can continue them.
    pub fn stop_durable_runs(&self) {
        self.durable_runs().inspect(|runs| runs.stop_all());
    }

    /// Makes `observer` follow a durable run until the result is dropped, whichever process executes
    /// the run; it gets events only from this one. `None` if this configuration has no durable runs.
    #[must_use]
    pub fn follow_run(&self, run: &RunId, observer: Arc<dyn Observer>) -> Option<RunFollower> {
        Some(self.durable_runs()?.follow(run, observer))
    }

    /// Watches the state of a durable run; `None` if this configuration has no durable runs.
    #[must_use]
    pub fn watch_run(&self, run: &RunId) -> Option<RunWatch> {
        Some(RunWatch::new(Arc::clone(self.durable_runs()?), run.clone()))
    }

    /// Whether a durable run belongs to the user of this view. The run of another user is treated like
    /// one that does not exist.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn owns_run(&self, run: &RunId) -> Result<bool, StoreError> {
        let Some(runs) = self.durable_runs() else { return Ok(false) };
        let user = &self.access.principal.user;
        if let Some(live) = runs.live(run) {
            return Ok(live.principal.user == *user);
        }
        let id = run.clone();
        let stored = runs.with_store(move |store| store.durable_run(&id)).await?;
        Ok(stored.is_some_and(|stored| stored.principal.user == *user))
    }

    /// Cancels a durable run, whichever process executes it. The result is `false` if it has ended
    /// or is unknown.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub async fn cancel_run(&self, run: &RunId) -> Result<bool, StoreError> {
        match self.durable_runs() {
            Some(runs) => runs.cancel(run).await,
            None => Ok(false),
        }
    }

    /// Cancels every run of this process that does not wait for a person: all clients have left.
    pub fn all_clients_have_left(&self) {
        let Some(runs) = self.durable_runs() else { return };
        for live in runs.all_live().iter().filter(|live| !live.is_waiting()) {
            live.stop(StopReason::Cancelled);
        }
    }

    /// Answers a question. The first answer counts.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub async fn answer_question(
        &self,
        item: ItemId,
        answer: AnsweredVerdict,
    ) -> Result<AnswerReceipt, StoreError> {
        match self.durable_runs() {
            Some(runs) => runs.answer(item, answer).await,
            None => Ok(AnswerReceipt::Unknown),
        }
    }

    /// Seals a question as the request state for its client.
    ///
    /// # Errors
    /// If the key cannot be read from the store.
    pub async fn seal_question(
        &self,
        question: &QuestionId,
        owner: &StateOwner,
    ) -> Result<String, StoreError> {
        let key = self.sealing_key().await?;
        Ok(seal::seal(&key, question, owner))
    }

    /// Opens a request state that a client has sent back.
    ///
    /// # Errors
    /// If the key cannot be read from the store. The inner error says why the state is refused.
    pub async fn open_question(
        &self,
        sealed: &str,
        owner: &StateOwner,
    ) -> Result<Result<QuestionId, StateRefusal>, StoreError> {
        let key = self.sealing_key().await?;
        Ok(seal::open(&key, sealed, owner, Timestamp::now()))
    }

    async fn sealing_key(&self) -> Result<[u8; 32], StoreError> {
        match self.durable_runs() {
            Some(runs) => runs.with_store(|store| store.sealing_key()).await,
            None => Err(StoreError::Disabled { reason: "no approvals are configured".to_owned() }),
        }
    }
}

impl DurableRuns {
    /// Cancels a run, whichever process executes it. The result is `false` if it has ended or is unknown.
    pub(super) async fn cancel(&self, run: &RunId) -> Result<bool, StoreError> {
        // The run ends by itself, with an answer that says what it has done, unless this process is about to
        // leave it to others.
        if self.live(run).is_some_and(|live| live.cancel()) {
            return Ok(true);
        }
        let answer = FinalAnswer { result: RunAnswer::cancelled().to_json(), at: Timestamp::now() };
        let id = run.clone();
        let cancelled = self.with_store(move |store| store.cancel_durable_run(&id, &answer)).await;
        self.notify_change();
        cancelled
    }

    /// Takes the lease of a run and opens its journal. The run goes on for its user, with the groups that
    /// `users` knows of.
    async fn take_over(
        &self,
        run: &RunId,
        accepted: AcceptedConfiguration,
        users: Option<Arc<dyn Users>>,
    ) -> Result<(Arc<LiveRun>, StoredRun, String), ResumeError> {
        if self.is_stopping.load(Ordering::Relaxed) {
            return Err(ResumeError::OwnedByOther);
        }
        let id = run.clone();
        let stored = self.with_store(move |store| store.durable_run(&id)).await?;
        let unknown = || ResumeError::Unknown { run: run.to_string() };
        let stored = stored.ok_or_else(unknown)?;
        if matches!(stored.state, DurableState::Ended(_)) {
            return Err(ResumeError::Ended);
        }
        let now = Timestamp::now();
        if stored.is_owned(now) {
            return Err(ResumeError::OwnedByOther);
        }
        if accepted == AcceptedConfiguration::Same && !self.is_of_configuration(&stored) {
            return Err(ResumeError::OtherConfiguration { run: run.to_string() });
        }
        let request = StoredRun::from_json(&stored.request).ok_or(ResumeError::Unreadable)?;
        let principal = current_groups(users, &stored.principal).await?;
        let (id, owner, length) = (run.clone(), self.owner.clone(), self.lease);
        let lease = self
            .with_store(move |store| store.take_lease(&id, &owner, now, length))
            .await?
            .ok_or(ResumeError::OwnedByOther)?;
        if let Some(reason) = stored.in_place {
            self.end_in_place(run, lease.fence, reason).await?;
            return Err(ResumeError::InPlace(reason));
        }
        let id = run.clone();
        let journal = self.with_store(move |store| store.journal(&id)).await?;
        let journal = Journal::resume(&stored, lease.fence, journal, Arc::clone(&self.writer));
        let waits = stored.state == DurableState::Waiting;
        let followers = self.followers_of(run);
        let live = LiveRun::new(run.clone(), principal, lease.fence, journal, followers, waits);
        let live = self.add_live(live);
        Ok((live, request, stored.client))
    }

    /// Ends a run that cannot be repeated and whose worker is gone.
    async fn end_in_place(
        &self,
        run: &RunId,
        fence: u64,
        reason: InPlaceReason,
    ) -> Result<(), ResumeError> {
        let result = RunAnswer::failed(&ResumeError::InPlace(reason).to_string()).to_json();
        let answer = FinalAnswer { result, at: Timestamp::now() };
        let id = run.clone();
        self.with_store(move |store| store.end_durable_run(&id, fence, &answer)).await?;
        self.idle.note_end();
        self.notify_change();
        Ok(())
    }
}

/// A user with the groups that the user has now: those that an administrator gave, and those of the last
/// login through the identity provider.
async fn current_groups(
    users: Option<Arc<dyn Users>>,
    user: &Principal,
) -> Result<Arc<Principal>, StoreError> {
    let name = user.user.clone();
    let find = move || users.map_or(Ok(None), |users| users.user(&name));
    let known = tokio::task::spawn_blocking(find).await.unwrap_or(Ok(None))?;
    let groups = known.map(|known| &known.groups | &known.provider_groups);
    let groups = groups.unwrap_or_else(|| user.groups.clone());
    Ok(Arc::new(Principal { user: user.user.clone(), groups }))
}
