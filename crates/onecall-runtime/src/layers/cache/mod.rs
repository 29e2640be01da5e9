//! The cache layer: answers repeated calls without asking the server again.
//!
//! Answers of read-only tools are kept for a while, and identical calls at the same time are made
//! once. A call that may change something invalidates all earlier answers of its server. Whether a
//! tool may be called at all is decided outside of the cache, for each call.

mod canonical;
mod clock;
mod disk;
mod epochs;
mod functions;
mod in_flight;
mod key;
mod memory;
mod name_pattern;
mod policy;
mod storage;
mod store_copies;

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use onecall_core::{
    Answer, BoxFuture, CacheScope, CacheSettings, CallHandler, CallResult, Caller, Freshness,
    ResolvedCall, RunContext, ServerName, ServerQuestionChannel, ToolPattern, ToolSpec, UserName,
};
use serde::Serialize;

pub(crate) use functions::CacheFunctions;

use clock::{Clock, SystemClock};
use disk::Disk;
use epochs::ServerEpochs;
use in_flight::{CompletedCall, InFlightCall, InFlightCalls, Registration};
use key::CacheKey;
use memory::Memory;
use name_pattern::pattern_of_names_containing;
use policy::CachePolicy;
use storage::CacheStorage;

use crate::{CacheLookup, Metrics, StoreWriter};

/// The prefix of callable names. A call without it belongs to no server, so there is no way to know
/// when its answer changes.
const CALLABLE_PREFIX: &str = "mcp__";

/// Gives each server, together with the account it is used with, an identity: answers of one
/// identity are not used for another.
pub trait ServerIdentities: Send + Sync {
    /// The current identity of a server for this user; `None` if its answers must not be cached. A
    /// server that is used with credentials of its users has another identity for each of them.
    fn identity(&self, server: &ServerName, user: &UserName) -> Option<[u8; 32]>;
}

/// The cached answers for the programs of a gateway, and the calls in progress.
pub struct Cache {
    config: Arc<CacheSettings>,
    clock: Arc<dyn Clock>,
    epochs: Arc<ServerEpochs>,
    identities: Arc<dyn ServerIdentities>,
    /// The storage that all programs share; `None` if each program has a cache of its own.
    shared: Option<Arc<CacheState>>,
    metrics: Arc<Metrics>,
}

/// The storage, the calls in progress and the counters of one cache.
struct CacheState {
    storage: CacheStorage,
    in_flight: Arc<InFlightCalls>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// The size of a cache and how often it was used.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct CacheStats {
    scope: &'static str,
    /// Calls that were answered from the cache.
    hits: u64,
    /// Calls that could have been answered from the cache but were not in it.
    misses: u64,
    entries: u64,
    bytes: u64,
    max_bytes: u64,
}

impl CacheState {
    fn new(storage: CacheStorage) -> Arc<Self> {
        Arc::new(Self {
            storage,
            in_flight: Arc::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        })
    }

    /// Removes the answers of tools whose names match, and returns their number.
    async fn clear(&self, pattern: &ToolPattern, now: SystemTime) -> u64 {
        self.in_flight.remove_matching(pattern);
        self.storage.clear(pattern, now).await
    }
}

impl Cache {
    /// Creates a cache with these settings. Without a store, a cache that is to be shared with
    /// other processes is shared only within this one.
    #[must_use]
    pub fn new(
        settings: CacheSettings,
        store: Option<Arc<StoreWriter>>,
        identities: Arc<dyn ServerIdentities>,
    ) -> Self {
        let epochs = Arc::<ServerEpochs>::default();
        let memory = || CacheStorage::Memory(Memory::new(&settings, Arc::clone(&epochs)));
        let storage = match (settings.scope, store) {
            (CacheScope::Run, _) => None,
            (CacheScope::Shared, Some(store)) => {
                Some(CacheStorage::Disk(Disk::new(&settings, store, Arc::clone(&epochs))))
            }
            (CacheScope::Process | CacheScope::Shared, _) => Some(memory()),
        };
        let shared = storage.map(CacheState::new);
        let (clock, metrics) = (Arc::new(SystemClock), Arc::default());
        Self { config: Arc::new(settings), clock, epochs, identities, shared, metrics }
    }

    /// Replaces the metrics that cache lookups are counted in.
    #[must_use]
    pub fn with_metrics(self, metrics: Arc<Metrics>) -> Self {
        Self { metrics, ..self }
    }

    /// The cache layer for the calls of one program; `host` executes the calls that miss.
    pub(crate) fn around(&self, host: Arc<dyn CallHandler>) -> CacheLayer {
        let own = || {
            let memory = Memory::new(&self.config, Arc::clone(&self.epochs));
            CacheState::new(CacheStorage::Memory(memory))
        };
        CacheLayer {
            host,
            config: Arc::clone(&self.config),
            clock: Arc::clone(&self.clock),
            epochs: Arc::clone(&self.epochs),
            identities: Arc::clone(&self.identities),
            state: self.shared.clone().unwrap_or_else(own),
            metrics: Arc::clone(&self.metrics),
        }
    }

    /// Removes shared answers of tools whose names contain `text`, and returns their number.
    pub async fn clear(&self, text: &str) -> u64 {
        match (&self.shared, pattern_of_names_containing(text)) {
            (Some(shared), Ok(pattern)) => shared.clear(&pattern, self.clock.now()).await,
            _ => 0,
        }
    }

    /// Invalidates all answers of these servers, whose configuration or account has changed.
    pub fn invalidate_servers<'a>(&self, servers: impl IntoIterator<Item = &'a ServerName>) {
        servers.into_iter().for_each(|server| self.epochs.record_change(server));
    }
}

/// The cache layer of one program.
pub(crate) struct CacheLayer {
    host: Arc<dyn CallHandler>,
    config: Arc<CacheSettings>,
    clock: Arc<dyn Clock>,
    epochs: Arc<ServerEpochs>,
    identities: Arc<dyn ServerIdentities>,
    state: Arc<CacheState>,
    metrics: Arc<Metrics>,
}

impl CacheLayer {
    /// Removes the answers of tools whose names match, and returns their number.
    pub(crate) async fn clear(&self, pattern: &ToolPattern) -> u64 {
        self.state.clear(pattern, self.clock.now()).await
    }

    pub(crate) async fn stats(&self) -> CacheStats {
        let (entries, bytes) = self.state.storage.size(self.clock.now()).await;
        let is_this = |(_, scope): &&(&str, CacheScope)| *scope == self.config.scope;
        CacheStats {
            scope: CacheScope::NAMES.iter().find(is_this).map_or("", |(name, _)| *name),
            hits: self.state.hits.load(Ordering::Relaxed),
            misses: self.state.misses.load(Ordering::Relaxed),
            entries,
            bytes,
            max_bytes: self.config.max_bytes,
        }
    }

    /// Executes a call as its tool is to be treated: cached, passed on, or as a change.
    fn call_tool(&self, spec: Arc<ToolSpec>, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        match CachePolicy::of(&spec, &self.config) {
            CachePolicy::Keep(ttl) => match self.key(&spec, &call) {
                Some(key) => self.answer(key, spec, ttl, call),
                None => self.host.call(self.with_question_counter(call)),
            },
            CachePolicy::Bypass => self.host.call(self.with_question_counter(call)),
            CachePolicy::Invalidate => {
                let call = self.with_question_counter(call);
                Box::pin(async move { self.make_changing_call(&spec.server, call).await })
            }
        }
    }

    /// The cache key of a call; `None` if its answer cannot be cached.
    fn key(&self, spec: &ToolSpec, call: &ResolvedCall) -> Option<CacheKey> {
        let identity = self.identities.identity(&spec.server, &call.run.principal.user)?;
        CacheKey::of(identity, spec, call)
    }

    /// Answers from the cache, by joining an identical call, or by making the call.
    fn answer(
        &self,
        key: CacheKey,
        spec: Arc<ToolSpec>,
        ttl: Duration,
        call: ResolvedCall,
    ) -> BoxFuture<'_, CallResult> {
        let now = self.clock.now();
        if call.freshness != Freshness::New
            && let Some(value) = self.state.storage.get_in_memory(&key, &spec, now, ttl)
        {
            self.count_hit();
            return Box::pin(ready(Ok(Answer::cached(value))));
        }
        Box::pin(self.answer_after_memory_miss(Arc::new(key), spec, ttl, call, now))
    }

    /// Answers a call that is not in memory: from the store, by joining a call, or by making it.
    async fn answer_after_memory_miss(
        &self,
        key: Arc<CacheKey>,
        spec: Arc<ToolSpec>,
        ttl: Duration,
        call: ResolvedCall,
        now: SystemTime,
    ) -> CallResult {
        let storage = &self.state.storage;
        let is_new = call.freshness == Freshness::New;
        if is_new {
            storage.forget(&key, &spec, now).await;
        } else if let Some(value) = storage.get_from_store(&key, &spec, now, ttl).await {
            self.count_hit();
            return Ok(Answer::cached(value));
        }
        let changes = self.epochs.of(&spec.server).changes;
        let joinable = if is_new { None } else { self.state.in_flight.join(&key, changes) };
        let Some(shared_call) = joinable else {
            self.count_miss();
            let completed = self.start_call(key, spec, ttl, self.with_question_counter(call)).await;
            return completed.result.clone().map(Answer::live);
        };
        let completed = shared_call.await;
        if completed.is_shareable {
            self.count_hit();
            return completed.result.clone().map(Answer::cached);
        }
        self.count_miss();
        self.host.call(self.with_question_counter(call)).await
    }

    /// Wraps the call so that questions of its server to the client are counted.
    fn with_question_counter(&self, mut call: ResolvedCall) -> ResolvedCall {
        if let Some(caller) = &call.run.caller {
            let (epochs, asked) = (Arc::clone(&self.epochs), Arc::clone(&caller.questions));
            let questions: ServerQuestionChannel = Arc::new(move |question| {
                epochs.record_question(&question.server);
                asked(question)
            });
            let caller = Some(Arc::new(Caller { questions, ..Caller::clone(caller) }));
            call.run = Arc::new(RunContext { caller, ..RunContext::clone(&call.run) });
        }
        call
    }

    fn count_miss(&self) {
        self.state.misses.fetch_add(1, Ordering::Relaxed);
        self.metrics.count_cache_lookup(CacheLookup::Miss);
    }

    fn count_hit(&self) {
        self.state.hits.fetch_add(1, Ordering::Relaxed);
        self.metrics.count_cache_lookup(CacheLookup::Hit);
    }

    /// Makes a call that others may join, and caches its answer.
    fn start_call(
        &self,
        key: Arc<CacheKey>,
        spec: Arc<ToolSpec>,
        ttl: Duration,
        call: ResolvedCall,
    ) -> InFlightCall {
        let (host, clock) = (Arc::clone(&self.host), Arc::clone(&self.clock));
        let (epochs, state) = (Arc::clone(&self.epochs), Arc::clone(&self.state));
        let (epoch, name) = (epochs.of(&spec.server), call.name.clone());
        let asked = Arc::clone(&key);
        let make = move |registration: Registration| -> BoxFuture<'static, Arc<CompletedCall>> {
            Box::pin(async move {
                // The age counts from the start of the call: the answer may be as old as that.
                let call_start =
                    state.storage.note_call_start(&asked, clock.now(), epoch.changes).await;
                let result = host.call(call).await.map(|answer| answer.value);
                let is_shareable = epochs.of(&spec.server).questions == epoch.questions;
                if let Ok(value) = &result
                    && is_shareable
                    && registration.is_current()
                {
                    let (value, now) = (value.clone(), clock.now());
                    state.storage.insert(asked, spec, value, call_start, now, ttl).await;
                }
                drop(registration);
                Arc::new(CompletedCall { result, is_shareable })
            })
        };
        self.state.in_flight.register(key, name, epoch.changes, make)
    }

    /// Makes a call that may change something. Answers of its server from before or during the call
    /// are not used afterwards.
    async fn make_changing_call(&self, server: &ServerName, call: ResolvedCall) -> CallResult {
        self.epochs.record_change(server);
        self.state.storage.forget_server(server, self.clock.now()).await;
        let mut change = ChangingCall { layer: self, server, is_over: false };
        let result = self.host.call(call).await;
        change.is_over = true;
        drop(change);
        self.state.storage.forget_server(server, self.clock.now()).await;
        result
    }
}

/// A changing call in progress. Its end invalidates answers even if the caller has gone away.
struct ChangingCall<'a> {
    layer: &'a CacheLayer,
    server: &'a ServerName,
    is_over: bool,
}

impl Drop for ChangingCall<'_> {
    fn drop(&mut self) {
        self.layer.epochs.record_change(self.server);
        if !self.is_over {
            let now = self.layer.clock.now();
            self.layer.state.storage.forget_server_soon(self.server, now);
        }
    }
}

impl Drop for CacheLayer {
    fn drop(&mut self) {
        self.state.storage.write_hits();
    }
}

/// An answer is cached only if this many of its size would fit.
const MIN_ENTRIES: u64 = 8;

/// The size of the largest answer that is cached, in bytes.
fn max_answer_bytes(config: &CacheSettings) -> u64 {
    config.max_bytes / MIN_ENTRIES
}

impl CallHandler for CacheLayer {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        match &call.tool {
            Ok(spec) if spec.callable.as_str().starts_with(CALLABLE_PREFIX) => {
                self.call_tool(Arc::clone(spec), call)
            }
            _ => self.host.call(call),
        }
    }
}

#[cfg(test)]
mod tests;
