//! Looks for changes of the store that other processes make: answers to questions, runs that were
//! cancelled, and runs that can be continued here. It also closes questions that have expired,
//! announces those that were not announced, and lets runs go that wait for long.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use onecall_core::storage::{
    DurableRun, DurableState, DurableStore, QuestionFilter, QuestionState, StoreError,
    StoredQuestion,
};
use onecall_core::{ItemId, QuestionKind, RunId, Timestamp};

use super::announcements::is_due;
use super::live::{LiveRun, StopReason};
use super::{AcceptedConfiguration, DurableRuns, lock};
use crate::Gateway;

/// How often the store is looked at while questions are open or a client waits.
const BUSY_INTERVAL: Duration = Duration::from_millis(200);

// An answer on the command line reaches a run within half a second.
const _: () = assert!(BUSY_INTERVAL.as_millis() < 500);

/// How often the store is looked at while this process executes runs, which others may cancel.
const LIVE_INTERVAL: Duration = Duration::from_millis(500);

/// How often the store is looked at otherwise.
const IDLE_INTERVAL: Duration = Duration::from_secs(2);

/// How long a run is kept at least, even if other programs wait for its place.
const MIN_KEEP: Duration = Duration::from_secs(1);

/// How often a run is continued whose gateway has disappeared: it may be the reason for that.
const MAX_INTERRUPTIONS: u64 = 5;

/// How many continued runs may wait for their turn at once: each has its journal in memory. Further ones are
/// continued later.
const MAX_QUEUED: usize = 100;

/// The problem of a run that this process does not continue because of its configuration. Another gateway may
/// have its configuration, or this one get it.
const OTHER_CONFIGURATION: &str =
    "it belongs to another configuration; a gateway with that configuration continues it";

/// A run that waits in the store without a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Orphan {
    /// The number of its open questions.
    open: usize,
    /// Why it could not be continued when it had been answered. It is tried again: the reason may pass.
    problem: Option<Problem>,
}

/// Why an answered run is not continued.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Problem {
    text: String,
    is_logged: bool,
}

/// What the store says about the runs that wait.
struct WaitingRuns {
    /// The open questions of all runs.
    open: HashSet<ItemId>,
    /// The questions that have expired.
    expired: Vec<(ItemId, QuestionKind)>,
    /// The open questions of this configuration that no gateway has announced in time.
    to_announce: Vec<StoredQuestion>,
    /// The runs without a process that wait.
    orphans: HashMap<RunId, Orphan>,
    /// Those of them that have an answer which was not there before, or that could not be continued
    /// when they were answered.
    answered: Vec<DurableRun>,
    /// The runs without a process that do not wait.
    interrupted: Vec<DurableRun>,
}

impl DurableRuns {
    /// Looks for changes of the store until the gateway ends.
    pub(crate) async fn watch_store(runs: Weak<Self>, gateway: Weak<Gateway>) {
        let (mut seen, mut last_error) = (None, None);
        loop {
            let Some(current) = runs.upgrade() else { return };
            tokio::select! {
                () = tokio::time::sleep(current.look_interval()) => {}
                () = current.look_soon.notified() => {}
            }
            if !current.is_busy() && !current.takes_up.load(Ordering::Relaxed) {
                continue;
            }
            current.let_runs_go();
            if current.takes_up.load(Ordering::Relaxed) {
                current.prune_if_due();
            }
            match current.look(&mut seen, &gateway).await {
                Ok(()) => last_error = None,
                Err(error) => {
                    // An error that repeats is logged once.
                    let text = error.to_string();
                    if !error.was_reported() && last_error.as_ref() != Some(&text) {
                        tracing::warn!("answers to questions cannot be read: {text}");
                    }
                    last_error = Some(text);
                    tokio::time::sleep(IDLE_INTERVAL).await;
                }
            }
        }
    }

    /// How long the store is not looked at, unless something else makes that necessary.
    pub(super) fn look_interval(&self) -> Duration {
        match (self.is_busy(), self.has_live_runs()) {
            (true, _) => BUSY_INTERVAL,
            (false, true) => LIVE_INTERVAL,
            (false, false) => IDLE_INTERVAL,
        }
    }

    /// Whether an answer is awaited.
    fn is_busy(&self) -> bool {
        self.watching.load(Ordering::Relaxed) > 0
            || !lock(&self.orphans).is_empty()
            || !lock(&self.asked).is_empty()
    }

    async fn look(
        self: &Arc<Self>,
        seen: &mut Option<(i64, Instant)>,
        gateway: &Weak<Gateway>,
    ) -> Result<(), StoreError> {
        let number = self.with_store(|store| store.change_number()).await?;
        // Leases and questions run out without a change of the store.
        let is_recent = |at: &Instant| at.elapsed() < IDLE_INTERVAL;
        if seen.as_ref().is_some_and(|(last, at)| *last == number && is_recent(at)) {
            return Ok(());
        }
        *seen = Some((number, Instant::now()));
        self.stop_lost_runs().await?;
        let now = Timestamp::now();
        let known = lock(&self.orphans).clone();
        let configuration = self.configuration();
        let waiting =
            self.with_store(move |store| waiting_runs(store, &known, &configuration, now)).await?;
        for (item, kind) in waiting.expired {
            self.expire(item, kind).await;
        }
        let answered: Vec<ItemId> = lock(&self.asked)
            .keys()
            .filter(|item| !waiting.open.contains(*item))
            .cloned()
            .collect();
        answered.iter().for_each(|item| self.wake(item));
        *lock(&self.orphans) = waiting.orphans;
        let gateway = gateway.upgrade().filter(|gateway| !gateway.is_draining());
        if let (true, Some(gateway)) = (self.takes_up.load(Ordering::Relaxed), gateway) {
            self.announce_due(waiting.to_announce, now).await;
            let mut room = MAX_QUEUED.saturating_sub(self.queued_runs());
            for run in waiting.answered {
                if !self.is_of_configuration(&run) {
                    self.note_problem(&run.id, OTHER_CONFIGURATION);
                } else if let Some(less) = room.checked_sub(1) {
                    room = less;
                    self.take_up_answered(&gateway, &run).await;
                } else {
                    // The next look finds it again.
                    lock(&self.orphans).remove(&run.id);
                }
            }
            let interrupted = waiting.interrupted.iter().filter(|_| self.continues_interrupted);
            for run in interrupted.filter(|run| self.is_of_configuration(run)).take(room) {
                if run.interruptions < MAX_INTERRUPTIONS
                    && let Err(problem) = self.take_up(&gateway, run, "was interrupted").await
                {
                    tracing::warn!("run {} cannot be continued: {problem}", run.id);
                }
            }
        }
        self.notify_change();
        Ok(())
    }

    /// Continues a run that has been answered. If that fails, it is tried again at the next look.
    async fn take_up_answered(&self, gateway: &Arc<Gateway>, run: &DurableRun) {
        match self.take_up(gateway, run, "has been answered").await {
            Ok(()) => _ = lock(&self.orphans).remove(&run.id),
            Err(problem) => self.note_problem(&run.id, &problem),
        }
    }

    /// Notes why a run that has been answered is not continued. A problem that repeats is logged once; that
    /// the run belongs to another configuration only if no other gateway has continued it by the next look.
    fn note_problem(&self, run: &RunId, text: &str) {
        let mut orphans = lock(&self.orphans);
        let Some(orphan) = orphans.get_mut(run) else { return };
        let known = orphan.problem.take().filter(|known| known.text == text);
        let is_to_be_logged = match &known {
            Some(known) => !known.is_logged,
            None => text != OTHER_CONFIGURATION,
        };
        if is_to_be_logged {
            tracing::warn!("run {run} has been answered, but cannot be continued: {text}");
        }
        let is_logged = is_to_be_logged || known.is_some();
        orphan.problem = Some(Problem { text: text.to_owned(), is_logged });
    }

    /// Continues a run without a process; `why` completes a sentence about it. The error says why it
    /// cannot be continued.
    async fn take_up(
        &self,
        gateway: &Arc<Gateway>,
        run: &DurableRun,
        why: &str,
    ) -> Result<(), String> {
        let id = &run.id;
        match gateway.resume(id, AcceptedConfiguration::Same).await {
            Ok(()) => tracing::info!("run {id} {why} and is continued"),
            Err(super::ResumeError::OwnedByOther | super::ResumeError::Ended) => {}
            // It has ended with this answer.
            Err(error @ super::ResumeError::InPlace(_)) => {
                tracing::warn!("run {id} cannot be continued: {error}");
            }
            Err(error) => return Err(error.to_string()),
        }
        Ok(())
    }

    /// How many continued runs wait for their turn, at most.
    fn queued_runs(&self) -> usize {
        let is_queued = |run: &Arc<LiveRun>| run.journal.is_resumed() && !run.is_waiting();
        let continued = lock(&self.live).values().filter(|run| is_queued(run)).count();
        continued.min(self.engines.load().waiting)
    }

    pub(super) fn is_of_configuration(&self, run: &DurableRun) -> bool {
        run.configuration == self.configuration()
    }

    /// Lets runs go that have waited for long, or whose place other programs need.
    fn let_runs_go(&self) {
        let mut waiting: Vec<_> = self.all_live();
        waiting.retain(|run| run.stop_reason().is_none());
        let mut waiting: Vec<_> =
            waiting.into_iter().filter_map(|run| Some((run.can_be_let_go_since()?, run))).collect();
        waiting.sort_by_key(|(since, _)| *since);
        let mut needed = self.engines.load().waiting;
        for (since, run) in waiting {
            let is_needed = needed > 0 && since.elapsed() >= MIN_KEEP;
            if is_needed || since.elapsed() >= self.settings.keep {
                needed = needed.saturating_sub(1);
                tracing::debug!("run {} waits for a person: its worker is let go", run.id);
                run.stop(StopReason::LetGo);
            }
        }
    }

    /// From now on, runs that wait are continued here when they have been answered.
    pub(crate) fn begin_to_take_up(self: &Arc<Self>) {
        self.prune_at_start();
        self.takes_up.store(true, Ordering::Relaxed);
        // Runs that were seen before may have been answered.
        lock(&self.orphans).clear();
        self.look_soon.notify_one();
    }
}

/// Reads which runs wait, and which of their questions are to be announced. `known` are the runs
/// without a process of the last time: one that still has as many open questions has no new answer,
/// but it may have one that it could not be continued with.
fn waiting_runs(
    store: &dyn DurableStore,
    known: &HashMap<RunId, Orphan>,
    configuration: &str,
    now: Timestamp,
) -> Result<WaitingRuns, StoreError> {
    let questions =
        store.questions(&QuestionFilter { run: None, open: true, ..QuestionFilter::default() })?;
    let expired = questions.iter().filter(|it| it.question.expires <= now);
    let expired = expired.map(|it| (it.question.item.clone(), it.question.kind)).collect();
    let mut open_count: HashMap<RunId, usize> = HashMap::new();
    for stored in &questions {
        *open_count.entry(stored.question.run.clone()).or_default() += 1;
    }
    let open = questions.iter().map(|it| it.question.item.clone()).collect();
    let runs = store.durable_runs(false)?;
    let of_configuration: HashSet<&RunId> =
        runs.iter().filter(|run| run.configuration == configuration).map(|run| &run.id).collect();
    let mut to_announce = questions;
    to_announce.retain(|it| {
        let is_due = it.announce.is_some_and(|announce| is_due(announce, now));
        is_due && it.question.expires > now && of_configuration.contains(&it.question.run)
    });
    let (mut orphans, mut answered, mut interrupted) = (HashMap::new(), Vec::new(), Vec::new());
    for run in runs.into_iter().filter(|run| !run.is_owned(now)) {
        if run.state != DurableState::Waiting {
            interrupted.push(run);
            continue;
        }
        let open = open_count.get(&run.id).copied().unwrap_or(0);
        let before = known.get(&run.id);
        let problem = before.and_then(|it| it.problem.clone());
        let is_settled = problem.is_none() && before.is_some_and(|it| it.open == open);
        orphans.insert(run.id.clone(), Orphan { open, problem });
        if is_settled {
            continue;
        }
        let filter =
            QuestionFilter { run: Some(run.id.clone()), open: false, ..QuestionFilter::default() };
        if has_new_answer(&store.questions(&filter)?) {
            answered.push(run);
        }
    }
    Ok(WaitingRuns { open, expired, to_announce, orphans, answered, interrupted })
}

/// Whether a run that waits has an answer that it does not know yet: one that came after the
/// questions that are still open.
fn has_new_answer(questions: &[StoredQuestion]) -> bool {
    let open = questions.iter().filter(|it| it.state == QuestionState::Open);
    let last_asked = open.map(|it| it.question.asked).max();
    questions.iter().any(|it| match &it.state {
        QuestionState::Answered(answer) => last_asked.is_none_or(|asked| answer.at >= asked),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use onecall_core::{AnsweredVerdict, ApprovalQuestion, ApprovalWay, CallableName, Verdict};

    use super::*;

    fn question(call: u64, asked: i64, answered: Option<i64>) -> StoredQuestion {
        let run = RunId::from_existing("r");
        let verdict = |at| AnsweredVerdict {
            verdict: Verdict::Deny { reason: None },
            by: "alice".to_owned(),
            way: ApprovalWay::Cli,
            at: Timestamp(at),
        };
        let question = ApprovalQuestion {
            item: ItemId::of(&run, call),
            run,
            call,
            kind: QuestionKind::Approve,
            name: CallableName::new("mcp__s__t"),
            line: None,
            arguments: "{}".to_owned(),
            rule: String::new(),
            asked: Timestamp(asked),
            expires: Timestamp(1_000),
            ways: ApprovalWay::CONFIGURABLE.to_vec(),
        };
        let state = answered.map_or(QuestionState::Open, |at| QuestionState::Answered(verdict(at)));
        StoredQuestion { question, state, announce: None }
    }

    #[test]
    fn an_answer_is_new_if_it_came_after_the_open_questions() {
        let first_answered = question(1, 10, Some(20));
        let second = question(2, 30, None);
        let cases = [
            (vec![], false),
            (vec![second.clone()], false),
            // The program knew this answer when it asked the second question.
            (vec![first_answered.clone(), second.clone()], false),
            (vec![first_answered.clone()], true),
            // Both were asked together, and one is answered.
            (vec![question(1, 10, Some(20)), question(2, 10, None)], true),
            (vec![first_answered, question(2, 30, Some(40))], true),
        ];
        for (questions, expected) in cases {
            assert_eq!(has_new_answer(&questions), expected, "{questions:?}");
        }
    }
}
