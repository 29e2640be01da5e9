//! Which calls of a program were answered without a call of their own.

use std::sync::{Mutex, PoisonError};

/// Their ids, until somebody asks: those of the calls that are about to end, and so a few.
#[derive(Debug, Default)]
pub(crate) struct Reused(Mutex<Vec<u64>>);

impl Reused {
    pub(super) fn note(&self, call: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }

    /// Whether this call was one, which is forgotten with that.
    pub(crate) fn take(&self, call: u64) -> bool {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match calls.iter().rposition(|noted| *noted == call) {
            Some(place) => {
                calls.swap_remove(place);
                true
            }
            None => false,
        }
    }
}
