//! Whether the store has a run. A run that ends before the store has it is stored together with its end, so
//! that no process can continue it after its client was answered.

use std::sync::{Mutex, MutexGuard, PoisonError};

use onecall_core::storage::{DurableRun, DurableState, FinalAnswer, StoreError};

/// What is known about a run in the store. The thread of the writer and the run share it.
#[derive(Debug)]
pub(super) struct StoreState(Mutex<State>);

#[derive(Debug)]
struct State {
    presence: Presence,
    /// The answer of a run that has ended before the store had it.
    answer: Option<FinalAnswer>,
}

/// Whether the store has a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// The store does not have the run, and nothing is under way that could add it.
    Missing,
    /// The run is being added for the first time.
    BeingAdded { with_end: bool },
    /// The answer to a write was lost, so the store may have the run.
    Unconfirmed,
    /// The store has the run.
    Stored,
}

impl StoreState {
    /// The state of a run that the store has.
    pub(super) fn stored() -> Self {
        Self(Mutex::new(State { presence: Presence::Stored, answer: None }))
    }

    /// Notes that the run is a new one, which the store does not have.
    pub(super) fn set_missing(&self) {
        self.lock().presence = Presence::Missing;
    }

    /// Whether the store has the run.
    pub(super) fn is_stored(&self) -> bool {
        self.lock().presence == Presence::Stored
    }

    /// Whether the store has the run, or may have it because the answer to a write was lost.
    pub(super) fn may_be_stored(&self) -> bool {
        matches!(self.lock().presence, Presence::Stored | Presence::Unconfirmed)
    }

    /// Ends the run before the store has it: the store gets the run only together with this answer. The result
    /// is `false` if the store has the run, or may get it without its end. While that is not certain, this can
    /// be called again.
    pub(super) fn end_unstored(&self, answer: &FinalAnswer) -> bool {
        let mut state = self.lock();
        if matches!(state.presence, Presence::Missing | Presence::BeingAdded { .. }) {
            state.answer.get_or_insert_with(|| answer.clone());
        }
        state.answer.is_some() && state.presence != Presence::BeingAdded { with_end: false }
    }

    /// Notes that the run is about to be added to the store, and gives it its end if it has one.
    pub(super) fn begin_adding(&self, run: &mut DurableRun) {
        let mut state = self.lock();
        if state.presence == Presence::Missing {
            state.presence = Presence::BeingAdded { with_end: state.answer.is_some() };
        }
        if let Some(answer) = &state.answer {
            run.state = DurableState::Ended(answer.clone());
            run.lease = None;
        }
    }

    /// Notes how the attempt to add the run has ended.
    pub(super) fn end_adding(&self, result: &Result<(), StoreError>) {
        let mut state = self.lock();
        let has_failed = result.as_ref().is_err_and(|error| !error.may_be_done());
        match (state.presence, has_failed) {
            (Presence::BeingAdded { .. }, true) => state.presence = Presence::Missing,
            (_, true) => {}
            (presence, false) => {
                if presence == (Presence::BeingAdded { with_end: false }) {
                    // The end came too late to be stored together with the run.
                    state.answer = None;
                }
                state.presence =
                    if result.is_ok() { Presence::Stored } else { Presence::Unconfirmed };
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
