//! The metrics of a gateway since its start. The number of time series is bounded and does not
//! depend on what programs do.

mod exposition;
mod histogram;
pub(crate) mod label;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onecall_core::{EngineName, ServerName};
use onecall_engine::Load;

use self::exposition::{Exposition, MetricKind};
use self::histogram::Histogram;
use self::label::CallOutcome;

/// How many servers have time series of their own. A configuration has fewer servers; plans can
/// bring any number of them.
const MAX_SERVERS: usize = 256;

/// The label that stands for all further servers.
const OTHER_SERVERS: &str = "(others)";

/// The counters and histograms of a gateway.
#[derive(Debug, Default)]
pub struct Metrics {
    running: AtomicI64,
    runs: Mutex<RunCounters>,
    calls: Mutex<BTreeMap<ServerName, Arc<CallCounters>>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug, Default)]
struct RunCounters {
    /// Runs by engine and outcome.
    ended: BTreeMap<(&'static str, &'static str), u64>,
    /// Durations of runs by engine.
    durations: BTreeMap<&'static str, Histogram>,
}

/// The calls of one server's tools.
#[derive(Debug, Default)]
pub(crate) struct CallCounters {
    /// Calls by outcome.
    ended: [AtomicU64; CallOutcome::ALL.len()],
    durations: Histogram,
}

/// The result of a cache lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheLookup {
    /// The answer was in the cache.
    Hit,
    /// The call had to be made.
    Miss,
}

/// Values that are not counted but read when the metrics page is requested.
pub struct MetricsState {
    /// Every server, and whether its tools can be called.
    pub servers: Vec<(ServerName, bool)>,
    /// How many workers each engine has started.
    pub workers: Vec<(EngineName, u64)>,
    /// The resources that running programs use.
    pub load: Load,
    /// The queue of writes to the store, if there is a store.
    pub store_queue: Option<StoreQueue>,
}

/// The queue of writes to the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreQueue {
    /// Records and other writes that wait.
    pub waiting: u64,
    /// Those that were dropped, because the store could not be reached or was too slow.
    pub dropped: u64,
}

impl Metrics {
    /// Counts a cache lookup.
    pub fn count_cache_lookup(&self, lookup: CacheLookup) {
        let count = match lookup {
            CacheLookup::Hit => &self.hits,
            CacheLookup::Miss => &self.misses,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn run_started(&self) {
        self.running.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn run_ended(&self, engine: &'static str, outcome: &'static str, took: Duration) {
        self.running.fetch_sub(1, Ordering::Relaxed);
        let mut runs = lock(&self.runs);
        *runs.ended.entry((engine, outcome)).or_default() += 1;
        runs.durations.entry(engine).or_default().observe(took);
    }

    /// The counters for calls of this server's tools.
    pub(crate) fn call_counters(&self, server: &ServerName) -> Arc<CallCounters> {
        let mut calls = lock(&self.calls);
        if let Some(counters) = calls.get(server) {
            return Arc::clone(counters);
        }
        let is_full = calls.len() >= MAX_SERVERS;
        let server = if is_full { ServerName::new(OTHER_SERVERS) } else { server.clone() };
        Arc::clone(calls.entry(server).or_default())
    }

    /// All metrics in the Prometheus text format.
    #[must_use]
    pub fn page(&self, state: &MetricsState) -> String {
        let mut page = Exposition::default();
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        page.family("onecall_build_info", MetricKind::Gauge, "The version of onecall.");
        page.sample("onecall_build_info", &version, 1);
        self.expose_runs(&mut page);
        expose_load(&mut page, state.load);
        self.expose_calls(&mut page);
        expose_store_queue(&mut page, state.store_queue.unwrap_or_default());
        let name = "onecall_workers_started_total";
        page.family(
            name,
            MetricKind::Counter,
            "Worker processes, including those that wait for a program.",
        );
        for (engine, count) in &state.workers {
            page.sample(name, &[("engine", engine.name())], *count);
        }
        let name = "onecall_cache_lookups_total";
        page.family(
            name,
            MetricKind::Counter,
            "Calls that were looked up in the cache, by result.",
        );
        page.sample(name, &[("result", "hit")], self.hits.load(Ordering::Relaxed));
        page.sample(name, &[("result", "miss")], self.misses.load(Ordering::Relaxed));
        let name = "onecall_server_up";
        page.family(name, MetricKind::Gauge, "Whether the tools of a server can be called.");
        for (server, is_up) in &state.servers {
            page.sample(name, &[("server", server.as_str())], u8::from(*is_up));
        }
        page.page()
    }

    fn expose_runs(&self, page: &mut Exposition) {
        let runs = lock(&self.runs);
        let name = "onecall_programs_running";
        page.family(name, MetricKind::Gauge, "Programs that run or wait to.");
        page.sample(name, &[], self.running.load(Ordering::Relaxed));
        let name = "onecall_runs_total";
        page.family(name, MetricKind::Counter, "Programs and plans that have ended.");
        for ((engine, outcome), count) in &runs.ended {
            page.sample(name, &[("engine", engine), ("outcome", outcome)], count);
        }
        let name = "onecall_run_duration_seconds";
        page.family(name, MetricKind::Histogram, "How long programs and plans took.");
        for (engine, durations) in &runs.durations {
            page.histogram(name, &[("engine", engine)], durations);
        }
    }

    fn expose_calls(&self, page: &mut Exposition) {
        let calls = lock(&self.calls);
        let name = "onecall_tool_calls_total";
        page.family(name, MetricKind::Counter, "Tool calls of programs that have ended.");
        for (server, counters) in &*calls {
            for (outcome, count) in CallOutcome::ALL.iter().zip(&counters.ended) {
                let labels = [("server", server.as_str()), ("outcome", outcome.name())];
                page.sample(name, &labels, count.load(Ordering::Relaxed));
            }
        }
        let name = "onecall_tool_call_duration_seconds";
        page.family(name, MetricKind::Histogram, "How long tool calls took.");
        for (server, counters) in &*calls {
            page.histogram(name, &[("server", server.as_str())], &counters.durations);
        }
    }
}

impl CallCounters {
    pub(crate) fn count(&self, outcome: CallOutcome, took: Duration) {
        if let Some(count) = self.ended.get(outcome as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.durations.observe(took);
    }
}

fn expose_store_queue(page: &mut Exposition, queue: StoreQueue) {
    let name = "onecall_store_writes_waiting";
    page.family(name, MetricKind::Gauge, "Records and other writes that wait for the store.");
    page.sample(name, &[], queue.waiting);
    let name = "onecall_store_writes_dropped_total";
    let help = "Records and other writes that were dropped, because the store could not be reached or was \
                too slow.";
    page.family(name, MetricKind::Counter, help);
    page.sample(name, &[], queue.dropped);
}

fn expose_load(page: &mut Exposition, load: Load) {
    let name = "onecall_programs_waiting";
    page.family(name, MetricKind::Gauge, "Programs that wait until others end.");
    page.sample(name, &[], load.waiting);
    let name = "onecall_memory_reserved_bytes";
    page.family(
        name,
        MetricKind::Gauge,
        "Memory limits of the programs that run and of idle sessions.",
    );
    page.sample(name, &[], load.reserved_bytes);
    let name = "onecall_memory_limit_bytes";
    page.family(
        name,
        MetricKind::Gauge,
        "The largest sum of these memory limits; beyond it, programs wait.",
    );
    page.sample(name, &[], load.total_bytes);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_many_servers_there_are_the_page_stays_short() {
        let metrics = Metrics::default();
        for number in 0..2 * MAX_SERVERS {
            let server = ServerName::new(format!("server-{number}"));
            metrics.call_counters(&server).count(CallOutcome::Success, Duration::ZERO);
        }
        let load = Load { running: 0, waiting: 0, reserved_bytes: 0, total_bytes: 0 };
        let state =
            MetricsState { servers: Vec::new(), workers: Vec::new(), load, store_queue: None };
        let page = metrics.page(&state);
        let calls: Vec<&str> =
            page.lines().filter(|line| line.starts_with("onecall_tool_calls_total{")).collect();
        assert_eq!(calls.len(), (MAX_SERVERS + 1) * CallOutcome::ALL.len());
        let others = r#"onecall_tool_calls_total{server="(others)",outcome="success"} 256"#;
        assert!(calls.contains(&others));
    }
}
