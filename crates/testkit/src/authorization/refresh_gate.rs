//! Holds requests that renew tokens, so that a test decides when they are answered.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What requests that renew tokens pass.
#[derive(Default)]
pub(super) struct RefreshGate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    is_closed: bool,
    /// How many requests have arrived so far.
    arrived: usize,
    /// How many of them have passed or are ignored.
    done: usize,
    /// The requests with a smaller number are never answered.
    first_answered: usize,
}

impl RefreshGate {
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
    }

    pub(super) fn open(&self) {
        self.lock().is_closed = false;
        self.changed.notify_all();
    }

    /// Leaves the requests that wait now without an answer, and no longer counts them. Their connections
    /// are closed when the gate opens.
    pub(super) fn ignore_waiting(&self) {
        let mut state = self.lock();
        (state.first_answered, state.done) = (state.arrived, state.arrived);
    }

    /// How many requests wait for an answer.
    pub(super) fn waiting(&self) -> usize {
        let state = self.lock();
        state.arrived - state.done
    }

    /// Waits until the gate is open; returns whether the request is to be answered.
    pub(super) fn pass(&self) -> bool {
        let mut state = self.lock();
        let number = state.arrived;
        state.arrived += 1;
        while state.is_closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let is_answered = number >= state.first_answered;
        state.done += usize::from(is_answered);
        is_answered
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
