//! Where answers are kept.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use onecall_core::{ServerName, ToolPattern, ToolSpec, ToolValue};

use super::disk::{Disk, Mark};
use super::key::Key;
use super::memory::Memory;

/// In this process, or in a file that others use too.
pub(super) enum Place {
    Memory(Memory),
    Disk(Disk),
}

/// When a call began: what may have changed since makes its answer worthless.
pub(super) struct Ticket {
    pub(super) since: SystemTime,
    /// The changes its server had seen, by this process.
    pub(super) changes: u64,
    /// And by others; nothing where there are none, or where nobody can tell.
    pub(super) mark: Option<Mark>,
}

impl Place {
    /// Begins a call.
    pub(super) async fn ticket(&self, key: &Key, since: SystemTime, changes: u64) -> Ticket {
        let mark = match self {
            Self::Memory(_) => None,
            Self::Disk(disk) => disk.mark(key.server(), since).await,
        };
        Ticket { since, changes, mark }
    }

    /// The answer to this, if one that holds is at hand.
    pub(super) fn at_hand(
        &self,
        key: &Key,
        spec: &Arc<ToolSpec>,
        now: SystemTime,
        ttl: Duration,
    ) -> Option<ToolValue> {
        match self {
            Self::Memory(memory) => memory.get(key, spec, now),
            Self::Disk(disk) => disk.at_hand(key, spec, now, ttl),
        }
    }

    /// The answer to this, if one that holds is in the store.
    pub(super) async fn far_off(
        &self,
        key: &Arc<Key>,
        spec: &Arc<ToolSpec>,
        now: SystemTime,
        ttl: Duration,
    ) -> Option<ToolValue> {
        match self {
            Self::Memory(_) => None,
            Self::Disk(disk) => disk.get(key, spec, now, ttl).await,
        }
    }

    /// Keeps an answer, unless it is too large or something has changed meanwhile.
    pub(super) async fn put(
        &self,
        key: Arc<Key>,
        spec: Arc<ToolSpec>,
        value: ToolValue,
        ticket: Ticket,
        now: SystemTime,
        ttl: Duration,
    ) {
        match self {
            Self::Memory(memory) => memory.put(key, spec, value, &ticket, ttl),
            Self::Disk(disk) => disk.put(&key, &spec, value, ticket, now, ttl).await,
        }
    }

    /// Removes one answer.
    pub(super) async fn forget(&self, key: &Key, spec: &ToolSpec, now: SystemTime) {
        match self {
            Self::Memory(memory) => memory.forget(key),
            Self::Disk(disk) => disk.forget(key, spec, now).await,
        }
    }

    /// Removes what a server has answered.
    pub(super) async fn forget_server(&self, server: &ServerName, now: SystemTime) {
        match self {
            Self::Memory(memory) => memory.forget_server(server),
            Self::Disk(disk) => disk.forget_server(server, now).await,
        }
    }

    /// Removes what a server has answered from the store, without waiting. What only this process has
    /// is outdated already, and goes by itself.
    pub(super) fn forget_server_soon(&self, server: &ServerName, now: SystemTime) {
        if let Self::Disk(disk) = self {
            disk.forget_server_soon(server, now);
        }
    }

    /// Removes the answers of tools whose names fit, and says how many those were.
    pub(super) async fn clear(&self, pattern: &ToolPattern, now: SystemTime) -> u64 {
        match self {
            Self::Memory(memory) => memory.clear(pattern, now),
            Self::Disk(disk) => disk.clear(pattern).await,
        }
    }

    /// Writes down what was only counted so far.
    pub(super) fn settle(&self) {
        if let Self::Disk(disk) = self {
            disk.write_hits();
        }
    }

    /// How many answers there are, and what they take.
    pub(super) async fn size(&self, now: SystemTime) -> (u64, u64) {
        match self {
            Self::Memory(memory) => memory.size(),
            Self::Disk(disk) => disk.size(now).await,
        }
    }
}
