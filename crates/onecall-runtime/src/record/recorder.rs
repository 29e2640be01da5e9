//! Turns runs that have ended into records, behind everybody's back.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use onecall_config::{Config, Records};
use onecall_core::{RunId, Tokens, ToolSpec};
use onecall_store::{Retention, Timestamp, Writer};
use tokio::sync::oneshot;

use super::facts;
use super::recording::{Finished, Underway};
use super::redactor::Redactor;
use super::savings::{Counter, IDLE};
use crate::Directory;
use crate::call_log::Depth;

/// Runs that may wait to be recorded. Their notes are small, those of full records are not.
const QUEUE: usize = 256;
const FULL_QUEUE: usize = 4;

/// What is not needed any longer is removed after so many runs, and at the first.
const PRUNE_EVERY: u64 = 100;

/// Tokens are counted when no run has ended for this long: until then they are estimated, so
/// that a process that lives for one program need not load the tokenizer.
const SETTLED: Duration = Duration::from_secs(1);

/// Or when so many runs have ended.
const MOST_ESTIMATED: usize = 8;

/// Where the tools of a run came from, for those who count what their definitions take.
#[derive(Clone)]
pub(crate) enum Origin {
    /// From here; asked when there is time.
    Shared(Arc<dyn Directory>),
    /// These there were.
    Listed(Vec<Arc<ToolSpec>>),
    /// The run ended before anybody could say.
    Unknown,
}

impl Origin {
    fn tools(&self) -> Vec<Arc<ToolSpec>> {
        match self {
            Self::Shared(directory) => directory.known(),
            Self::Listed(tools) => tools.clone(),
            Self::Unknown => Vec::new(),
        }
    }
}

/// Records runs, and counts what they were worth.
pub struct Recorder {
    /// Whether agents are told what a program saved.
    tells: bool,
    state: Arc<State>,
    /// Gone once it is closed.
    queue: Mutex<Option<SyncSender<Job>>>,
    finished: Mutex<Receiver<()>>,
    /// Runs that have not ended, and some that have.
    underway: Mutex<Vec<Weak<Underway>>>,
}

struct State {
    records: Records,
    retention: Retention,
    store: Option<Arc<Writer>>,
    redactor: Mutex<Redactor>,
    own_definitions: Mutex<String>,
    lost: AtomicU64,
}

struct Job {
    run: Finished,
    counted: Option<oneshot::Sender<Tokens>>,
}

impl Recorder {
    /// Begins to record as `config` says; `None` if nobody wants it.
    #[must_use]
    pub fn start(config: &Config, store: Option<Arc<Writer>>) -> Option<Arc<Self>> {
        let store = store.filter(|_| config.records != Records::Off);
        let records = if store.is_some() { config.records } else { Records::Off };
        let tells = config.report_savings;
        if records == Records::Off && !tells {
            return None;
        }
        let state = Arc::new(State {
            records,
            retention: Retention { keep: config.store.keep, max_bytes: config.store.max_bytes },
            store,
            redactor: Mutex::new(Redactor::of(config)),
            own_definitions: Mutex::default(),
            lost: AtomicU64::new(0),
        });
        let room = if records == Records::Full { FULL_QUEUE } else { QUEUE };
        let (queue, jobs) = mpsc::sync_channel(room);
        let (finish, finished) = mpsc::sync_channel(1);
        let of_thread = Arc::clone(&state);
        let started = thread::Builder::new().name("records".to_owned()).spawn(move || {
            // Nobody waits for it, unless agents are told.
            if !tells {
                _ = rustix::process::setpriority_process(None, 19);
            }
            of_thread.work(&jobs);
            _ = finish.send(());
        });
        if let Err(error) = &started {
            tracing::warn!("nothing will be recorded: {error}");
        }
        let queue = Mutex::new(started.is_ok().then_some(queue));
        let finished = Mutex::new(finished);
        let underway = Mutex::default();
        Some(Arc::new(Self { tells, state, queue, finished, underway }))
    }

    /// What agents are shown of us, as JSON: a part of what they spend.
    pub fn set_own_definitions(&self, definitions: String) {
        *lock(&self.state.own_definitions) = definitions;
    }

    /// Takes out the secrets of another configuration, too.
    pub(crate) fn learn_secrets(&self, config: &Config) {
        lock(&self.state.redactor).add(Redactor::of(config));
    }

    /// How much of each call the record of a run needs.
    pub(crate) fn depth(&self) -> Depth {
        self.state.depth()
    }

    /// Has a run recorded. What it was worth comes back if agents are told.
    pub(super) fn submit(&self, run: Finished) -> Option<oneshot::Receiver<Tokens>> {
        let (counted, count) = self.tells.then(oneshot::channel).unzip();
        // After the end nobody is there to record.
        let queue = lock(&self.queue).clone()?;
        if queue.try_send(Job { run, counted }).is_err()
            && self.state.lost.fetch_add(1, Ordering::Relaxed) == 0
        {
            tracing::warn!("runs end faster than they are recorded; some will be missing");
        }
        count
    }

    /// Remembers a run that has begun.
    pub(super) fn watch(&self, run: &Arc<Underway>) {
        let mut underway = lock(&self.underway);
        underway.retain(|run| run.strong_count() > 0);
        underway.push(Arc::downgrade(run));
    }

    /// Takes nothing more and waits until all is recorded, but not longer than `patience`.
    /// What still runs ends with us, and is recorded like that.
    pub fn close(&self, patience: Duration) {
        let underway = std::mem::take(&mut *lock(&self.underway));
        for run in underway.iter().filter_map(Weak::upgrade) {
            run.hand_over().map(|run| self.submit(run));
        }
        drop(lock(&self.queue).take());
        _ = lock(&self.finished).recv_timeout(patience);
    }
}

impl State {
    fn depth(&self) -> Depth {
        if self.records == Records::Full { Depth::Full } else { Depth::Sample }
    }

    fn work(&self, jobs: &Receiver<Job>) {
        let mut counter = Counter::default();
        let mut recorded = 0;
        // Runs whose tokens were estimated, until there is time to count them.
        let mut estimated = Vec::new();
        loop {
            let wait = if estimated.is_empty() { IDLE } else { SETTLED };
            match jobs.recv_timeout(wait) {
                Ok(job) => {
                    estimated.extend(self.record(job, &mut counter));
                    if recorded % PRUNE_EVERY == 0 {
                        self.prune();
                    }
                    recorded += 1;
                    if estimated.len() == MOST_ESTIMATED {
                        self.count(&mut counter, estimated.drain(..));
                    }
                }
                Err(RecvTimeoutError::Timeout) if estimated.is_empty() => counter.rest(),
                Err(RecvTimeoutError::Timeout) => self.count(&mut counter, estimated.drain(..)),
                // A process that ends at once does not wait for the tokenizer.
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Records a run; it comes back if its tokens remain to be counted.
    fn record(
        &self,
        Job { mut run, counted }: Job,
        counter: &mut Counter,
    ) -> Option<(RunId, Finished)> {
        if counted.is_some() {
            counter.prepare();
        }
        let tools = run.origin.tools();
        let definitions = lock(&self.own_definitions).clone();
        let worth = counter.count(&run, &tools, &definitions);
        if let Some(counted) = counted {
            // Whoever asked may have stopped waiting.
            _ = counted.send(worth.0);
        }
        let store = self.store.as_ref()?;
        let redactor = lock(&self.redactor).clone();
        let by_name: HashMap<_, _> =
            tools.iter().map(|spec| (spec.callable.as_str(), spec)).collect();
        let record = facts::record(&run, self.depth(), &redactor, &by_name, worth);
        let id = record.run.id.clone();
        store.submit(record.stored_bytes(), move |store| store.put_run(&record));
        run.log.thin();
        let is_uncounted = !counter.is_ready() && !run.about.kind.is_single_call();
        is_uncounted.then_some((id, run))
    }

    /// Counts the tokens of runs that are recorded already.
    fn count(&self, counter: &mut Counter, runs: impl Iterator<Item = (RunId, Finished)>) {
        counter.prepare();
        let definitions = lock(&self.own_definitions).clone();
        for (id, run) in runs {
            let (tokens, calls) = counter.count(&run, &run.origin.tools(), &definitions);
            if let Some(store) = self.store.as_ref().filter(|_| counter.is_ready()) {
                let bytes = size_of_val(calls.as_slice());
                store.submit(bytes, move |store| store.put_tokens(&id, tokens, &calls));
            }
        }
    }

    fn prune(&self) {
        let (Some(store), retention) = (&self.store, self.retention) else { return };
        store.submit(0, move |store| store.prune_runs(&retention, Timestamp::now()).map(drop));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
