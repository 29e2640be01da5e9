//! Cached answers in memory. The least recently used ones are evicted.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use foldhash::quality::RandomState;
use moka::notification::RemovalCause;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use onecall_core::{CacheSettings, ServerName, ToolPattern, ToolSpec, ToolValue};

use super::eras::Eras;
use super::key::Key;
use super::largest;
use super::place::Ticket;

/// Estimated bytes of an entry in addition to its texts.
const OVERHEAD: usize = 256;

/// Cached answers by key.
pub(super) struct Memory {
    kept: Cache<Arc<Key>, Arc<Kept>, RandomState>,
    /// The keys by server, so that the answers of one server can be removed without iterating over
    /// all of them. A key may be missing for a moment; an answer from before a change is not used
    /// in any case.
    by_server: Arc<Mutex<ByServer>>,
    eras: Arc<Eras>,
    largest: u64,
}

/// A cached answer, and what decides whether it is still valid.
struct Kept {
    /// The definition of the tool at that time. An answer is not used for a tool whose definition
    /// has changed.
    spec: Arc<ToolSpec>,
    value: ToolValue,
    /// The server's change counter when the call was made.
    changes: u64,
    since: SystemTime,
    ttl: Duration,
}

impl Kept {
    fn holds_at(&self, now: SystemTime) -> bool {
        // The subtraction fails if the clock was set back; the age is then unknown.
        now.duration_since(self.since).is_ok_and(|age| age < self.ttl)
    }
}

fn weight(key: &Key, kept: &Kept) -> usize {
    key.bytes() + kept.value.size() + OVERHEAD
}

type ByServer = HashMap<ServerName, HashSet<Arc<Key>>>;

fn lock(by_server: &Mutex<ByServer>) -> MutexGuard<'_, ByServer> {
    by_server.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    pub(super) fn new(config: &CacheSettings, eras: Arc<Eras>) -> Self {
        let by_server = Arc::<Mutex<ByServer>>::default();
        let ttls = config.ttls.iter().map(|(_, ttl)| *ttl);
        let longest = ttls.chain([config.ttl]).max().unwrap_or_default();
        let index = Arc::clone(&by_server);
        let gone = move |key: Arc<Arc<Key>>, _, cause| {
            if cause != RemovalCause::Replaced
                && let Some(keys) = lock(&index).get_mut(key.server())
            {
                keys.remove(&**key);
            }
        };
        let kept = Cache::builder()
            .max_capacity(config.max_bytes)
            .weigher(|key: &Arc<Key>, kept: &Arc<Kept>| {
                u32::try_from(weight(key, kept)).unwrap_or(u32::MAX)
            })
            // A recently used answer is the most likely to be used again.
            .eviction_policy(EvictionPolicy::lru())
            .time_to_live(longest)
            .eviction_listener(gone)
            .build_with_hasher(RandomState::default());
        Self { kept, by_server, eras, largest: largest(config) }
    }

    /// The cached answer for this key, if it is still valid.
    pub(super) fn get(
        &self,
        key: &Key,
        spec: &Arc<ToolSpec>,
        now: SystemTime,
    ) -> Option<ToolValue> {
        let kept = self.kept.get(key)?;
        let is_same = Arc::ptr_eq(&kept.spec, spec) || kept.spec == *spec;
        if is_same && self.is_current(&kept, now) {
            return Some(kept.value.clone());
        }
        self.kept.invalidate(key);
        None
    }

    fn is_current(&self, kept: &Kept, now: SystemTime) -> bool {
        kept.holds_at(now) && kept.changes == self.eras.of(&kept.spec.server).changes
    }

    /// Caches an answer, unless it is too large or the server may have changed something meanwhile.
    pub(super) fn put(
        &self,
        key: Arc<Key>,
        spec: Arc<ToolSpec>,
        value: ToolValue,
        &Ticket { since, changes, .. }: &Ticket,
        ttl: Duration,
    ) {
        let kept = Kept { spec, value, changes, since, ttl };
        let size = u64::try_from(weight(&key, &kept)).unwrap_or(u64::MAX);
        let is_late = kept.changes != self.eras.of(key.server()).changes;
        if size > self.largest || is_late {
            return;
        }
        lock(&self.by_server).entry(key.server().clone()).or_default().insert(Arc::clone(&key));
        self.kept.insert(key, Arc::new(kept));
    }

    /// Removes one answer.
    pub(super) fn forget(&self, key: &Key) {
        self.kept.invalidate(key);
    }

    /// Removes all answers of a server.
    pub(super) fn forget_server(&self, server: &ServerName) {
        let keys = lock(&self.by_server).remove(server).unwrap_or_default();
        for key in keys {
            self.kept.invalidate(&*key);
        }
    }

    /// Removes the answers of tools whose names match, and returns how many were still valid.
    pub(super) fn clear(&self, pattern: &ToolPattern, now: SystemTime) -> u64 {
        let fits = |kept: &Kept| pattern.matches(kept.spec.callable.as_str());
        let chosen: Vec<_> = self.kept.iter().filter(|(_, kept)| fits(kept)).collect();
        let mut cleared = 0;
        for (key, kept) in chosen {
            cleared += u64::from(self.is_current(&kept, now));
            self.kept.invalidate(&**key);
        }
        cleared
    }

    /// The number of answers, and the bytes that they take.
    pub(super) fn size(&self) -> (u64, u64) {
        self.kept.run_pending_tasks();
        (self.kept.entry_count(), self.kept.weighted_size())
    }
}
