//! A durable run that this process executes. It has a task of its own, apart from the request that
//! started it, so that it can go on after the request has been answered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use onecall_core::{
    ApprovalQuestion, BoxFuture, Caller, InPlaceReason, ItemId, Media, Principal, RunId,
};
use onecall_runtime::{CallEvent, Journal, Observer};
use tokio::sync::watch;

use super::RunAnswer;
use super::followers::Followers;
use super::status::WaitingRun;

/// A run in this process.
pub(crate) struct LiveRun {
    pub(crate) id: RunId,
    /// The user that the run is for.
    pub(crate) principal: Arc<Principal>,
    /// The fencing number of the lease.
    pub(crate) fence: u64,
    pub(crate) journal: Arc<Journal>,
    /// The requests that follow the run.
    pub(super) followers: Arc<Followers>,
    state: Mutex<LiveState>,
    stop: watch::Sender<Option<StopReason>>,
    /// Whether this process does not execute the run any more.
    is_gone: AtomicBool,
    /// Whether the run is never let go.
    keeps_worker: AtomicBool,
    /// Whether the store has been told that the run waits.
    pub(super) stored_waiting: tokio::sync::Mutex<bool>,
}

#[derive(Default)]
struct LiveState {
    /// The calls that wait for a person, by their number.
    items: BTreeMap<u64, ApprovalQuestion>,
    /// The calls among them that have not been announced yet.
    unannounced: BTreeSet<u64>,
    waiting_since: Option<Instant>,
    answer: Option<Arc<RunAnswer>>,
    /// When the lease ends unless it is renewed, if it is known. Another process may have the run then.
    lease_end: Option<Instant>,
}

/// Whether a question is announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Announcement {
    /// The question is new.
    Due,
    /// The question was asked before. If it has not been announced, that is done when the store is looked at.
    Done,
}

/// Why a run is stopped from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The run was cancelled: it ends.
    Cancelled,
    /// The run waits for a person, and its worker is needed for others. It is continued from its
    /// journal later.
    LetGo,
    /// Another process has the run now, or has ended it.
    LeaseLost,
    /// This process ends. Another one can continue the run.
    Shutdown,
}

impl LiveRun {
    pub(super) fn new(
        id: RunId,
        principal: Arc<Principal>,
        fence: u64,
        journal: Arc<Journal>,
        followers: Arc<Followers>,
        stored_waiting: bool,
    ) -> Self {
        Self {
            id,
            principal,
            fence,
            journal,
            followers,
            state: Mutex::default(),
            stop: watch::Sender::new(None),
            is_gone: AtomicBool::new(false),
            keeps_worker: AtomicBool::new(false),
            stored_waiting: tokio::sync::Mutex::new(stored_waiting),
        }
    }

    fn lock(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a call that waits.
    pub(super) fn add_item(&self, question: ApprovalQuestion, announcement: Announcement) {
        let mut state = self.lock();
        state.waiting_since.get_or_insert_with(Instant::now);
        if announcement == Announcement::Due {
            state.unannounced.insert(question.call);
        }
        state.items.insert(question.call, question);
    }

    /// Takes the calls that wait and have not been announced yet.
    pub(super) fn take_unannounced(&self) -> Vec<ApprovalQuestion> {
        let mut state = self.lock();
        let calls = std::mem::take(&mut state.unannounced);
        calls.iter().filter_map(|call| state.items.get(call).cloned()).collect()
    }

    pub(super) fn remove_item(&self, item: &ItemId) {
        let mut state = self.lock();
        state.items.retain(|_, question| question.item != *item);
        if state.items.is_empty() {
            state.waiting_since = None;
        }
    }

    /// The calls that wait for a person, if there are any.
    pub(crate) fn waiting(&self) -> Option<WaitingRun> {
        let state = self.lock();
        if state.items.is_empty() {
            return None;
        }
        let items = state.items.values().cloned().collect();
        Some(WaitingRun { run: self.id.clone(), items, in_place: self.in_place() })
    }

    pub(crate) fn is_waiting(&self) -> bool {
        !self.lock().items.is_empty()
    }

    /// Whether the run waits for a person, and no call is under way whose outcome would not be known.
    pub(super) fn is_settled(&self) -> bool {
        self.is_waiting() && self.journal.calls_in_flight() == 0
    }

    /// Since when the run waits, if it can be let go: its program can be repeated, and no call is
    /// under way whose outcome would not be known.
    pub(super) fn can_be_let_go_since(&self) -> Option<Instant> {
        let can_be_repeated = self.in_place().is_none() && self.journal.calls_in_flight() == 0;
        let is_kept = self.keeps_worker.load(Ordering::Relaxed);
        self.lock().waiting_since.filter(|_| can_be_repeated && !is_kept)
    }

    /// Makes the run keep its worker however long it waits: it is a part of the future that runs it.
    pub(super) fn keep_worker(&self) {
        self.keeps_worker.store(true, Ordering::Relaxed);
    }

    /// Notes that this process does not execute the run any more.
    pub(super) fn set_gone(&self) {
        self.is_gone.store(true, Ordering::Release);
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Acquire)
    }

    /// Why the run can be continued only in this process, if that is so.
    pub(crate) fn in_place(&self) -> Option<InPlaceReason> {
        self.journal.in_place()
    }

    /// Sets the answer of the run, unless its lease is over: then it has the answer that is in the store.
    pub(super) fn set_answer(&self, answer: Arc<RunAnswer>) {
        if !self.is_lease_over() {
            self.lock().answer = Some(answer);
        }
    }

    /// Notes until when the lease lasts.
    pub(super) fn set_lease_end(&self, end: Instant) {
        self.lock().lease_end = Some(end);
    }

    /// Notes until when a lease lasts at least that was never renewed.
    pub(super) fn assume_lease_end(&self, end: Instant) {
        self.lock().lease_end.get_or_insert(end);
    }

    /// Whether the lease could not be renewed before it ended.
    pub(super) fn is_lease_over(&self) -> bool {
        self.lock().lease_end.is_some_and(|end| end <= Instant::now())
    }

    /// The answer of the run, if it has ended.
    pub(crate) fn answer(&self) -> Option<Arc<RunAnswer>> {
        self.lock().answer.clone()
    }

    /// Cancels the run. The result is `false` if it is being stopped for another reason.
    pub(super) fn cancel(&self) -> bool {
        self.stop(StopReason::Cancelled);
        self.stop_reason() == Some(StopReason::Cancelled)
    }

    /// Stops the run. The first reason counts.
    pub(crate) fn stop(&self, reason: StopReason) {
        self.stop.send_if_modified(|stopped| {
            let is_first = stopped.is_none();
            stopped.get_or_insert(reason);
            is_first
        });
    }

    pub(crate) fn stop_reason(&self) -> Option<StopReason> {
        *self.stop.borrow()
    }

    /// Completes when the run is stopped from outside.
    pub(super) async fn stopped(&self) -> StopReason {
        let mut stop = self.stop.subscribe();
        // The channel cannot be closed, because `self` owns the sender.
        let stopped = stop.wait_for(Option::is_some).await.map(|reason| *reason);
        match stopped {
            Ok(Some(reason)) => reason,
            _ => std::future::pending().await,
        }
    }
}

/// Observes a live run: ends it when it is cancelled, and passes everything on to its clients.
pub(super) struct LiveObserver<'a> {
    pub(super) run: Arc<LiveRun>,
    pub(super) client: &'a dyn Observer,
}

impl Observer for LiveObserver<'_> {
    fn queued(&self, ahead: usize) {
        self.client.queued(ahead);
    }

    fn call_event(&self, event: &CallEvent<'_>) {
        self.client.call_event(event);
    }

    fn caller(&self) -> Option<Arc<Caller>> {
        self.client.caller()
    }

    fn client(&self) -> String {
        self.client.client()
    }

    fn stdout(&self, bytes: &[u8]) {
        self.client.stdout(bytes);
    }

    fn stderr(&self, bytes: &[u8]) {
        self.client.stderr(bytes);
    }

    fn displayed(&self, media: &Media) {
        self.client.displayed(media);
    }

    fn room_for_answer(&self) -> BoxFuture<'_, ()> {
        self.client.room_for_answer()
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let cancelled = async {
                let reason = self.run.stopped().await;
                if reason != StopReason::Cancelled && !self.run.keeps_worker.load(Ordering::Relaxed)
                {
                    // The future of the run is dropped instead.
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                () = cancelled => {}
                () = self.client.cancelled() => {}
            }
        })
    }
}
