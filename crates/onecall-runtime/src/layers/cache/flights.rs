//! Calls under way that others may wait for instead of making the same one.
//!
//! Whoever waits for a call drives it, so it goes on as long as one of them is left, and is
//! cancelled with the last.

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
    /// Whether the answer is for everybody who asked.
    pub(super) is_for_all: bool,
}

pub(super) type Flight = Shared<BoxFuture<'static, Arc<Landed>>>;

/// The calls under way by what they ask; of several with the same key the latest.
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
    /// The changes its server had seen. After another one, it comes too late to be joined.
    changes: u64,
    flight: WeakShared<BoxFuture<'static, Arc<Landed>>>,
}

/// A place on the board, taken off it when this is dropped.
pub(super) struct Listing {
    flights: Arc<Flights>,
    key: Arc<Key>,
    id: u64,
}

impl Flights {
    /// The call under way that asks just this.
    pub(super) fn join(&self, key: &Key, changes: u64) -> Option<Flight> {
        let board = self.board();
        let departed = board.flights.get(key)?;
        (departed.changes == changes).then(|| departed.flight.upgrade()).flatten()
    }

    /// Begins a call that others may join, and takes the place of one that is under way.
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

    /// Has nobody else join the calls of tools whose names fit, and none of them kept.
    pub(super) fn disown(&self, pattern: &ToolPattern) {
        self.board().flights.retain(|_, departed| !pattern.matches(departed.name.as_str()));
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listing {
    /// Whether no other call has taken its place.
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
