//! Durable runs: runs that may wait for a person, and that another process can continue.
//!
//! A durable run has a row, a journal and a lease in the store, and a task of its own in the process
//! that executes it (`live.rs`); requests of clients follow it (`followers.rs`). The desk (`desk.rs`)
//! puts its questions into the store and waits for answers, which any process may write;
//! `store_watch.rs` notices them. A run that waits long is let go, and continued from its journal
//! when it is answered (`resume.rs`).

mod announcements;
mod answer;
mod configuration;
mod desk;
mod execute;
mod followers;
mod grants;
mod idle;
mod in_place;
mod lease;
mod live;
mod may_ask;
mod pruning;
mod request;
mod resume;
mod seal;
mod status;
mod store_watch;
mod webhook;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use onecall_config::{ApprovalSettings, Config};
use onecall_core::storage::{DurableStore, StoreError};
use onecall_core::{ItemId, RunId};
use onecall_engine::Engines;
use onecall_runtime::JournalWriter;
use tokio::sync::{Notify, Semaphore, watch};

pub use answer::RunAnswer;
pub(crate) use configuration::configuration_digest;
pub(crate) use desk::Desk;
pub use execute::BeginError;
pub use followers::RunFollower;
pub(crate) use live::StopReason;
pub use request::RunRequest;
pub use resume::{AcceptedConfiguration, ResumeError};
pub use seal::{AskedCall, QuestionId, StateOwner, StateRefusal, is_sealed_state};
pub use status::{RunStatus, RunWatch, WaitingRun};

use self::lease::DEFAULT_LEASE;
use followers::Followers;
use idle::IdleStore;
use live::LiveRun;
use pruning::Pruning;
use store_watch::Orphan;
use webhook::Webhook;

/// How long a shutdown waits for runs to stop.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// How many runs may try at once to store their end, after that has failed.
const MAX_END_RETRIES: usize = 4;

/// How often it is looked at whether the runs of a gateway that drains have ended.
const SETTLE_INTERVAL: Duration = Duration::from_millis(100);

/// The durable runs of this process, and their store.
pub(crate) struct DurableRuns {
    store: Arc<dyn DurableStore>,
    writer: Arc<JournalWriter>,
    engines: Arc<Engines>,
    /// The settings of approvals; the defaults if none are configured.
    pub(crate) settings: ApprovalSettings,
    /// Whether every run is durable, not only those that may have to ask.
    all_runs: bool,
    webhook: Option<Arc<Webhook>>,
    /// Removes ended runs that are older than records may be.
    pruning: Pruning,
    /// The name of this process in leases.
    owner: String,
    /// How long a lease lasts without being renewed.
    lease: Duration,
    /// Whether runs that another gateway did not finish are continued here, without being asked to.
    continues_interrupted: bool,
    live: Mutex<HashMap<RunId, Arc<LiveRun>>>,
    /// The requests that follow each run. An entry ends with its last request and the execution of
    /// its run in this process.
    followers: Mutex<HashMap<RunId, Weak<Followers>>>,
    /// The questions that a call in this process waits for; each is notified when it may have been
    /// answered.
    asked: Mutex<HashMap<ItemId, Arc<Notify>>>,
    /// Counts changes of runs and of the store.
    changes: watch::Sender<u64>,
    /// Wakes the task that looks for changes of the store.
    look_soon: Notify,
    /// How many [`RunWatch`]es watch a run that this process does not execute.
    watching: AtomicUsize,
    /// Whether runs that wait are continued here when they have been answered.
    takes_up: AtomicBool,
    /// Runs that wait in the store without a process, as they were when the store was last looked at.
    orphans: Mutex<HashMap<RunId, Orphan>>,
    /// Whether this process is about to end.
    is_stopping: AtomicBool,
    /// Limits how many runs try at once to store their end, after that has failed.
    end_retries: Semaphore,
    /// When the file of the store is released.
    idle: IdleStore,
    /// The digest of the configuration that is in force.
    configuration: Mutex<String>,
}

impl DurableRuns {
    /// Starts what durable runs need. Must be called inside a tokio runtime.
    pub(crate) fn start(
        config: &Config,
        store: Arc<dyn DurableStore>,
        engines: Arc<Engines>,
    ) -> Arc<Self> {
        let settings = config.approvals.clone().unwrap_or_default();
        let webhook = settings.webhook.as_ref().and_then(|hook| {
            Webhook::new(&hook.url, hook.secret.clone(), crate::redactor(config)).map(Arc::new)
        });
        let runs = Arc::new(Self {
            writer: JournalWriter::start(Arc::clone(&store)),
            store,
            engines,
            settings,
            all_runs: config.durable,
            webhook,
            pruning: Pruning::new(config.store.max_age),
            owner: lease::new_owner(),
            lease: config.fleet.as_ref().map_or(DEFAULT_LEASE, |fleet| fleet.lease),
            continues_interrupted: config.fleet.is_some(),
            live: Mutex::default(),
            followers: Mutex::default(),
            asked: Mutex::default(),
            changes: watch::Sender::new(0),
            look_soon: Notify::new(),
            watching: AtomicUsize::new(0),
            takes_up: AtomicBool::new(false),
            orphans: Mutex::default(),
            is_stopping: AtomicBool::new(false),
            end_retries: Semaphore::new(MAX_END_RETRIES),
            idle: IdleStore::default(),
            configuration: Mutex::new(configuration_digest(config)),
        });
        tokio::spawn(Self::renew_leases(Arc::downgrade(&runs)));
        runs
    }

    /// Calls the store on a thread that may wait.
    async fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn DurableStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = Arc::clone(&self.store);
        match tokio::task::spawn_blocking(move || work(store.as_ref())).await {
            Ok(result) => result,
            Err(_) => Err(StoreError::Disabled { reason: "onecall is ending".to_owned() }),
        }
    }

    /// The run, if this process executes it.
    pub(crate) fn live(&self, run: &RunId) -> Option<Arc<LiveRun>> {
        lock(&self.live).get(run).cloned()
    }

    fn all_live(&self) -> Vec<Arc<LiveRun>> {
        lock(&self.live).values().cloned().collect()
    }

    /// Wakes everything that follows runs.
    fn notify_change(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// The configuration has changed: from now on, runs belong to the new one.
    pub(crate) fn set_configuration(&self, digest: String) {
        *lock(&self.configuration) = digest;
    }

    fn configuration(&self) -> String {
        lock(&self.configuration).clone()
    }

    /// Completes when each run of this process has ended or only waits for a person.
    pub(crate) async fn all_settled(&self) {
        while !self.all_live().iter().all(|run| run.is_settled()) {
            tokio::time::sleep(SETTLE_INTERVAL).await;
        }
    }

    /// Stops all runs in this process, so that another process can continue them. No run is continued
    /// here from now on.
    pub(crate) fn stop_all(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.all_live().iter().for_each(|run| run.stop(StopReason::Shutdown));
    }

    /// Stops all runs in this process, and waits until the store knows.
    pub(crate) async fn shutdown(&self) {
        self.stop_all();
        let mut changes = self.changes.subscribe();
        let all_gone = async {
            // The channel cannot be closed, because `self` owns the sender.
            while !lock(&self.live).is_empty() && changes.changed().await.is_ok() {}
        };
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, all_gone).await.is_err() {
            tracing::warn!("some runs did not stop in time; another onecall continues them later");
        }
        let writer = Arc::clone(&self.writer);
        _ = tokio::task::spawn_blocking(move || writer.close(SHUTDOWN_TIMEOUT)).await;
        self.release_store().await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
