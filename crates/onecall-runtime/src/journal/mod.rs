//! The journal of a run, which makes it possible to continue the run in another process, and to replay
//! it after it has ended.
//!
//! [`Journal`] belongs to one run: it appends the run's events, answers the calls of a continued or
//! replayed run, and notices if the program does something else than before (`comparison.rs`).
//! [`JournalWriter`] is the thread that writes the journals of runs that can be continued;
//! [`EventCopy`] has the events for the record of a run.

mod abandonment;
mod comparison;
mod divergence;
mod engine;
mod error;
mod event_copy;
mod open_call;
mod purpose;
mod questions;
mod recorded;
mod writer;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;
use onecall_core::storage::{DurableRun, FinalAnswer, RecordedJournal, StoredJournal};
use onecall_core::{
    CallableName, Digest, Failure, InPlaceReason, JournalEvent, RunEngine, RunId, Timestamp,
    ToolError, ToolSpec, ToolValue,
};
use onecall_engine::{Journalled, ObservationSink};
use tokio::sync::watch;

pub(crate) use abandonment::abandon_if_dropped;
use divergence::Repetition;
pub use divergence::{Difference, Divergence};
pub use error::JournalError;
pub(crate) use event_copy::EventCopy;
pub(crate) use open_call::OpenJournalCall;
use purpose::{JournalPurpose, random_seed};
use questions::is_question;
pub(crate) use recorded::RecordedCall;
use recorded::RecordedEvents;
pub use writer::JournalWriter;
use writer::RunLink;

/// The journal of one run.
pub struct Journal {
    link: Arc<RunLink>,
    purpose: JournalPurpose,
    started: Timestamp,
    seed: [u8; 32],
    /// What the journal had when this process took the run over, or what the record of a replayed run
    /// has; empty for a new run.
    recorded: RecordedEvents,
    state: Mutex<JournalState>,
    /// Whether the program has repeated everything that the journal has.
    live: watch::Sender<bool>,
    /// Whether the run is given up by this process, to be continued later.
    is_abandoned: AtomicBool,
    /// Whether something has waited until the journal was on disk.
    was_synced: AtomicBool,
    /// How many calls that may have effects are under way.
    in_flight: AtomicUsize,
}

/// The part of a journal that changes.
struct JournalState {
    /// The number of the next event.
    next: u64,
    bytes: u64,
    /// The calls that the program has made in this process.
    made: HashSet<u64, RandomState>,
    /// The calls under way that may have effects.
    sent: HashSet<u64>,
    /// The recorded calls that the program has not made again.
    unrepeated: BTreeSet<u64>,
    /// Whether the worker has repeated its observations, or there are none.
    observations_repeated: bool,
    divergence: Option<Divergence>,
    /// The engine that the program was given to last.
    engine: Option<RunEngine>,
    in_place: Option<InPlaceReason>,
    digests: HashMap<CallableName, (Arc<ToolSpec>, Digest), RandomState>,
    /// Gets each event, for the record of the run.
    copy: Option<Arc<EventCopy>>,
}

impl Journal {
    /// The journal of a new run with a lease of this fencing number. The run is added to the store at
    /// once, but nothing waits for that: calls that only read are made meanwhile.
    #[must_use]
    pub fn begin(run: DurableRun, fence: u64, writer: Arc<JournalWriter>) -> Arc<Self> {
        let journal = Self::resume(&run, fence, StoredJournal::default(), Arc::clone(&writer));
        writer.begin(&journal.link, run);
        journal
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
        let link = RunLink::new(run.id.clone(), fence, recorded.count());
        let purpose = JournalPurpose::Continuation(writer);
        let journal = Self::new(link, purpose, run.started, run.seed, recorded);
        journal.lock().in_place = run.in_place;
        if unreadable > 0 {
            journal.stop(damaged(journal.recorded.count(), unreadable));
        }
        Arc::new(journal)
    }

    /// The journal of a new run that cannot be continued in another process. It is only kept in memory,
    /// until the run is recorded.
    pub(crate) fn for_record() -> io::Result<Arc<Self>> {
        let (started, seed) = (Timestamp::now(), random_seed()?);
        let link = RunLink::new(RunId::generate(started.0), 0, 0);
        let (purpose, recorded) = (JournalPurpose::Record, RecordedEvents::default());
        Ok(Arc::new(Self::new(link, purpose, started, seed, recorded)))
    }

    /// The journal with which a recorded run is replayed. It answers the calls of the program as they
    /// were answered before; nothing is ever executed.
    #[must_use]
    pub fn replay(run: RunId, started: Timestamp, journal: RecordedJournal) -> Arc<Self> {
        let recorded = RecordedEvents::of(journal.events);
        let link = RunLink::new(run, 0, recorded.count());
        Arc::new(Self::new(link, JournalPurpose::Replay, started, journal.seed, recorded))
    }

    fn new(
        link: RunLink,
        purpose: JournalPurpose,
        started: Timestamp,
        seed: [u8; 32],
        recorded: RecordedEvents,
    ) -> Self {
        let bytes = recorded.events().iter().map(JournalEvent::memory_bytes).sum::<usize>();
        let state = JournalState {
            next: recorded.count(),
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            made: HashSet::default(),
            sent: HashSet::new(),
            unrepeated: recorded.call_ids().collect(),
            observations_repeated: recorded.observations.is_empty(),
            divergence: None,
            engine: None,
            in_place: None,
            digests: HashMap::default(),
            copy: None,
        };
        Self {
            link: Arc::new(link),
            purpose,
            started,
            seed,
            live: watch::Sender::new(state.is_live()),
            recorded,
            state: Mutex::new(state),
            is_abandoned: AtomicBool::new(false),
            was_synced: AtomicBool::new(false),
            in_flight: AtomicUsize::new(0),
        }
    }

    /// Begins to copy all events for the record of the run. The copy begins with the events of earlier
    /// processes.
    pub(crate) fn copy_events(&self) -> Arc<EventCopy> {
        let mut state = self.lock();
        let copy = match state.in_place {
            Some(reason) => Arc::new(EventCopy::impossible(reason.into())),
            None => Arc::new(EventCopy::new(self.seed)),
        };
        for event in self.recorded.events() {
            copy.add(event.memory_bytes(), || event.clone());
        }
        state.copy = Some(Arc::clone(&copy));
        copy
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
        self.recorded.count() > 0
    }

    /// Whether another process can continue the run.
    pub(crate) fn is_durable(&self) -> bool {
        matches!(self.purpose, JournalPurpose::Continuation(_))
    }

    /// Whether a recorded run is replayed.
    pub(crate) fn is_replay(&self) -> bool {
        matches!(self.purpose, JournalPurpose::Replay)
    }

    /// How many recorded tool calls the program has not made again.
    #[must_use]
    pub fn unrepeated_calls(&self) -> usize {
        let state = self.lock();
        let calls = state.unrepeated.iter().filter_map(|id| self.recorded.call(*id));
        calls.filter(|recorded| !is_question(&recorded.call.name)).count()
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

    /// Whether the store has the run.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        self.link.is_stored()
    }

    /// Whether the store has the run, or may have it although that is not known, because the answer to a write
    /// was lost.
    #[must_use]
    pub fn may_be_stored(&self) -> bool {
        self.link.may_be_stored()
    }

    /// Ends the run before the store has it: the store gets the run only together with this answer, so that no
    /// process continues it. The result is `false` if the store has the run, or may get it without its end.
    /// While that is not certain, this can be called again.
    #[must_use]
    pub fn end_unstored(&self, answer: &FinalAnswer) -> bool {
        self.link.end_unstored(answer)
    }

    /// Whether the store refused events of the run, because another process has taken it over or the run has
    /// ended, such as by being cancelled.
    #[must_use]
    pub fn has_lost_lease(&self) -> bool {
        self.link.has_lost_lease()
    }

    /// Waits until the store has the run.
    ///
    /// # Errors
    /// If it cannot be written.
    pub async fn stored(&self) -> Result<(), JournalError> {
        if self.is_stored() { Ok(()) } else { self.purpose.sync(&self.link, 0).await }
    }

    /// Waits until all events are on disk.
    ///
    /// # Errors
    /// If they cannot be written, or this process has lost the run's lease.
    pub async fn sync(&self) -> Result<(), JournalError> {
        self.was_synced.store(true, Ordering::Release);
        let appended = self.lock().next;
        self.purpose.sync(&self.link, appended).await
    }

    /// Whether the run began in this process, and had nothing so far that has to be on disk: no call that
    /// may have effects, and no question to a person.
    #[must_use]
    pub fn has_only_read(&self) -> bool {
        !self.is_resumed() && !self.was_synced.load(Ordering::Acquire)
    }

    /// Waits until there is room in memory for more events.
    pub(crate) async fn room(&self) {
        self.purpose.room().await;
    }

    /// What engines need to make the run repeatable.
    pub(crate) fn control(&self) -> Journalled<'_> {
        Journalled { seed: self.seed, observations: &self.recorded.observations, sink: self }
    }

    /// What an earlier process recorded about a call.
    pub(crate) fn recorded(&self, call: u64) -> Option<RecordedCall<'_>> {
        self.recorded.call(call)
    }

    /// Whether a call is answered from the journal.
    pub(crate) fn has_recorded_end(&self, call: u64) -> bool {
        self.recorded(call).is_some_and(|call| call.end.is_some())
    }

    /// How many recorded tool calls have ended.
    pub(crate) fn recorded_ends(&self) -> u64 {
        let calls = self.recorded.call_ids().filter_map(|id| self.recorded.call(id));
        let ended = calls.filter(|it| it.end.is_some() && !is_question(&it.call.name));
        u64::try_from(ended.count()).unwrap_or(u64::MAX)
    }

    /// Waits until the program has repeated everything that the journal has.
    pub(crate) async fn wait_until_live(&self) {
        if self.is_live() {
            return;
        }
        // The sender lives as long as the journal.
        _ = self.live.subscribe().wait_for(|is_live| *is_live).await;
    }

    /// Notes that a call may have effects from now on, and waits until that is on disk if another process
    /// can continue the run.
    pub(crate) async fn sent(&self, call: u64) -> Result<(), JournalError> {
        {
            let mut state = self.lock();
            state.sent.insert(call);
            self.append(&mut state, JournalEvent::Sent { call });
        }
        self.sync().await
    }

    /// Counts a call that may have effects as under way, until the returned value is dropped.
    pub(crate) fn in_flight(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        InFlight(self)
    }

    /// Notes how a call ended.
    pub(crate) fn ended(&self, call: u64, result: Result<ToolValue, ToolError>) {
        let mut state = self.lock();
        self.append(&mut state, JournalEvent::Ended { call, result });
        if state.sent.remove(&call) {
            self.purpose.write_soon();
        }
    }

    /// Notes that the program cancelled a call; not if this process gives the run up.
    pub(crate) fn cancelled(&self, call: u64) {
        if !self.is_abandoned() {
            let mut state = self.lock();
            self.append(&mut state, JournalEvent::Cancelled { call });
            if state.sent.remove(&call) {
                self.purpose.write_soon();
            }
        }
    }

    /// Notes that the store has the answer of the run, so that it needs no more events.
    pub fn close(&self) {
        self.link.close();
    }

    /// Frees the events that were not written, if the journal is closed. It takes a moment if there are
    /// thousands of them, so it is done after the client has its answer.
    pub fn free_events(&self) {
        self.purpose.free_events(&self.link);
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
        let bytes = event.memory_bytes();
        let number = state.next;
        state.next += 1;
        state.bytes = state.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        match &state.copy {
            Some(copy) if self.is_durable() => {
                copy.add(bytes, || event.clone());
                self.purpose.append(&self.link, number, event, bytes);
            }
            Some(copy) => copy.add(bytes, || event),
            None => self.purpose.append(&self.link, number, event, bytes),
        }
    }

    /// Stops the run because of a divergence, and returns the failure that it ends with.
    fn diverge(&self, state: &mut JournalState, divergence: Divergence) -> Failure {
        let interpreter = self.changed_interpreter(state.engine.as_ref());
        let divergence = state.divergence.get_or_insert(Divergence { interpreter, ..divergence });
        let failure = self.failure_of(divergence);
        self.link.stop(|| failure.clone());
        failure
    }

    /// The failure of a run that differs from its journal.
    fn failure_of(&self, divergence: &Divergence) -> Failure {
        divergence.failure(if self.is_replay() {
            Repetition::Replay
        } else {
            Repetition::Continued
        })
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
        let mut state = self.lock();
        let next = state.unrepeated.first().and_then(|id| self.recorded.call(*id));
        let next = next.map(|recorded| recorded.call);
        let divergence = Divergence::observed(difference, next);
        self.diverge(&mut state, divergence);
    }

    fn in_place_only(&self, reason: InPlaceReason) {
        let mut state = self.lock();
        if state.in_place.is_none() {
            state.in_place = Some(reason);
            self.purpose.set_in_place(&self.link, reason);
            if let Some(copy) = &state.copy {
                copy.drop_events(reason.into());
            }
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
