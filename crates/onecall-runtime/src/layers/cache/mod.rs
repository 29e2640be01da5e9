//! The cache layer: answers repeated calls without asking the server again.
//!
//! Answers of read-only tools are kept for a while, and identical calls at the same time are made
//! once. A call that may change something invalidates all earlier answers of its server. Whether a
//! tool may be called at all is decided outside of the cache, for each call.

mod canonical;
mod clock;
mod containing;
mod control;
mod disk;
mod eras;
mod flights;
mod key;
mod memory;
mod near;
mod place;
mod treatment;

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use onecall_core::{
    Answer, BoxFuture, CacheScope, CacheSettings, CallHandler, CallResult, Caller, Freshness,
    QuestionChannel, ResolvedCall, RunContext, ServerName, ToolPattern, ToolSpec,
};
use serde::Serialize;

pub(crate) use control::CacheControl;

use clock::{Clock, SystemClock};
use containing::names_containing;
use disk::Disk;
use eras::Eras;
use flights::{Flight, Flights, Landed, Listing};
use key::Key;
use memory::Memory;
use place::Place;
use treatment::Treatment;

use crate::{CacheLookup, Metrics, StoreWriter};

/// The prefix of callable names. A call without it belongs to no server, so there is no way to know
/// when its answer changes.
const CALLABLE: &str = "mcp__";

/// Gives each server, together with the account it is used with, an identity: answers of one
/// identity are not used for another.
pub trait ServerIdentities: Send + Sync {
    /// The current identity of a server; `None` if its answers must not be cached.
    fn identity(&self, server: &ServerName) -> Option<[u8; 32]>;
}

/// The cached answers for the programs of a gateway, and the calls in progress.
pub struct Cache {
    config: Arc<CacheSettings>,
    clock: Arc<dyn Clock>,
    eras: Arc<Eras>,
    identities: Arc<dyn ServerIdentities>,
    /// The storage that all programs share; `None` if each program has a cache of its own.
    common: Option<Arc<Holdings>>,
    metrics: Arc<Metrics>,
}

/// The storage, the calls in progress and the counters of one cache.
struct Holdings {
    place: Place,
    flights: Arc<Flights>,
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

impl Holdings {
    fn new(place: Place) -> Arc<Self> {
        Arc::new(Self {
            place,
            flights: Arc::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        })
    }

    /// Removes the answers of tools whose names match, and returns their number.
    async fn clear(&self, pattern: &ToolPattern, now: SystemTime) -> u64 {
        self.flights.disown(pattern);
        self.place.clear(pattern, now).await
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
        let eras = Arc::<Eras>::default();
        let memory = || Place::Memory(Memory::new(&settings, Arc::clone(&eras)));
        let place = match (settings.scope, store) {
            (CacheScope::Run, _) => None,
            (CacheScope::Shared, Some(store)) => {
                Some(Place::Disk(Disk::new(&settings, store, Arc::clone(&eras))))
            }
            (CacheScope::Process | CacheScope::Shared, _) => Some(memory()),
        };
        let common = place.map(Holdings::new);
        let (clock, metrics) = (Arc::new(SystemClock), Arc::default());
        Self { config: Arc::new(settings), clock, eras, identities, common, metrics }
    }

    /// Replaces the metrics that cache lookups are counted in.
    #[must_use]
    pub fn with_metrics(self, metrics: Arc<Metrics>) -> Self {
        Self { metrics, ..self }
    }

    /// The cache layer for the calls of one program; `host` executes the calls that miss.
    pub(crate) fn around(&self, host: Arc<dyn CallHandler>) -> Cached {
        let own = || {
            let memory = Memory::new(&self.config, Arc::clone(&self.eras));
            Holdings::new(Place::Memory(memory))
        };
        Cached {
            host,
            config: Arc::clone(&self.config),
            clock: Arc::clone(&self.clock),
            eras: Arc::clone(&self.eras),
            identities: Arc::clone(&self.identities),
            holdings: self.common.clone().unwrap_or_else(own),
            metrics: Arc::clone(&self.metrics),
        }
    }

    /// Removes shared answers of tools whose names contain `text`, and returns their number.
    pub async fn clear(&self, text: &str) -> u64 {
        match (&self.common, names_containing(text)) {
            (Some(common), Ok(pattern)) => common.clear(&pattern, self.clock.now()).await,
            _ => 0,
        }
    }

    /// Invalidates all answers of these servers, whose configuration or account has changed.
    pub fn forget<'a>(&self, servers: impl IntoIterator<Item = &'a ServerName>) {
        servers.into_iter().for_each(|server| self.eras.changed(server));
    }
}

/// The cache layer of one program.
pub(crate) struct Cached {
    host: Arc<dyn CallHandler>,
    config: Arc<CacheSettings>,
    clock: Arc<dyn Clock>,
    eras: Arc<Eras>,
    identities: Arc<dyn ServerIdentities>,
    holdings: Arc<Holdings>,
    metrics: Arc<Metrics>,
}

impl Cached {
    /// Removes the answers of tools whose names match, and returns their number.
    pub(crate) async fn clear(&self, pattern: &ToolPattern) -> u64 {
        self.holdings.clear(pattern, self.clock.now()).await
    }

    pub(crate) async fn stats(&self) -> CacheStats {
        let (entries, bytes) = self.holdings.place.size(self.clock.now()).await;
        let is_this = |(_, scope): &&(&str, CacheScope)| *scope == self.config.scope;
        CacheStats {
            scope: CacheScope::NAMES.iter().find(is_this).map_or("", |(name, _)| *name),
            hits: self.holdings.hits.load(Ordering::Relaxed),
            misses: self.holdings.misses.load(Ordering::Relaxed),
            entries,
            bytes,
            max_bytes: self.config.max_bytes,
        }
    }

    /// Executes a call as its tool is to be treated: cached, passed on, or as a change.
    fn call_tool(&self, spec: Arc<ToolSpec>, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        match Treatment::of(&spec, &self.config) {
            Treatment::Keep(ttl) => match self.key(&spec, &call) {
                Some(key) => self.answer(key, spec, ttl, call),
                None => self.host.call(self.questioned(call)),
            },
            Treatment::Pass => self.host.call(self.questioned(call)),
            Treatment::Invalidate => {
                let call = self.questioned(call);
                Box::pin(async move { self.change(&spec.server, call).await })
            }
        }
    }

    /// The cache key of a call; `None` if its answer cannot be cached.
    fn key(&self, spec: &ToolSpec, call: &ResolvedCall) -> Option<Key> {
        Key::of(self.identities.identity(&spec.server)?, spec, call)
    }

    /// Answers from the cache, by joining an identical call, or by making the call.
    fn answer(
        &self,
        key: Key,
        spec: Arc<ToolSpec>,
        ttl: Duration,
        call: ResolvedCall,
    ) -> BoxFuture<'_, CallResult> {
        let now = self.clock.now();
        if call.freshness != Freshness::New
            && let Some(value) = self.holdings.place.at_hand(&key, &spec, now, ttl)
        {
            self.count_hit();
            return Box::pin(ready(Ok(Answer::cached(value))));
        }
        Box::pin(self.find(Arc::new(key), spec, ttl, call, now))
    }

    /// Answers a call that is not in memory: from the store, by joining a call, or by making it.
    async fn find(
        &self,
        key: Arc<Key>,
        spec: Arc<ToolSpec>,
        ttl: Duration,
        call: ResolvedCall,
        now: SystemTime,
    ) -> CallResult {
        let place = &self.holdings.place;
        let is_new = call.freshness == Freshness::New;
        if is_new {
            place.forget(&key, &spec, now).await;
        } else if let Some(value) = place.far_off(&key, &spec, now, ttl).await {
            self.count_hit();
            return Ok(Answer::cached(value));
        }
        let changes = self.eras.of(&spec.server).changes;
        let under_way = if is_new { None } else { self.holdings.flights.join(&key, changes) };
        let Some(flight) = under_way else {
            self.count_miss();
            let landed = self.depart(key, spec, ttl, self.questioned(call)).await;
            return landed.result.clone().map(Answer::live);
        };
        let landed = flight.await;
        if landed.is_for_all {
            self.count_hit();
            return landed.result.clone().map(Answer::cached);
        }
        self.count_miss();
        self.host.call(self.questioned(call)).await
    }

    /// Wraps the call so that questions of its server to the client are counted.
    fn questioned(&self, mut call: ResolvedCall) -> ResolvedCall {
        if let Some(caller) = &call.run.caller {
            let (eras, asked) = (Arc::clone(&self.eras), Arc::clone(&caller.questions));
            let questions: QuestionChannel = Arc::new(move |question| {
                eras.asked(&question.server);
                asked(question)
            });
            let caller = Some(Arc::new(Caller { questions, ..Caller::clone(caller) }));
            call.run = Arc::new(RunContext { caller, ..RunContext::clone(&call.run) });
        }
        call
    }

    fn count_miss(&self) {
        self.holdings.misses.fetch_add(1, Ordering::Relaxed);
        self.metrics.looked_up(CacheLookup::Miss);
    }

    fn count_hit(&self) {
        self.holdings.hits.fetch_add(1, Ordering::Relaxed);
        self.metrics.looked_up(CacheLookup::Hit);
    }

    /// Makes a call that others may join, and caches its answer.
    fn depart(
        &self,
        key: Arc<Key>,
        spec: Arc<ToolSpec>,
        ttl: Duration,
        call: ResolvedCall,
    ) -> Flight {
        let (host, clock) = (Arc::clone(&self.host), Arc::clone(&self.clock));
        let (eras, holdings) = (Arc::clone(&self.eras), Arc::clone(&self.holdings));
        let (era, name) = (eras.of(&spec.server), call.name.clone());
        let asked = Arc::clone(&key);
        let make = move |listing: Listing| -> BoxFuture<'static, Arc<Landed>> {
            Box::pin(async move {
                // The age counts from the start of the call: the answer may be as old as that.
                let ticket = holdings.place.ticket(&asked, clock.now(), era.changes).await;
                let result = host.call(call).await.map(|answer| answer.value);
                let is_for_all = eras.of(&spec.server).questions == era.questions;
                if let Ok(value) = &result
                    && is_for_all
                    && listing.is_current()
                {
                    let (value, now) = (value.clone(), clock.now());
                    holdings.place.put(asked, spec, value, ticket, now, ttl).await;
                }
                drop(listing);
                Arc::new(Landed { result, is_for_all })
            })
        };
        self.holdings.flights.depart(key, name, era.changes, make)
    }

    /// Makes a call that may change something. Answers of its server from before or during the call
    /// are not used afterwards.
    async fn change(&self, server: &ServerName, call: ResolvedCall) -> CallResult {
        self.eras.changed(server);
        self.holdings.place.forget_server(server, self.clock.now()).await;
        let mut change = Change { cached: self, server, is_over: false };
        let result = self.host.call(call).await;
        change.is_over = true;
        drop(change);
        self.holdings.place.forget_server(server, self.clock.now()).await;
        result
    }
}

/// A changing call in progress. Its end invalidates answers even if the caller has gone away.
struct Change<'a> {
    cached: &'a Cached,
    server: &'a ServerName,
    is_over: bool,
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        self.cached.eras.changed(self.server);
        if !self.is_over {
            let now = self.cached.clock.now();
            self.cached.holdings.place.forget_server_soon(self.server, now);
        }
    }
}

impl Drop for Cached {
    fn drop(&mut self) {
        self.holdings.place.settle();
    }
}

/// An answer is cached only if this many of its size would fit.
const LEAST_ENTRIES: u64 = 8;

/// The size of the largest answer that is cached, in bytes.
fn largest(config: &CacheSettings) -> u64 {
    config.max_bytes / LEAST_ENTRIES
}

impl CallHandler for Cached {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        match &call.tool {
            Ok(spec) if spec.callable.as_str().starts_with(CALLABLE) => {
                self.call_tool(Arc::clone(spec), call)
            }
            _ => self.host.call(call),
        }
    }
}

#[cfg(test)]
mod tests;
