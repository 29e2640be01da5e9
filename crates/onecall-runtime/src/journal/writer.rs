//! The thread that writes the journals of all runs. Runs append events without waiting; all events and
//! syncs that have arrived by the time of a write share one transaction.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::Duration;

use onecall_core::storage::{DurableStore, JournalBatch, JournalRefusal, StoreError};
use onecall_core::{Failure, InPlaceReason, JournalEvent, RunId};
use tokio::sync::{Notify, oneshot, watch};

use super::error::JournalError;

/// Bytes of events that may wait to be written. While there are more, calls of journalled runs wait.
const MAX_UNWRITTEN_BYTES: usize = 64 * 1024 * 1024;

/// Bytes of events that are written at once, without waiting for more.
const EAGER_BYTES: usize = 4 * 1024 * 1024;

/// For how many events the queue keeps memory while it is empty.
const KEPT_CAPACITY: usize = 4096;

/// How long events are collected before they are written, if one of them is the end of a call with
/// effects. If it is lost in a crash, a person has to say what happened.
const LINGER: Duration = Duration::from_millis(50);

/// How long other events are collected. If they are lost in a crash, calls that only read are made
/// again. Most runs end earlier, and then their events are not written at all.
const LONG_LINGER: Duration = Duration::from_secs(1);

/// Writes the journals of all runs of a process, on a thread of its own.
pub struct JournalWriter {
    shared: Arc<Shared>,
    finished: Mutex<mpsc::Receiver<()>>,
}

/// The state that runs share with the thread.
struct Shared {
    queue: Mutex<Queue>,
    /// Wakes the thread.
    wake: Condvar,
    /// Wakes calls that wait for room.
    written: Notify,
}

#[derive(Default)]
struct Queue {
    items: Vec<QueueItem>,
    /// Bytes of all events that are not written, including those that the thread has taken.
    bytes: usize,
    has_sync: bool,
    /// Whether an event should not be collected for long.
    is_urgent: bool,
    is_closed: bool,
}

enum QueueItem {
    Event { run: Arc<RunLink>, number: u64, event: JournalEvent, bytes: usize },
    InPlace { run: Arc<RunLink>, reason: InPlaceReason },
    Sync { run: Arc<RunLink>, done: oneshot::Sender<Result<(), JournalError>> },
}

/// What the thread and the journal of one run share.
#[derive(Debug)]
pub(super) struct RunLink {
    pub(super) run: RunId,
    pub(super) fence: u64,
    /// How many events of the run are on disk.
    pub(super) durable: AtomicU64,
    /// Set if nothing will be written for the run any more.
    failed: OnceLock<JournalError>,
    /// The failure that ends the run, as soon as there is one.
    pub(super) stopped: watch::Sender<Option<Failure>>,
}

impl RunLink {
    /// Creates the link of a run that has `durable` events on disk.
    pub(super) fn new(run: RunId, fence: u64, durable: u64) -> Self {
        let (durable, failed) = (AtomicU64::new(durable), OnceLock::new());
        Self { run, fence, durable, failed, stopped: watch::Sender::new(None) }
    }

    /// Ends the run with a failure. Only the first failure counts.
    pub(super) fn stop(&self, failure: impl FnOnce() -> Failure) {
        self.stopped.send_if_modified(|stopped| match stopped {
            Some(_) => false,
            None => {
                *stopped = Some(failure());
                true
            }
        });
    }

    /// Notes that the run has ended: what is not written yet is not needed any more.
    pub(super) fn close(&self) {
        _ = self.failed.set(JournalRefusal::LeaseLost.into());
    }

    /// Notes that nothing will be written for the run any more. A run whose lease is lost ends.
    fn fail(&self, error: &JournalError) {
        _ = self.failed.set(error.clone());
        if *error == JournalError::Refused(JournalRefusal::LeaseLost) {
            self.stop(|| Failure::refused("LeaseLost", error.to_string()));
        }
    }
}

impl JournalWriter {
    /// Starts the thread that writes to `store`. If no thread can be started, every sync fails.
    #[must_use]
    pub fn start(store: Arc<dyn DurableStore>) -> Arc<Self> {
        let (queue, wake, written) = (Mutex::default(), Condvar::new(), Notify::new());
        let shared = Arc::new(Shared { queue, wake, written });
        let (finish, finished) = mpsc::channel();
        let of_thread = Arc::clone(&shared);
        let write = move || {
            Thread { store: &*store, shared: &of_thread, runs: HashMap::new() }.run();
            drop(finish);
        };
        let thread = std::thread::Builder::new().name("journal".to_owned()).spawn(write);
        if let Err(error) = thread {
            tracing::error!("no thread for journals can be started: {error}");
            shared.lock().is_closed = true;
        }
        Arc::new(Self { shared, finished: Mutex::new(finished) })
    }

    /// Appends an event of a run. The caller appends the events of a run in the order of their
    /// numbers.
    pub(super) fn append(
        &self,
        run: &Arc<RunLink>,
        number: u64,
        event: JournalEvent,
        bytes: usize,
    ) {
        let run = Arc::clone(run);
        self.shared.push(QueueItem::Event { run, number, event, bytes }, bytes);
    }

    /// Frees the events of a run for which nothing is written any more. If they stayed until the next
    /// write, the runs of a whole second would be in memory.
    pub(super) fn free_events(&self, run: &Arc<RunLink>) {
        if run.failed.get().is_none() {
            return;
        }
        let mut queue = self.shared.lock();
        let mut freed = 0;
        queue.items.retain(|item| match item {
            QueueItem::Event { run: other, bytes, .. } if Arc::ptr_eq(other, run) => {
                freed += bytes;
                false
            }
            _ => true,
        });
        queue.items.shrink_to(KEPT_CAPACITY);
        queue.bytes = queue.bytes.saturating_sub(freed);
    }

    /// Writes everything that was appended soon, although no call waits for it.
    pub(super) fn write_soon(&self) {
        let was_urgent = std::mem::replace(&mut self.shared.lock().is_urgent, true);
        if !was_urgent {
            self.shared.wake.notify_one();
        }
    }

    /// Notes in the store that a run can be continued only by this process.
    pub(super) fn set_in_place(&self, run: &Arc<RunLink>, reason: InPlaceReason) {
        self.shared.push(QueueItem::InPlace { run: Arc::clone(run), reason }, 0);
        self.write_soon();
    }

    /// Waits until everything that was appended for the run is on disk; the caller has appended
    /// `appended` events in total.
    pub(super) async fn sync(&self, run: &Arc<RunLink>, appended: u64) -> Result<(), JournalError> {
        if let Some(error) = run.failed.get() {
            return Err(error.clone());
        }
        if run.durable.load(Ordering::Acquire) >= appended {
            return Ok(());
        }
        let (done, written) = oneshot::channel();
        self.shared.push(QueueItem::Sync { run: Arc::clone(run), done }, 0);
        written.await.unwrap_or(Err(JournalError::Closed))
    }

    /// Waits until there is room for more events.
    pub(super) async fn room(&self) {
        // Usually there is, and then each call would register and withdraw for nothing.
        while !self.shared.has_room() {
            let written = self.shared.written.notified();
            if self.shared.has_room() {
                return;
            }
            written.await;
        }
    }

    /// Writes everything that was appended, ends the thread, and waits at most `timeout` for that;
    /// returns whether it has ended.
    pub fn close(&self, timeout: Duration) -> bool {
        self.shared.close();
        let finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        !matches!(finished.recv_timeout(timeout), Err(mpsc::RecvTimeoutError::Timeout))
    }
}

impl Drop for JournalWriter {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_room(&self) -> bool {
        let queue = self.lock();
        queue.bytes <= MAX_UNWRITTEN_BYTES || queue.is_closed
    }

    fn free(&self, bytes: usize) {
        let mut queue = self.lock();
        queue.bytes = queue.bytes.saturating_sub(bytes);
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.wake.notify_one();
        self.written.notify_waiters();
    }

    fn push(&self, item: QueueItem, bytes: usize) {
        let mut queue = self.lock();
        if queue.is_closed {
            // A dropped sync reports that the writer is closed.
            return;
        }
        let is_sync = matches!(item, QueueItem::Sync { .. });
        let was_empty = queue.items.is_empty();
        queue.items.push(item);
        queue.bytes += bytes;
        queue.has_sync |= is_sync;
        let wakes = is_sync || was_empty || queue.bytes >= EAGER_BYTES;
        drop(queue);
        if wakes {
            self.wake.notify_one();
        }
    }

    /// The items to be written next; `None` if the writer is closed and everything was taken.
    fn take(&self) -> Option<Vec<QueueItem>> {
        let mut queue = self.lock();
        loop {
            let is_due = queue.has_sync || queue.bytes >= EAGER_BYTES || queue.is_closed;
            if !queue.items.is_empty() && is_due {
                break;
            }
            if queue.is_closed {
                return None;
            }
            if queue.items.is_empty() {
                queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let linger = if queue.is_urgent { LINGER } else { LONG_LINGER };
            let waited = self.wake.wait_timeout(queue, linger);
            let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            queue = guard;
            if timeout.timed_out() {
                break;
            }
        }
        (queue.has_sync, queue.is_urgent) = (false, false);
        Some(std::mem::take(&mut queue.items))
    }
}

/// The thread, with the events that it has taken and not yet written.
struct Thread<'a> {
    store: &'a dyn DurableStore,
    shared: &'a Shared,
    runs: HashMap<RunId, Unwritten>,
}

/// The unwritten events of a run.
struct Unwritten {
    link: Arc<RunLink>,
    batch: JournalBatch,
    bytes: usize,
    in_place: Option<InPlaceReason>,
    /// Why the last write failed.
    error: Option<JournalError>,
}

impl Unwritten {
    fn new(link: &Arc<RunLink>, first: u64) -> Self {
        let (run, fence, events) = (link.run.clone(), link.fence, Vec::new());
        let batch = JournalBatch { run, fence, first, events };
        Self { link: Arc::clone(link), batch, bytes: 0, in_place: None, error: None }
    }

    /// Whether there is something to be written, now or with the next events.
    fn is_pending(&self) -> bool {
        let has_content = self.in_place.is_some() || !self.batch.events.is_empty();
        has_content && self.link.failed.get().is_none()
    }
}

/// A run that waits for its events to be on disk.
type WaitingSync = (Arc<RunLink>, oneshot::Sender<Result<(), JournalError>>);

impl Thread<'_> {
    fn run(&mut self) {
        // An error that repeats is logged once.
        let mut last_logged = None;
        while let Some(items) = self.shared.take() {
            let syncs = self.sort(items);
            let error = self.write().err();
            if let Some(error) = &error
                && last_logged.as_ref() != Some(error)
            {
                tracing::warn!("journals cannot be written: {error}");
            }
            last_logged = error;
            self.drop_excess();
            for (run, done) in syncs {
                let error = run.failed.get().cloned();
                let unwritten = self.runs.get(&run.run).and_then(|it| it.error.clone());
                _ = done.send(error.or(unwritten).map_or(Ok(()), Err));
            }
            self.shared.written.notify_waiters();
        }
    }

    /// Adds events to the batches of their runs, and returns the syncs.
    fn sort(&mut self, items: Vec<QueueItem>) -> Vec<WaitingSync> {
        let mut syncs = Vec::new();
        for item in items {
            match item {
                QueueItem::Event { run, bytes, .. } if run.failed.get().is_some() => {
                    self.shared.free(bytes);
                }
                QueueItem::Event { run, number, event, bytes } => {
                    let unwritten = self.unwritten(&run, number);
                    unwritten.batch.events.push(event);
                    unwritten.bytes += bytes;
                }
                QueueItem::InPlace { run, reason } => {
                    let first = run.durable.load(Ordering::Acquire);
                    self.unwritten(&run, first).in_place = Some(reason);
                }
                QueueItem::Sync { run, done } => syncs.push((run, done)),
            }
        }
        syncs
    }

    fn unwritten(&mut self, link: &Arc<RunLink>, number: u64) -> &mut Unwritten {
        let entry = self.runs.entry(link.run.clone());
        let unwritten = entry.or_insert_with(|| Unwritten::new(link, number));
        if unwritten.link.fence != link.fence {
            // This process continues the run under a newer lease.
            self.shared.free(unwritten.bytes);
            *unwritten = Unwritten::new(link, number);
        }
        if unwritten.batch.events.is_empty() {
            unwritten.batch.first = number;
        }
        unwritten
    }

    /// Writes all batches in one transaction. What was not written stays for the next time.
    fn write(&mut self) -> Result<(), JournalError> {
        let result = self.write_in_place_reasons().and_then(|()| self.write_batches());
        if let Err(error) = &result {
            self.runs.values_mut().for_each(|unwritten| unwritten.error = Some(error.clone()));
        }
        let mut freed = 0;
        self.runs.retain(|_, unwritten| {
            let is_pending = unwritten.is_pending();
            freed += if is_pending { 0 } else { unwritten.bytes };
            is_pending
        });
        self.shared.free(freed);
        result
    }

    fn write_in_place_reasons(&mut self) -> Result<(), JournalError> {
        for unwritten in self.runs.values_mut() {
            let Some(reason) = unwritten.in_place else { continue };
            let link = &unwritten.link;
            if !self.store.set_in_place(&link.run, link.fence, reason).map_err(store_error)? {
                link.fail(&JournalRefusal::LeaseLost.into());
            }
            unwritten.in_place = None;
        }
        Ok(())
    }

    fn write_batches(&mut self) -> Result<(), JournalError> {
        let has_events = |it: &&mut Unwritten| it.is_pending() && !it.batch.events.is_empty();
        let mut runs: Vec<&mut Unwritten> = self.runs.values_mut().filter(has_events).collect();
        if runs.is_empty() {
            return Ok(());
        }
        let empty = |batch: &JournalBatch| JournalBatch {
            run: batch.run.clone(),
            fence: batch.fence,
            first: batch.first,
            events: Vec::new(),
        };
        let batches: Vec<JournalBatch> = runs
            .iter_mut()
            .map(|it| {
                let empty = empty(&it.batch);
                std::mem::replace(&mut it.batch, empty)
            })
            .collect();
        let written = self.store.append(&batches).map_err(store_error);
        let results = written.as_ref().map_or(&[][..], Vec::as_slice);
        for (index, (unwritten, batch)) in runs.into_iter().zip(batches).enumerate() {
            match results.get(index) {
                Some(Ok(())) => {
                    let count = u64::try_from(batch.events.len()).unwrap_or(u64::MAX);
                    unwritten.batch.first = batch.first.saturating_add(count);
                    unwritten.link.durable.store(unwritten.batch.first, Ordering::Release);
                }
                Some(Err(
                    refusal @ (JournalRefusal::LeaseLost | JournalRefusal::OutOfOrder { .. }),
                )) => unwritten.link.fail(&refusal.clone().into()),
                Some(Err(refusal @ JournalRefusal::Full { .. })) => {
                    unwritten.error = Some(refusal.clone().into());
                    unwritten.batch = batch;
                }
                None => unwritten.batch = batch,
            }
        }
        written.map(|_| ())
    }

    /// Gives up the events of runs that could not be written, if they take too much memory.
    fn drop_excess(&mut self) {
        let bytes: usize = self.runs.values().map(|it| it.bytes).sum();
        if bytes <= MAX_UNWRITTEN_BYTES {
            return;
        }
        for unwritten in self.runs.values() {
            unwritten.link.fail(unwritten.error.as_ref().unwrap_or(&JournalError::Closed));
        }
        self.runs.clear();
        self.shared.free(bytes);
    }
}

fn store_error(error: StoreError) -> JournalError {
    JournalError::Store { reason: error.to_string() }
}
