//! Which calls of a program were answered without a call of their own.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Their ids, until somebody asks.
#[derive(Debug, Default)]
pub(crate) struct Reused(Mutex<HashSet<u64>>);

impl Reused {
    pub(super) fn note(&self, call: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(call);
    }

    /// Whether this call was one, which is forgotten with that.
    pub(crate) fn take(&self, call: u64) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&call)
    }
}
