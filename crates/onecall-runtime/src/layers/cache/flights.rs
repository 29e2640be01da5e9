//! Calls in progress that identical calls can join instead of reaching the server again.
//!
//! A call is a shared future that is driven by those who wait for it: it continues as long as one
//! of them is left, and is cancelled when the last one is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{Shared, WeakShared};
use onecall_core::{BoxFuture, CallableName, ToolError, ToolPattern, ToolValue};

use super::key::Key;

/// How a call ended.
#[derive(Debug)]
pub(super) struct Landed {
    pub(super) result: Result<ToolValue, ToolError>,
    /// Whether the answer is valid for every caller that joined.
    pub(super) is_for_all: bool,
}

pub(super) type Flight = Shared<BoxFuture<'static, Arc<Landed>>>;

/// The calls in progress by key; of several with the same key only the latest.
#[derive(Default)]
pub(super) struct Flights(Mutex<Board>);

#[derive(Default)]
struct Board {
    departures: u64,
    flights: HashMap<Arc<Key>, Departed>,
}

struct Departed {
    id: u64,
    name: CallableName,
    /// The server's change counter when the call began. After another change the call cannot be
    /// joined.
    changes: u64,
    flight: WeakShared<BoxFuture<'static, Arc<Landed>>>,
}

/// The registration of a call among those that can be joined, removed when this is dropped.
pub(super) struct Listing {
    flights: Arc<Flights>,
    key: Arc<Key>,
    id: u64,
}

impl Flights {
    /// The call in progress with the same key, if no change has been made since it began.
    pub(super) fn join(&self, key: &Key, changes: u64) -> Option<Flight> {
        let board = self.board();
        let departed = board.flights.get(key)?;
        (departed.changes == changes).then(|| departed.flight.upgrade()).flatten()
    }

    /// Registers a call that others may join, in place of an earlier one with the same key.
    pub(super) fn depart(
        self: &Arc<Self>,
        key: Arc<Key>,
        name: CallableName,
        changes: u64,
        call: impl FnOnce(Listing) -> BoxFuture<'static, Arc<Landed>>,
    ) -> Flight {
        let mut board = self.board();
        board.departures += 1;
        let id = board.departures;
        let listing = Listing { flights: Arc::clone(self), key: Arc::clone(&key), id };
        let flight = call(listing).shared();
        if let Some(weak) = flight.downgrade() {
            board.flights.insert(key, Departed { id, name, changes, flight: weak });
        }
        flight
    }

    /// Removes the calls of tools whose names match: they cannot be joined any more, and their
    /// answers are not cached.
    pub(super) fn disown(&self, pattern: &ToolPattern) {
        self.board().flights.retain(|_, departed| !pattern.matches(departed.name.as_str()));
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listing {
    /// Whether the call is still registered and no other has taken its place.
    pub(super) fn is_current(&self) -> bool {
        self.flights.board().flights.get(&self.key).is_some_and(|it| it.id == self.id)
    }
}

impl Drop for Listing {
    fn drop(&mut self) {
        let mut board = self.flights.board();
        if board.flights.get(&self.key).is_some_and(|it| it.id == self.id) {
            board.flights.remove(&self.key);
        }
    }
}
