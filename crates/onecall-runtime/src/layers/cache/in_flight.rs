//! Calls in progress that identical calls can join instead of reaching the server again.
//!
//! A call is a shared future that is driven by those who wait for it: it continues as long as one
//! of them is left, and is cancelled when the last one is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{Shared, WeakShared};
use onecall_core::{BoxFuture, CallableName, ToolError, ToolPattern, ToolValue};

use super::key::CacheKey;

/// How a call ended.
#[derive(Debug)]
pub(super) struct CompletedCall {
    pub(super) result: Result<ToolValue, ToolError>,
    /// Whether the answer is valid for every caller that joined.
    pub(super) is_shareable: bool,
}

pub(super) type InFlightCall = Shared<BoxFuture<'static, Arc<CompletedCall>>>;

/// The calls in progress by key; of several with the same key only the latest.
#[derive(Default)]
pub(super) struct InFlightCalls(Mutex<InFlightTable>);

#[derive(Default)]
struct InFlightTable {
    last_id: u64,
    entries: HashMap<Arc<CacheKey>, InFlightEntry>,
}

struct InFlightEntry {
    id: u64,
    name: CallableName,
    /// The server's change counter when the call began. After another change the call cannot be
    /// joined.
    changes: u64,
    shared_call: WeakShared<BoxFuture<'static, Arc<CompletedCall>>>,
}

/// The registration of a call among those that can be joined, removed when this is dropped.
pub(super) struct Registration {
    calls: Arc<InFlightCalls>,
    key: Arc<CacheKey>,
    id: u64,
}

impl InFlightCalls {
    /// The call in progress with the same key, if no change has been made since it began.
    pub(super) fn join(&self, key: &CacheKey, changes: u64) -> Option<InFlightCall> {
        let table = self.table();
        let entry = table.entries.get(key)?;
        (entry.changes == changes).then(|| entry.shared_call.upgrade()).flatten()
    }

    /// Registers a call that others may join, in place of an earlier one with the same key.
    pub(super) fn register(
        self: &Arc<Self>,
        key: Arc<CacheKey>,
        name: CallableName,
        changes: u64,
        call: impl FnOnce(Registration) -> BoxFuture<'static, Arc<CompletedCall>>,
    ) -> InFlightCall {
        let mut table = self.table();
        table.last_id += 1;
        let id = table.last_id;
        let registration = Registration { calls: Arc::clone(self), key: Arc::clone(&key), id };
        let shared_call = call(registration).shared();
        if let Some(weak) = shared_call.downgrade() {
            table.entries.insert(key, InFlightEntry { id, name, changes, shared_call: weak });
        }
        shared_call
    }

    /// Removes the calls of tools whose names match: they cannot be joined any more, and their
    /// answers are not cached.
    pub(super) fn remove_matching(&self, pattern: &ToolPattern) {
        self.table().entries.retain(|_, entry| !pattern.matches(entry.name.as_str()));
    }

    fn table(&self) -> MutexGuard<'_, InFlightTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registration {
    /// Whether the call is still registered and no other has taken its place.
    pub(super) fn is_current(&self) -> bool {
        self.calls.table().entries.get(&self.key).is_some_and(|it| it.id == self.id)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut table = self.calls.table();
        if table.entries.get(&self.key).is_some_and(|it| it.id == self.id) {
            table.entries.remove(&self.key);
        }
    }
}
