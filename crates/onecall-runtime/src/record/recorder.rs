//! Turns finished runs into records on a background thread.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use onecall_core::storage::{Retention, RunDetail};
use onecall_core::{TextSizes, Timestamp, ToolSpec};

use super::recording::{FinishedRun, UnfinishedRun};
use super::redactor::Redactor;
use super::run_record;
use super::savings::text_sizes;
use crate::call_log::RecordDetail;
use crate::{Directory, StoreWriter};

/// How many runs may wait to be recorded. Full records are large, so fewer of them may wait.
const QUEUE_LENGTH: usize = 256;
const FULL_RECORD_QUEUE_LENGTH: usize = 4;

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
    /// The size of onecall's own tool definitions, in bytes.
    own_definitions: AtomicUsize,
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
            own_definitions: AtomicUsize::new(0),
            dropped: AtomicU64::new(0),
        });
        let room =
            if detail == Some(RunDetail::Full) { FULL_RECORD_QUEUE_LENGTH } else { QUEUE_LENGTH };
        let (queue, runs) = mpsc::sync_channel(room);
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

    /// Sets the size of onecall's own tool definitions in bytes; they count as a cost of each run.
    pub fn set_own_definitions(&self, bytes: usize) {
        self.state.own_definitions.store(bytes, Ordering::Relaxed);
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
            && queue.try_send(run).is_err()
            && self.state.dropped.fetch_add(1, Ordering::Relaxed) == 0
        {
            tracing::warn!("runs end faster than they are recorded; some will be missing");
        }
        sizes
    }

    /// Adds a run that has begun to those that `close` records.
    pub(super) fn track(&self, run: &Arc<UnfinishedRun>) {
        let mut unfinished = lock(&self.unfinished);
        unfinished.retain(|run| run.strong_count() > 0);
        unfinished.push(Arc::downgrade(run));
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

    fn record_all(&self, runs: &Receiver<FinishedRun>) {
        for (recorded, run) in (0_u64..).zip(runs) {
            self.record(run);
            if recorded % PRUNE_EVERY == 0 {
                self.prune();
            }
        }
    }

    fn text_sizes(&self, run: &FinishedRun, tools: &[Arc<ToolSpec>]) -> TextSizes {
        text_sizes(run, tools, self.own_definitions.load(Ordering::Relaxed))
    }

    fn record(&self, run: FinishedRun) {
        let Some(store) = &self.store else { return };
        let tools = run.tool_source.tools();
        let sizes = self.text_sizes(&run, &tools);
        let redactor = lock(&self.redactor).clone();
        let by_name: HashMap<_, _> =
            tools.iter().map(|spec| (spec.callable.as_str(), spec)).collect();
        let record = run_record::build(run, self.record_detail(), &redactor, &by_name, sizes);
        store.submit(record.memory_bytes(), move |store| store.put_run(&record));
    }

    fn prune(&self) {
        let (Some(store), retention) = (&self.store, self.retention) else { return };
        store.submit(0, move |store| store.prune_runs(&retention, Timestamp::now()).map(drop));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
