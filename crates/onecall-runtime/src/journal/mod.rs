//! The journal of a run, which makes it possible to continue the run in another process.
//!
//! [`JournalWriter`] is the thread that writes the journals of all runs. [`Journal`] belongs to one
//! run: it appends the run's events, answers the calls of a continued run, and notices if the program
//! does something else than before.

mod abandonment;
mod divergence;
mod engine;
mod error;
mod open_call;
mod questions;
mod recorded;
mod writer;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onecall_catalog::definition_digest;
use onecall_core::storage::{DurableRun, StoredJournal};
use onecall_core::{
    CallableName, Digest, Failure, InPlaceReason, JournalCall, JournalEvent, ResolvedCall,
    RunEngine, RunId, Timestamp, ToolError, ToolSpec, ToolValue,
};
use onecall_engine::{Journalled, ObservationSink};
use tokio::sync::watch;

pub(crate) use abandonment::abandon_if_dropped;
pub use divergence::{Difference, Divergence};
pub use error::JournalError;
pub(crate) use open_call::OpenJournalCall;
use questions::is_question;
pub(crate) use recorded::RecordedCall;
use recorded::{RecordedEvents, event_bytes};
pub use writer::JournalWriter;
use writer::RunLink;

/// The journal of one run.
pub struct Journal {
    link: Arc<RunLink>,
    writer: Arc<JournalWriter>,
    started: Timestamp,
    seed: [u8; 32],
    /// What the journal had when this process took the run over; empty for a new run.
    recorded: RecordedEvents,
    state: Mutex<JournalState>,
    /// Whether the program has repeated everything that the journal has.
    live: watch::Sender<bool>,
    /// Whether the run is given up by this process, to be continued later.
    is_abandoned: AtomicBool,
    /// How many calls that may have effects are under way.
    in_flight: AtomicUsize,
}

/// The part of a journal that changes.
struct JournalState {
    /// The number of the next event.
    next: u64,
    bytes: u64,
    /// The calls that the program has made in this process.
    made: HashSet<u64>,
    /// The recorded calls that the program has not made again.
    unrepeated: BTreeSet<u64>,
    /// Whether the worker has repeated its observations, or there are none.
    observations_repeated: bool,
    divergence: Option<Divergence>,
    /// The engine that the program was given to last.
    engine: Option<RunEngine>,
    in_place: Option<InPlaceReason>,
    digests: HashMap<CallableName, (Arc<ToolSpec>, Digest)>,
}

impl Journal {
    /// The journal of a new run. The run has been added to the store, with a lease of this fencing
    /// number.
    #[must_use]
    pub fn begin(run: &DurableRun, fence: u64, writer: Arc<JournalWriter>) -> Arc<Self> {
        Self::resume(run, fence, StoredJournal::default(), writer)
    }

    /// The journal of a run that an earlier process began, as the store has it. A run whose journal is
    /// damaged fails before it executes anything, because calls may have been sent of which nothing is
    /// known.
    #[must_use]
    pub fn resume(
        run: &DurableRun,
        fence: u64,
        stored: StoredJournal,
        writer: Arc<JournalWriter>,
    ) -> Arc<Self> {
        let unreadable = stored.unreadable;
        let recorded = RecordedEvents::of(stored.events);
        let state = JournalState {
            next: recorded.count,
            bytes: recorded.bytes,
            made: HashSet::new(),
            unrepeated: recorded.calls.keys().copied().collect(),
            observations_repeated: recorded.observations.is_empty(),
            divergence: None,
            engine: None,
            in_place: run.in_place,
            digests: HashMap::new(),
        };
        let journal = Self {
            link: Arc::new(RunLink::new(run.id.clone(), fence, recorded.count)),
            writer,
            started: run.started,
            seed: run.seed,
            live: watch::Sender::new(state.is_live()),
            recorded,
            state: Mutex::new(state),
            is_abandoned: AtomicBool::new(false),
            in_flight: AtomicUsize::new(0),
        };
        if unreadable > 0 {
            journal.stop(damaged(journal.recorded.count, unreadable));
        }
        Arc::new(journal)
    }

    /// The run that the journal belongs to.
    #[must_use]
    pub fn run(&self) -> &RunId {
        &self.link.run
    }

    /// The fencing number of the lease under which events are written.
    #[must_use]
    pub fn fence(&self) -> u64 {
        self.link.fence
    }

    /// When the run began, in this process or in an earlier one.
    #[must_use]
    pub fn started(&self) -> Timestamp {
        self.started
    }

    /// Whether an earlier process began the run.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.recorded.count > 0
    }

    /// Whether the program has repeated everything that the journal has; always true for a new run.
    #[must_use]
    pub fn is_live(&self) -> bool {
        *self.live.borrow()
    }

    /// Why only this process can continue the run, if that is so.
    #[must_use]
    pub fn in_place(&self) -> Option<InPlaceReason> {
        self.lock().in_place
    }

    /// How the program differs from the journal, if it does.
    #[must_use]
    pub fn divergence(&self) -> Option<Divergence> {
        self.lock().divergence.clone()
    }

    /// The approximate size of all events in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    /// How many calls that may have effects are under way. If the run is abandoned while there are
    /// some, a person has to say whether they happened.
    #[must_use]
    pub fn calls_in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Acquire)
    }

    /// Waits until all events are on disk.
    ///
    /// # Errors
    /// If they cannot be written, or this process has lost the run's lease.
    pub async fn sync(&self) -> Result<(), JournalError> {
        let appended = self.lock().next;
        self.writer.sync(&self.link, appended).await
    }

    /// Waits until there is room in memory for more events.
    pub(crate) async fn room(&self) {
        self.writer.room().await;
    }

    /// What engines need to make the run repeatable.
    pub(crate) fn control(&self) -> Journalled<'_> {
        Journalled { seed: self.seed, observations: &self.recorded.observations, sink: self }
    }

    /// Notes a call or question of the program, as soon as it is made: the order of events is that of
    /// the program. A call that is not the one in the journal stops the run.
    pub(crate) fn called(&self, call: JournalCall) {
        let mut state = self.lock();
        if !state.made.insert(call.id) {
            drop(state);
            let reason = "the program's process was ended because it used a call id twice";
            self.stop(Failure::WorkerDied { reason: reason.to_owned() });
            return;
        }
        let Some(recorded) = self.recorded.calls.get(&call.id) else {
            // Workers number their calls in the order in which they make them. Without a worker, as in
            // a plan without transforms, calls that depend on different answers come in any order.
            let has_worker = !self.recorded.observations.is_empty();
            if has_worker && call.id < self.recorded.last_call {
                let difference = Difference::NewCall { name: call.name.clone() };
                self.diverge(&mut state, Divergence::at(call.site.as_ref(), difference));
            } else {
                self.append(&mut state, JournalEvent::Called(call));
            }
            return;
        };
        match difference(&recorded.call, &call) {
            Some(difference) => {
                self.diverge(&mut state, Divergence::at(call.site.as_ref(), difference));
            }
            None => {
                state.unrepeated.remove(&call.id);
                self.update_live(&state);
            }
        }
    }

    /// The digest of a tool's definition.
    pub(crate) fn definition(&self, spec: &Arc<ToolSpec>) -> Digest {
        let mut state = self.lock();
        match state.digests.get(&spec.callable) {
            Some((known, digest)) if Arc::ptr_eq(known, spec) => *digest,
            _ => {
                let digest = definition_digest(spec);
                state.digests.insert(spec.callable.clone(), (Arc::clone(spec), digest));
                digest
            }
        }
    }

    /// Compares the tool of a call with the one that the journal has. If its definition has changed,
    /// the run is stopped.
    pub(crate) fn check_definition(&self, call: &ResolvedCall) -> bool {
        let recorded = self.recorded.calls.get(&call.id).and_then(|it| it.call.definition);
        let (Some(before), Ok(spec)) = (recorded, &call.tool) else { return true };
        if self.definition(spec) == before {
            return true;
        }
        let difference = Difference::Definition { name: call.name.clone() };
        self.diverge(&mut self.lock(), Divergence::at(call.site.as_ref(), difference));
        false
    }

    /// What an earlier process recorded about a call.
    pub(crate) fn recorded(&self, call: u64) -> Option<&RecordedCall> {
        self.recorded.calls.get(&call)
    }

    /// Whether a call is answered from the journal.
    pub(crate) fn has_recorded_end(&self, call: u64) -> bool {
        self.recorded(call).is_some_and(|call| call.end.is_some())
    }

    /// How many recorded tool calls have ended.
    pub(crate) fn recorded_ends(&self) -> u64 {
        let calls = self.recorded.calls.values().filter(|it| it.end.is_some());
        let calls = calls.filter(|it| !is_question(&it.call.name));
        u64::try_from(calls.count()).unwrap_or(u64::MAX)
    }

    /// Waits until the program has repeated everything that the journal has.
    pub(crate) async fn wait_until_live(&self) {
        // The sender lives as long as the journal.
        _ = self.live.subscribe().wait_for(|is_live| *is_live).await;
    }

    /// Notes that a call may have effects from now on, and waits until that is on disk.
    pub(crate) async fn sent(&self, call: u64) -> Result<(), JournalError> {
        self.append(&mut self.lock(), JournalEvent::Sent { call });
        self.sync().await
    }

    /// Counts a call that may have effects as under way, until the returned value is dropped.
    pub(crate) fn in_flight(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        InFlight(self)
    }

    /// Notes how a call ended.
    pub(crate) fn ended(&self, call: u64, result: Result<ToolValue, ToolError>) {
        self.append(&mut self.lock(), JournalEvent::Ended { call, result });
    }

    /// Notes that the program cancelled a call; not if this process gives the run up.
    pub(crate) fn cancelled(&self, call: u64) {
        if !self.is_abandoned() {
            self.append(&mut self.lock(), JournalEvent::Cancelled { call });
        }
    }

    /// Whether this process has given the run up, to be continued later.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.is_abandoned.load(Ordering::Acquire)
    }

    /// Ends the run with a failure. Only the first failure counts.
    pub(crate) fn stop(&self, failure: Failure) {
        self.link.stop(|| failure);
    }

    /// Completes if the run has to end, with the failure that it ends with.
    pub(crate) async fn stopped(&self) -> Failure {
        let mut stopped = self.link.stopped.subscribe();
        match stopped.wait_for(Option::is_some).await.map(|failure| failure.clone()) {
            Ok(Some(failure)) => failure,
            _ => std::future::pending().await,
        }
    }

    /// The result of a run that has ended: a divergence, if there was one, or if the program has not
    /// repeated all recorded calls.
    pub(crate) fn checked<T>(&self, result: Result<T, Failure>) -> Result<T, Failure> {
        if let Some(divergence) = self.divergence() {
            return Err(divergence.failure());
        }
        let error = match &result {
            Ok(_) => None,
            Err(failure @ (Failure::Raised { .. } | Failure::TimedOut { .. })) => {
                let summary = failure.summary();
                Some(format!("{}: {}", summary.kind, summary.message))
            }
            Err(_) => return result,
        };
        let mut state = self.lock();
        let missing = state.unrepeated.first().and_then(|id| self.recorded.calls.get(id));
        let Some(missing) = missing else { return result };
        Err(self.diverge(&mut state, Divergence::missing(&missing.call, error)))
    }

    fn append(&self, state: &mut JournalState, event: JournalEvent) {
        if state.next == 0
            && let Some(engine) = &state.engine
        {
            let engine = JournalEvent::Engine(engine.clone());
            self.append_event(state, engine);
        }
        self.append_event(state, event);
    }

    fn append_event(&self, state: &mut JournalState, event: JournalEvent) {
        let bytes = event_bytes(&event);
        let number = state.next;
        state.next += 1;
        state.bytes = state.bytes.saturating_add(bytes);
        self.writer.append(&self.link, number, event, usize::try_from(bytes).unwrap_or(usize::MAX));
    }

    /// Stops the run because of a divergence, and returns the failure that it ends with.
    fn diverge(&self, state: &mut JournalState, divergence: Divergence) -> Failure {
        let interpreter = self.changed_interpreter(state.engine.as_ref());
        let divergence = state.divergence.get_or_insert(Divergence { interpreter, ..divergence });
        let failure = divergence.failure();
        self.link.stop(|| failure.clone());
        failure
    }

    fn update_live(&self, state: &JournalState) {
        if state.is_live() {
            self.live.send_if_modified(|live| !std::mem::replace(live, true));
        }
    }

    fn lock(&self) -> MutexGuard<'_, JournalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl JournalState {
    /// Whether the program has repeated everything that the journal has.
    fn is_live(&self) -> bool {
        self.observations_repeated && self.unrepeated.is_empty() && self.divergence.is_none()
    }
}

/// A call that may have effects and is under way.
pub(crate) struct InFlight<'a>(&'a Journal);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}

impl ObservationSink for Journal {
    fn runs_on(&self, engine: RunEngine) {
        self.lock().engine = Some(engine);
    }

    fn observed(&self, bytes: &[u8]) {
        let mut state = self.lock();
        if state.in_place.is_none() {
            self.append(&mut state, JournalEvent::Observed { bytes: bytes.to_vec() });
        }
    }

    fn replayed(&self) {
        let mut state = self.lock();
        state.observations_repeated = true;
        self.update_live(&state);
    }

    fn diverged(&self, difference: &str) {
        let difference = Difference::Observed(difference.to_owned());
        self.diverge(&mut self.lock(), Divergence { line: None, difference, interpreter: None });
    }

    fn in_place_only(&self, reason: InPlaceReason) {
        let mut state = self.lock();
        if state.in_place.is_none() {
            state.in_place = Some(reason);
            self.writer.set_in_place(&self.link, reason);
        }
    }
}

/// The failure of a run whose journal is damaged.
fn damaged(readable: u64, unreadable: u64) -> Failure {
    let message = format!(
        "the run cannot be continued, because its journal is damaged: of its {} events only the first \
         {readable} can be read. Calls after them may have happened. Nothing was executed",
        readable.saturating_add(unreadable)
    );
    Failure::refused("JournalDamaged", message)
}

/// Completes if the run of the journal has to end, with the failure that it ends with.
pub(crate) async fn stopped(journal: Option<&Journal>) -> Failure {
    match journal {
        Some(journal) => journal.stopped().await,
        None => std::future::pending().await,
    }
}

/// The difference between a recorded call and the one that the program makes now, except for the
/// definition of the tool.
fn difference(before: &JournalCall, now: &JournalCall) -> Option<Difference> {
    if before.name != now.name {
        return Some(Difference::Name { before: before.name.clone(), now: now.name.clone() });
    }
    let name = now.name.clone();
    if let (Some(before), Some(now)) = (&before.site, &now.site)
        && before != now
    {
        return Some(Difference::Site { name, before: before.clone(), now: now.clone() });
    }
    (before.arguments != now.arguments).then_some(Difference::Arguments { name })
}
