//! How long what a server said holds: until a tool that may change something is called.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::quality::RandomState;
use onecall_core::ServerName;

/// A point in the life of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Era {
    /// How often something may have changed.
    pub(super) changes: u64,
    /// How often it has asked a client something.
    pub(super) questions: u64,
}

/// Where each server is.
#[derive(Debug, Default)]
pub(super) struct Eras(Mutex<ByServer>);

type ByServer = HashMap<ServerName, Era, RandomState>;

impl Eras {
    pub(super) fn of(&self, server: &ServerName) -> Era {
        self.lock().get(server).copied().unwrap_or_default()
    }

    /// What it answered before may not be so any more.
    pub(super) fn changed(&self, server: &ServerName) {
        self.lock().entry(server.clone()).or_default().changes += 1;
    }

    /// It has asked a client something: nobody can tell for which of the calls under way, and
    /// their answers may be for that client alone.
    pub(super) fn asked(&self, server: &ServerName) {
        self.lock().entry(server.clone()).or_default().questions += 1;
    }

    fn lock(&self) -> MutexGuard<'_, ByServer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
