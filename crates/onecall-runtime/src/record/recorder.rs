//! Turns finished runs into records on a background thread.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use onecall_core::storage::{COMMAND_LINE_CLIENT, Retention, RunDetail};
use onecall_core::{TextSizes, Timestamp, ToolSpec};

use super::recording::{FinishedRun, RunningRun, UnfinishedRun};
use super::redactor::Redactor;
use super::run_record;
use super::savings::text_sizes;
use super::token_counts::{CountableRun, TokenCounter, TokenCounts, definitions};
use crate::call_log::RecordDetail;
use crate::{Directory, StoreWriter};

/// How many runs may wait to be recorded, and how much memory they may take together. One run may
/// take more than that if no other waits.
const QUEUE_LENGTH: usize = 256;
const QUEUE_BYTES: usize = 128 * 1024 * 1024;

/// Expired runs are removed at the first run and then after every so many.
const PRUNE_EVERY: u64 = 100;

/// Where the tools of a run come from; their definitions are measured for the savings.
#[derive(Clone)]
pub(crate) enum ToolSource {
    /// The tools of this directory, which is asked when the record is made.
    Directory(Arc<dyn Directory>),
    /// The tools in this list.
    List(Vec<Arc<ToolSpec>>),
    /// The tools are not known: the run was cancelled, or it is a single call.
    Unknown,
}

impl ToolSource {
    fn tools(&self) -> Vec<Arc<ToolSpec>> {
        match self {
            Self::Directory(directory) => directory.known_tools(),
            Self::List(tools) => tools.clone(),
            Self::Unknown => Vec::new(),
        }
    }
}

/// The settings of a [`Recorder`].
pub struct RecordSettings {
    /// How much of a run is recorded; `None` records nothing.
    pub detail: Option<RunDetail>,
    /// How long runs are kept.
    pub retention: Retention,
    /// Whether agents get a line about the tokens that a program saved.
    pub report_savings: bool,
    /// Removes secrets from everything that is recorded.
    pub redactor: Redactor,
}

/// The priority of the thread that records: lower than that of calls and programs, but not the lowest.
/// The lowest would get next to no time on a busy machine, and the end of the gateway waits for it.
const NICENESS: i32 = 10;

/// Records runs, and measures how many bytes their agents have read and written.
pub struct Recorder {
    /// Whether agents get a line about the tokens that a program saved.
    reports_savings: bool,
    state: Arc<RecorderState>,
    /// The queue to the thread; `None` once the recorder is closed.
    queue: Mutex<Option<SyncSender<FinishedRun>>>,
    finished: Mutex<Receiver<()>>,
    /// Runs that have not ended. Ended ones may still be in the list until it is cleaned up.
    unfinished: Mutex<Vec<Weak<UnfinishedRun>>>,
}

struct RecorderState {
    detail: Option<RunDetail>,
    retention: Retention,
    store: Option<Arc<StoreWriter>>,
    redactor: Mutex<Redactor>,
    /// The definitions of onecall's own tools.
    own_definitions: Mutex<Arc<str>>,
    /// Has the tokens of runs counted, if they are.
    token_counts: OnceLock<TokenCounts>,
    /// The tools of the last run and their definitions, which seldom change from run to run.
    definitions: Mutex<(Vec<Arc<ToolSpec>>, Arc<str>)>,
    /// The bytes of the runs that wait.
    waiting_bytes: AtomicUsize,
    dropped: AtomicU64,
}

impl Recorder {
    /// Starts a recorder that writes to `store`; `None` if there is nothing to record and savings
    /// are not reported.
    #[must_use]
    pub fn start(settings: RecordSettings, store: Option<Arc<StoreWriter>>) -> Option<Arc<Self>> {
        let RecordSettings { detail, retention, report_savings: reports_savings, redactor } =
            settings;
        let store = store.filter(|_| detail.is_some());
        let detail = detail.filter(|_| store.is_some());
        if detail.is_none() && !reports_savings {
            return None;
        }
        let state = Arc::new(RecorderState {
            detail,
            retention,
            store,
            redactor: Mutex::new(redactor),
            own_definitions: Mutex::default(),
            token_counts: OnceLock::new(),
            definitions: Mutex::default(),
            waiting_bytes: AtomicUsize::new(0),
            dropped: AtomicU64::new(0),
        });
        let (queue, runs) = mpsc::sync_channel(QUEUE_LENGTH);
        let (finish, finished) = mpsc::sync_channel(1);
        let thread_state = Arc::clone(&state);
        let work = move || {
            _ = rustix::process::setpriority_process(None, NICENESS);
            thread_state.record_all(&runs);
            _ = finish.send(());
        };
        let start = || thread::Builder::new().name("records".to_owned()).spawn(work);
        let started = state.store.is_some().then(start).transpose();
        if let Err(error) = &started {
            tracing::warn!("cannot start the recorder, so onecall records no runs: {error}");
        }
        let queue = Mutex::new(matches!(started, Ok(Some(_))).then_some(queue));
        let finished = Mutex::new(finished);
        let unfinished = Mutex::default();
        Some(Arc::new(Self { reports_savings, state, queue, finished, unfinished }))
    }

    /// Sets the definitions of onecall's own tools, as clients show them; they count as a cost of each run.
    pub fn set_own_definitions(&self, definitions: &str) {
        *lock(&self.state.own_definitions) = definitions.into();
    }

    /// Has the tokens of runs counted that are recorded as a whole, from now on.
    pub fn count_tokens_with(&self, counter: Arc<dyn TokenCounter>) {
        if let (Some(store), Some(RunDetail::Full)) = (&self.state.store, self.state.detail)
            && let Some(counts) = TokenCounts::start(counter, Arc::clone(store))
        {
            _ = self.state.token_counts.set(counts);
        }
    }

    /// Adds the secrets of `redactor`, which are removed from later records.
    pub fn add_secrets(&self, redactor: Redactor) {
        lock(&self.state.redactor).add(redactor);
    }

    /// How much of each call the record of a run needs.
    pub(crate) fn record_detail(&self) -> RecordDetail {
        self.state.record_detail()
    }

    /// Queues a run to be recorded. Returns its sizes if savings are reported to agents.
    pub(super) fn submit(&self, run: FinishedRun) -> Option<TextSizes> {
        let sizes =
            self.reports_savings.then(|| self.state.text_sizes(&run, &run.tool_source.tools()));
        // Without a store, or after `close`, there is no queue.
        if let Some(queue) = lock(&self.queue).as_ref()
            && !self.state.enqueue(queue, run)
            && self.state.dropped.fetch_add(1, Ordering::Relaxed) == 0
        {
            tracing::warn!("runs end faster than they are recorded; some will be missing");
        }
        sizes
    }

    /// How many runs were not recorded, because too many waited.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.state.dropped.load(Ordering::Relaxed)
    }

    /// Adds a run that has begun to those that `close` records.
    pub(super) fn track(&self, run: &Arc<UnfinishedRun>) {
        let mut unfinished = lock(&self.unfinished);
        unfinished.retain(|run| run.strong_count() > 0);
        unfinished.push(Arc::downgrade(run));
    }

    /// Reads the runs that are under way and will be recorded, the oldest first, without those that can be
    /// continued in another process. `read` must not take long: a run does not end while it is read.
    pub fn running<T>(&self, mut read: impl FnMut(RunningRun<'_>) -> T) -> Vec<T> {
        if self.state.detail.is_none() {
            return Vec::new();
        }
        let unfinished: Vec<_> = lock(&self.unfinished).iter().filter_map(Weak::upgrade).collect();
        unfinished.iter().filter_map(|run| run.read(&mut read)).collect()
    }

    /// Queues the runs that are still under way as cancelled, closes the queue, and waits at most
    /// `timeout` until all runs are recorded.
    pub fn close(&self, timeout: Duration) {
        let unfinished = std::mem::take(&mut *lock(&self.unfinished));
        for run in unfinished.iter().filter_map(Weak::upgrade) {
            run.hand_over().map(|run| self.submit(run));
        }
        drop(lock(&self.queue).take());
        _ = lock(&self.finished).recv_timeout(timeout);
    }
}

impl RecorderState {
    fn record_detail(&self) -> RecordDetail {
        match self.detail {
            None => RecordDetail::None,
            Some(RunDetail::Metadata) => RecordDetail::Metadata,
            Some(RunDetail::Full) => RecordDetail::Full,
        }
    }

    /// Queues a run, unless too much waits already. Only one thread at a time calls this.
    fn enqueue(&self, queue: &SyncSender<FinishedRun>, run: FinishedRun) -> bool {
        let bytes = run.memory_bytes();
        let waiting = self.waiting_bytes.load(Ordering::Relaxed);
        if waiting > 0 && waiting.saturating_add(bytes) > QUEUE_BYTES {
            return false;
        }
        self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        let is_queued = queue.try_send(run).is_ok();
        if !is_queued {
            self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
        is_queued
    }

    fn record_all(&self, runs: &Receiver<FinishedRun>) {
        for (recorded, run) in (0_u64..).zip(runs) {
            let bytes = run.memory_bytes();
            self.record(run);
            self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
            if recorded % PRUNE_EVERY == 0 {
                self.prune();
            }
        }
    }

    fn text_sizes(&self, run: &FinishedRun, tools: &[Arc<ToolSpec>]) -> TextSizes {
        text_sizes(run, tools, lock(&self.own_definitions).len())
    }

    fn record(&self, run: FinishedRun) {
        let Some(store) = &self.store else { return };
        let tools = run.tool_source.tools();
        let sizes = self.text_sizes(&run, &tools);
        let countable = self.token_counts.get().and_then(|_| self.countable(&run, &tools));
        let redactor = lock(&self.redactor).clone();
        let by_name: HashMap<_, _> =
            tools.iter().map(|spec| (spec.callable.as_str(), spec)).collect();
        let record = run_record::build(run, self.record_detail(), &redactor, &by_name, sizes);
        store.submit(record.memory_bytes(), move |store| store.put_run(&record));
        if let (Some(counts), Some(run)) = (self.token_counts.get(), countable) {
            counts.submit(run);
        }
    }

    /// The texts of a run whose tokens are counted, if they are known.
    fn countable(&self, run: &FinishedRun, tools: &[Arc<ToolSpec>]) -> Option<CountableRun> {
        // No model would have made the calls of a command.
        if run.header.client == COMMAND_LINE_CLIENT {
            return None;
        }
        let own = Arc::clone(&lock(&self.own_definitions));
        let mut last = lock(&self.definitions);
        let is_same = last.0.len() == tools.len()
            && last.0.iter().zip(tools).all(|(one, other)| Arc::ptr_eq(one, other));
        if !is_same {
            *last = (tools.to_vec(), definitions(tools));
        }
        CountableRun::new(run, &last.1, &own)
    }

    fn prune(&self) {
        let (Some(store), retention) = (&self.store, self.retention) else { return };
        store.submit(0, move |store| store.prune_runs(&retention, Timestamp::now()).map(drop));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use onecall_core::storage::ReplayData;
    use onecall_core::{OutcomeDetail, RunId, RunKind, UserName};

    use super::super::recording::RunHeader;
    use super::*;
    use crate::call_log::CallLog;

    /// A run with a program of this size.
    fn finished_run(bytes: usize) -> FinishedRun {
        let header = RunHeader {
            id: RunId::generate(0),
            started: Timestamp(0),
            user: UserName::local(),
            client: String::new(),
            kind: RunKind::Program,
            language: "python",
            engine: None,
            session: None,
            code: "#".repeat(bytes),
            argv: Vec::new(),
        };
        FinishedRun {
            header,
            duration: Duration::ZERO,
            result: Ok(()),
            output_truncated: false,
            pictures: Vec::new(),
            answer: None,
            log: CallLog::new(OutcomeDetail::default(), RecordDetail::Full).take(),
            replay: ReplayData::None,
            tool_source: ToolSource::Unknown,
        }
    }

    #[test]
    fn runs_wait_as_long_as_there_is_memory_for_them() {
        let state = RecorderState {
            detail: Some(RunDetail::Full),
            retention: Retention { max_age: Duration::MAX, max_bytes: u64::MAX },
            store: None,
            redactor: Mutex::new(Redactor::new([])),
            own_definitions: Mutex::default(),
            token_counts: OnceLock::new(),
            definitions: Mutex::default(),
            waiting_bytes: AtomicUsize::new(0),
            dropped: AtomicU64::new(0),
        };
        let (queue, runs) = mpsc::sync_channel(QUEUE_LENGTH);
        let empty = || {
            let waiting: Vec<_> = runs.try_iter().collect();
            state.waiting_bytes.store(0, Ordering::Relaxed);
            waiting.len()
        };
        // Small ones are bounded by their number, large ones by their size.
        let queued = (0..300).filter(|_| state.enqueue(&queue, finished_run(100))).count();
        assert_eq!((queued, empty()), (QUEUE_LENGTH, QUEUE_LENGTH));
        let queued =
            (0..10).filter(|_| state.enqueue(&queue, finished_run(QUEUE_BYTES / 5))).count();
        assert_eq!((queued, empty()), (5, 5));
        assert!(state.enqueue(&queue, finished_run(QUEUE_BYTES + 1)));
        assert!(!state.enqueue(&queue, finished_run(1)));
    }
}
