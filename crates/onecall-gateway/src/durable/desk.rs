//! The approval desk: puts the questions of runs into the store, and waits for their answers. An
//! answer can come from this process or from any other that uses the store; the first one counts.

use std::sync::Arc;
use std::time::Duration;

use onecall_core::storage::{
    AnswerReceipt, DurableRun, DurableState, DurableStore, QuestionState, StoreError,
};
use onecall_core::{
    AnsweredVerdict, ApprovalQuestion, ApprovalScope, ApprovalWay, BoxFuture, ItemId, QuestionKind,
    ResolvedCall, RunId, Timestamp, Verdict,
};
use onecall_runtime::{ApprovalDesk, DeskError};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::grants::covers;
use super::live::{Announcement, LiveRun};
use super::{DurableRuns, lock};

/// Who answers for a question that has expired.
const NOBODY: &str = "onecall";

/// The reason of a denial if a question expires.
const EXPIRED: &str = "nobody answered in time";

impl DurableRuns {
    /// Asks a person about a call and waits for the answer.
    async fn ask_person(
        self: &Arc<Self>,
        question: ApprovalQuestion,
    ) -> Result<AnsweredVerdict, DeskError> {
        let live = self.live(&question.run).ok_or_else(cannot_wait)?;
        let item = question.item.clone();
        let answered = Arc::new(Notify::new());
        // Registered before the question is visible, so that no answer is missed.
        let _open = OpenQuestion::register(self, &question, &answered);
        // Held until the question is a part of the run, so that the run is not stored as running.
        let mut stored_waiting = live.stored_waiting.lock().await;
        let added = {
            let (question, announce) = (question.clone(), self.announcement_of(question.asked));
            self.with_stored(&live, move |store| store.add_question(&question, announce))
                .await
                .map_err(|error| DeskError::Unavailable { reason: error.to_string() })?
        };
        let stored = &added.question;
        if (&stored.name, &stored.arguments) != (&question.name, &question.arguments) {
            return Err(DeskError::OtherCall { item });
        }
        match added.state {
            QuestionState::Open => {}
            QuestionState::Answered(verdict) => return Ok(verdict),
            QuestionState::Withdrawn => return Err(DeskError::Withdrawn),
        }
        // A continued run finds the question that it asked before.
        let announcement = match added.question.asked == question.asked {
            true => Announcement::Due,
            false => Announcement::Done,
        };
        live.add_item(added.question, announcement);
        *stored_waiting = true;
        drop(stored_waiting);
        self.announce_soon(&live);
        self.notify_change();
        self.look_soon.notify_one();
        let verdict = self.wait_for_answer(&item, &answered).await;
        if matches!(verdict, Err(DeskError::Withdrawn)) {
            self.stop_if_ended(&live).await;
        }
        live.remove_item(&item);
        self.store_waiting(&live).await;
        self.notify_change();
        verdict
    }

    async fn wait_for_answer(
        &self,
        item: &ItemId,
        answered: &Notify,
    ) -> Result<AnsweredVerdict, DeskError> {
        loop {
            let asked = item.clone();
            let stored = self.with_store(move |store| store.question(&asked)).await;
            let stored = stored.map_err(unavailable)?;
            match stored.map(|stored| stored.state) {
                Some(QuestionState::Open) => {}
                Some(QuestionState::Answered(verdict)) => {
                    log_answer(item, &verdict);
                    return Ok(verdict);
                }
                Some(QuestionState::Withdrawn) | None => return Err(DeskError::Withdrawn),
            }
            answered.notified().await;
        }
    }

    /// Stops a run that another process has ended. Nothing more is executed then: the future of the
    /// run is dropped while it waits here.
    async fn stop_if_ended(&self, live: &LiveRun) {
        let run = live.id.clone();
        let stored = self.with_store(move |store| store.durable_run(&run)).await;
        let is_ended = |run: &DurableRun| matches!(run.state, DurableState::Ended(_));
        if stored.is_ok_and(|run| run.as_ref().is_some_and(is_ended)) {
            live.stop(super::StopReason::LeaseLost);
            std::future::pending::<()>().await;
        }
    }

    /// Stores whether the run waits, if that has changed.
    async fn store_waiting(self: &Arc<Self>, live: &LiveRun) {
        let mut stored = live.stored_waiting.lock().await;
        let waits = live.is_waiting();
        if *stored == waits {
            return;
        }
        let (run, fence) = (live.id.clone(), live.fence);
        match self.with_store(move |store| store.set_waiting(&run, fence, waits)).await {
            Ok(true) => *stored = waits,
            Ok(false) => live.stop(super::StopReason::LeaseLost),
            Err(error) => tracing::warn!("the state of run {} is not stored: {error}", live.id),
        }
    }

    /// Answers a question. The first answer counts.
    pub(crate) async fn answer(
        &self,
        item: ItemId,
        answer: AnsweredVerdict,
    ) -> Result<AnswerReceipt, StoreError> {
        let (asked, by, way) = (item.clone(), answer.by.clone(), answer.way);
        let receipt = self.with_store(move |store| store.answer_question(&item, &answer)).await?;
        if receipt == AnswerReceipt::WayNotAllowed {
            tracing::warn!(
                item = asked.as_str(),
                by,
                way = way.name(),
                "an answer does not count: 'ways' in approvals does not have its way"
            );
        }
        self.wake(&asked);
        self.look_soon.notify_one();
        self.notify_change();
        Ok(receipt)
    }

    /// Closes a question that nobody has answered in time: a call is denied, and a run with a call of
    /// which nobody knows whether it happened is given up.
    pub(super) async fn expire(&self, item: ItemId, kind: QuestionKind) {
        let verdict = AnsweredVerdict {
            verdict: match kind {
                QuestionKind::Approve => Verdict::Deny { reason: Some(EXPIRED.to_owned()) },
                QuestionKind::Unknown => Verdict::GiveUp,
            },
            by: NOBODY.to_owned(),
            way: ApprovalWay::Rule,
            at: Timestamp::now(),
        };
        if let Err(error) = self.answer(item, verdict).await {
            tracing::warn!("a question that has expired could not be closed: {error}");
        }
    }

    /// Makes the call that waits for this question look for its answer.
    pub(super) fn wake(&self, item: &ItemId) {
        if let Some(answered) = lock(&self.asked).get(item) {
            answered.notify_one();
        }
    }
}

fn unavailable(error: StoreError) -> DeskError {
    DeskError::Unavailable { reason: error.to_string() }
}

/// The error for a run that was begun without the possibility to wait.
fn cannot_wait() -> DeskError {
    let reason = "the call needs an approval, but its tool needed none when the program began; run \
                  the program again";
    DeskError::Unavailable { reason: reason.to_owned() }
}

/// A question that a call in this process waits for, until it is dropped.
struct OpenQuestion {
    runs: Arc<DurableRuns>,
    question: (ItemId, RunId),
}

impl OpenQuestion {
    fn register(
        runs: &Arc<DurableRuns>,
        question: &ApprovalQuestion,
        answered: &Arc<Notify>,
    ) -> Self {
        lock(&runs.asked).insert(question.item.clone(), Arc::clone(answered));
        Self { runs: Arc::clone(runs), question: (question.item.clone(), question.run.clone()) }
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        let (item, run) = &self.question;
        lock(&self.runs.asked).remove(item);
        let Some(live) = self.runs.live(run) else { return };
        live.remove_item(item);
        self.runs.notify_change();
        // The call was cancelled by its program: the run may not wait any more.
        if live.stop_reason().is_none()
            && let Ok(runtime) = Handle::try_current()
        {
            let runs = Arc::clone(&self.runs);
            runtime.spawn(async move { runs.store_waiting(&live).await });
        }
    }
}

/// The desk of the runs of this process.
pub(crate) struct Desk(pub(crate) Arc<DurableRuns>);

impl ApprovalDesk for Desk {
    fn ask(&self, question: ApprovalQuestion) -> BoxFuture<'_, Result<AnsweredVerdict, DeskError>> {
        Box::pin(self.0.ask_person(question))
    }

    fn covered<'a>(&'a self, call: &'a ResolvedCall) -> BoxFuture<'a, Option<AnsweredVerdict>> {
        Box::pin(async move {
            let (name, run, now) = (call.name.clone(), Arc::clone(&call.run), Timestamp::now());
            let item = ItemId::of(&run.id, call.id);
            let read = move |store: &dyn DurableStore| {
                let grants = store.grants(&name, &run.id, &run.principal.user, now)?;
                let has_own = !grants.is_empty() && store.question(&item)?.is_some();
                Ok(if has_own { Vec::new() } else { grants })
            };
            let grants = self.0.with_store(read).await;
            let grants = grants
                .inspect_err(|error| tracing::warn!("earlier approvals cannot be read: {error}"))
                .ok()?;
            let grant = grants.into_iter().find(|grant| covers(grant, call.arguments.get()))?;
            let scope = ApprovalScope::Once;
            let verdict = Verdict::Approve { scope, arguments: None };
            Some(AnsweredVerdict { verdict, by: grant.by, way: ApprovalWay::Rule, at: now })
        })
    }

    fn verdict<'a>(
        &'a self,
        item: &'a ItemId,
    ) -> BoxFuture<'a, Result<Option<AnsweredVerdict>, DeskError>> {
        let item = item.clone();
        Box::pin(async move {
            let stored = self.0.with_store(move |store| store.question(&item)).await;
            Ok(match stored.map_err(unavailable)?.map(|stored| stored.state) {
                Some(QuestionState::Answered(verdict)) => Some(verdict),
                Some(QuestionState::Open | QuestionState::Withdrawn) | None => None,
            })
        })
    }

    fn lifetime(&self) -> Duration {
        self.0.settings.expire
    }

    fn ways(&self) -> Vec<ApprovalWay> {
        self.0.settings.ways.clone()
    }

    fn withdraw(&self, run: &RunId, item: &ItemId) {
        let (runs, item) = (Arc::clone(&self.0), item.clone());
        // A run that is stopped from outside asks again when it is continued.
        if runs.live(run).is_none_or(|live| live.stop_reason().is_some()) {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        runtime.spawn(async move {
            let withdrawn = runs.with_store(move |store| store.withdraw_question(&item)).await;
            if let Err(error) = withdrawn {
                tracing::warn!("a question could not be withdrawn: {error}");
            }
        });
    }
}

/// Logs who answered a question, when and how.
fn log_answer(item: &ItemId, answer: &AnsweredVerdict) {
    let decision = match &answer.verdict {
        Verdict::Approve { .. } => "approved",
        Verdict::Deny { .. } => "denied",
        Verdict::Happened { .. } => "said to have happened",
        Verdict::NotHappened => "said not to have happened",
        Verdict::GiveUp => "given up",
    };
    tracing::info!(
        item = item.as_str(),
        by = answer.by,
        way = answer.way.name(),
        at = %answer.at,
        "the call was {decision}"
    );
}
