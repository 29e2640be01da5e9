//! Cached answers in memory. The least recently used ones are evicted.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use foldhash::quality::RandomState;
use moka::notification::RemovalCause;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use onecall_core::{CacheSettings, ServerName, ToolPattern, ToolSpec, ToolValue};

use super::epochs::ServerEpochs;
use super::key::CacheKey;
use super::max_answer_bytes;
use super::storage::CallStart;

/// Estimated bytes of an entry in addition to its texts.
const ENTRY_OVERHEAD_BYTES: usize = 256;

/// Cached answers by key.
pub(super) struct Memory {
    answers: Cache<Arc<CacheKey>, Arc<CachedAnswer>, RandomState>,
    /// The keys by server, so that the answers of one server can be removed without iterating over
    /// all of them. A key may be missing for a moment; an answer from before a change is not used
    /// in any case.
    by_server: Arc<Mutex<ByServer>>,
    epochs: Arc<ServerEpochs>,
    max_answer_bytes: u64,
}

/// A cached answer, and what decides whether it is still valid.
struct CachedAnswer {
    /// The definition of the tool at that time. An answer is not used for a tool whose definition
    /// has changed.
    spec: Arc<ToolSpec>,
    value: ToolValue,
    /// The server's change counter when the call was made.
    changes: u64,
    since: SystemTime,
    ttl: Duration,
}

impl CachedAnswer {
    fn is_fresh_at(&self, now: SystemTime) -> bool {
        // The subtraction fails if the clock was set back; the age is then unknown.
        now.duration_since(self.since).is_ok_and(|age| age < self.ttl)
    }
}

fn weight(key: &CacheKey, cached: &CachedAnswer) -> usize {
    key.bytes() + cached.value.size() + ENTRY_OVERHEAD_BYTES
}

type ByServer = HashMap<ServerName, HashSet<Arc<CacheKey>>>;

fn lock(by_server: &Mutex<ByServer>) -> MutexGuard<'_, ByServer> {
    by_server.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    pub(super) fn new(config: &CacheSettings, epochs: Arc<ServerEpochs>) -> Self {
        let by_server = Arc::<Mutex<ByServer>>::default();
        let ttls = config.ttls.iter().map(|(_, ttl)| *ttl);
        let longest = ttls.chain([config.ttl]).max().unwrap_or_default();
        let index = Arc::clone(&by_server);
        let on_removal = move |key: Arc<Arc<CacheKey>>, _, cause| {
            if cause != RemovalCause::Replaced
                && let Some(keys) = lock(&index).get_mut(key.server())
            {
                keys.remove(&**key);
            }
        };
        let answers = Cache::builder()
            .max_capacity(config.max_bytes)
            .weigher(|key: &Arc<CacheKey>, cached: &Arc<CachedAnswer>| {
                u32::try_from(weight(key, cached)).unwrap_or(u32::MAX)
            })
            // A recently used answer is the most likely to be used again.
            .eviction_policy(EvictionPolicy::lru())
            .time_to_live(longest)
            .eviction_listener(on_removal)
            .build_with_hasher(RandomState::default());
        Self { answers, by_server, epochs, max_answer_bytes: max_answer_bytes(config) }
    }

    /// The cached answer for this key, if it is still valid.
    pub(super) fn get(
        &self,
        key: &CacheKey,
        spec: &Arc<ToolSpec>,
        now: SystemTime,
    ) -> Option<ToolValue> {
        let cached = self.answers.get(key)?;
        let is_same = Arc::ptr_eq(&cached.spec, spec) || cached.spec == *spec;
        if is_same && self.is_current(&cached, now) {
            return Some(cached.value.clone());
        }
        self.answers.invalidate(key);
        None
    }

    fn is_current(&self, cached: &CachedAnswer, now: SystemTime) -> bool {
        cached.is_fresh_at(now) && cached.changes == self.epochs.of(&cached.spec.server).changes
    }

    /// Caches an answer, unless it is too large or the server may have changed something meanwhile.
    pub(super) fn insert(
        &self,
        key: Arc<CacheKey>,
        spec: Arc<ToolSpec>,
        value: ToolValue,
        &CallStart { since, changes, .. }: &CallStart,
        ttl: Duration,
    ) {
        let cached = CachedAnswer { spec, value, changes, since, ttl };
        let size = u64::try_from(weight(&key, &cached)).unwrap_or(u64::MAX);
        let is_late = cached.changes != self.epochs.of(key.server()).changes;
        if size > self.max_answer_bytes || is_late {
            return;
        }
        lock(&self.by_server).entry(key.server().clone()).or_default().insert(Arc::clone(&key));
        self.answers.insert(key, Arc::new(cached));
    }

    /// Removes one answer.
    pub(super) fn forget(&self, key: &CacheKey) {
        self.answers.invalidate(key);
    }

    /// Removes all answers of a server.
    pub(super) fn forget_server(&self, server: &ServerName) {
        let keys = lock(&self.by_server).remove(server).unwrap_or_default();
        for key in keys {
            self.answers.invalidate(&*key);
        }
    }

    /// Removes the answers of tools whose names match, and returns how many were still valid.
    pub(super) fn clear(&self, pattern: &ToolPattern, now: SystemTime) -> u64 {
        let fits = |cached: &CachedAnswer| pattern.matches(cached.spec.callable.as_str());
        let chosen: Vec<_> = self.answers.iter().filter(|(_, cached)| fits(cached)).collect();
        let mut cleared = 0;
        for (key, cached) in chosen {
            cleared += u64::from(self.is_current(&cached, now));
            self.answers.invalidate(&**key);
        }
        cleared
    }

    /// The number of answers, and the bytes that they take.
    pub(super) fn size(&self) -> (u64, u64) {
        self.answers.run_pending_tasks();
        (self.answers.entry_count(), self.answers.weighted_size())
    }
}
