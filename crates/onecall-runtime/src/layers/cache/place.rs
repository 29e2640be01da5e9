//! The storage behind a cache: memory or disk.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use onecall_core::{ServerName, ToolPattern, ToolSpec, ToolValue};

use super::disk::{Disk, Mark};
use super::key::Key;
use super::memory::Memory;

/// Answers in the memory of this process, or in the store that other processes use as well.
pub(super) enum Place {
    Memory(Memory),
    Disk(Disk),
}

/// The state of the cache when a call began. If the server may have changed something since, the
/// answer is not cached.
pub(super) struct Ticket {
    pub(super) since: SystemTime,
    /// The server's change counter in this process.
    pub(super) changes: u64,
    /// The mark of the last change by any process; `None` for a cache in memory, or if the store
    /// does not answer in time.
    pub(super) mark: Option<Mark>,
}

impl Place {
    /// Notes the state of the cache at the beginning of a call.
    pub(super) async fn ticket(&self, key: &Key, since: SystemTime, changes: u64) -> Ticket {
        let mark = match self {
            Self::Memory(_) => None,
            Self::Disk(disk) => disk.mark(key.server(), since).await,
        };
        Ticket { since, changes, mark }
    }

    /// The cached answer for this key, if it is valid and in memory.
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

    /// The cached answer for this key, if it is valid and in the store.
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

    /// Caches an answer, unless it is too large or the server may have changed something meanwhile.
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

    /// Removes all answers of a server.
    pub(super) async fn forget_server(&self, server: &ServerName, now: SystemTime) {
        match self {
            Self::Memory(memory) => memory.forget_server(server),
            Self::Disk(disk) => disk.forget_server(server, now).await,
        }
    }

    /// Removes the answers of a server from the store without waiting for it. Answers in memory are
    /// invalidated by the change counter and need no removal.
    pub(super) fn forget_server_soon(&self, server: &ServerName, now: SystemTime) {
        if let Self::Disk(disk) = self {
            disk.forget_server_soon(server, now);
        }
    }

    /// Removes the answers of tools whose names match, and returns their number.
    pub(super) async fn clear(&self, pattern: &ToolPattern, now: SystemTime) -> u64 {
        match self {
            Self::Memory(memory) => memory.clear(pattern, now),
            Self::Disk(disk) => disk.clear(pattern).await,
        }
    }

    /// Writes the counted hits to the store.
    pub(super) fn settle(&self) {
        if let Self::Disk(disk) = self {
            disk.write_hits();
        }
    }

    /// The number of answers, and the bytes that they take.
    pub(super) async fn size(&self, now: SystemTime) -> (u64, u64) {
        match self {
            Self::Memory(memory) => memory.size(),
            Self::Disk(disk) => disk.size(now).await,
        }
    }
}
