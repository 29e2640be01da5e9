//! The storage behind a cache: memory or disk.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use onecall_core::{ServerName, ToolPattern, ToolSpec, ToolValue};

use super::disk::{ChangeMark, Disk};
use super::key::CacheKey;
use super::memory::Memory;

/// Answers in the memory of this process, or in the store that other processes use as well.
pub(super) enum CacheStorage {
    Memory(Memory),
    Disk(Disk),
}

/// The state of the cache when a call began. If the server may have changed something since, the
/// answer is not cached.
pub(super) struct CallStart {
    pub(super) since: SystemTime,
    /// The server's change counter in this process.
    pub(super) changes: u64,
    /// The mark of the last change by any process; `None` for a cache in memory, or if the store
    /// does not answer in time.
    pub(super) mark: Option<ChangeMark>,
}

impl CacheStorage {
    /// Notes the state of the cache at the beginning of a call.
    pub(super) async fn note_call_start(
        &self,
        key: &CacheKey,
        since: SystemTime,
        changes: u64,
    ) -> CallStart {
        let mark = match self {
            Self::Memory(_) => None,
            Self::Disk(disk) => disk.mark(key.server(), since).await,
        };
        CallStart { since, changes, mark }
    }

    /// The cached answer for this key, if it is valid and in memory.
    pub(super) fn get_in_memory(
        &self,
        key: &CacheKey,
        spec: &Arc<ToolSpec>,
        now: SystemTime,
        ttl: Duration,
    ) -> Option<ToolValue> {
        match self {
            Self::Memory(memory) => memory.get(key, spec, now),
            Self::Disk(disk) => disk.get_in_memory(key, spec, now, ttl),
        }
    }

    /// The cached answer for this key, if it is valid and in the store.
    pub(super) async fn get_from_store(
        &self,
        key: &Arc<CacheKey>,
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
    pub(super) async fn insert(
        &self,
        key: Arc<CacheKey>,
        spec: Arc<ToolSpec>,
        value: ToolValue,
        call_start: CallStart,
        now: SystemTime,
        ttl: Duration,
    ) {
        match self {
            Self::Memory(memory) => memory.insert(key, spec, value, &call_start, ttl),
            Self::Disk(disk) => disk.insert(&key, &spec, value, call_start, now, ttl).await,
        }
    }

    /// Removes one answer.
    pub(super) async fn forget(&self, key: &CacheKey, spec: &ToolSpec, now: SystemTime) {
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
    pub(super) fn write_hits(&self) {
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
