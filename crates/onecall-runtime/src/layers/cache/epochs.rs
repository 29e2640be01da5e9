//! Counts the events that make a server's earlier answers unusable: calls that may have changed
//! something, and questions of the server to a client.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::quality::RandomState;
use onecall_core::ServerName;

/// The counters of one server at some moment. Answers are valid only while they stay the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Epoch {
    /// How many calls may have changed something.
    pub(super) changes: u64,
    /// How many questions the server has asked clients.
    pub(super) questions: u64,
}

/// The counters of every server.
#[derive(Debug, Default)]
pub(super) struct ServerEpochs(Mutex<ByServer>);

type ByServer = HashMap<ServerName, Epoch, RandomState>;

impl ServerEpochs {
    pub(super) fn of(&self, server: &ServerName) -> Epoch {
        self.lock().get(server).copied().unwrap_or_default()
    }

    /// Notes that earlier answers of the server may be outdated.
    pub(super) fn record_change(&self, server: &ServerName) {
        self.lock().entry(server.clone()).or_default().changes += 1;
    }

    /// Notes that the server has asked a client something. It is not known for which of its running
    /// calls, so the answers of all of them may be meant for that client only.
    pub(super) fn record_question(&self, server: &ServerName) {
        self.lock().entry(server.clone()).or_default().questions += 1;
    }

    fn lock(&self) -> MutexGuard<'_, ByServer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
