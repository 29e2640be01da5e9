//! The thread that writes the journals of all runs. Runs are stored and append events without waiting;
//! all events and syncs that have arrived by the time of a write share one transaction.

mod store_state;
mod thread;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::Duration;

use onecall_core::storage::{DurableRun, DurableStore, FinalAnswer, JournalRefusal};
use onecall_core::{Failure, InPlaceReason, JournalEvent, RunId};
use tokio::sync::{Notify, oneshot, watch};

use super::error::JournalError;
use store_state::StoreState;
use thread::WriterThread;

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
    /// Whether something is written at once.
    is_due: bool,
    /// Whether an event should not be collected for long.
    is_urgent: bool,
    is_closed: bool,
}

enum QueueItem {
    Begin { run: Arc<RunLink>, stored: Box<DurableRun>, bytes: usize },
    Event { run: Arc<RunLink>, number: u64, event: JournalEvent, bytes: usize },
    InPlace { run: Arc<RunLink>, reason: InPlaceReason },
    Sync { run: Arc<RunLink>, done: oneshot::Sender<Result<(), JournalError>> },
}

/// What the thread and the journal of one run share.
#[derive(Debug)]
pub(super) struct RunLink {
    pub(super) run: RunId,
    pub(super) fence: u64,
    /// Whether the store has the run.
    store_state: StoreState,
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
        let (store_state, stopped) = (StoreState::stored(), watch::Sender::new(None));
        Self { run, fence, store_state, durable, failed, stopped }
    }

    /// Whether the store has the run.
    pub(super) fn is_stored(&self) -> bool {
        self.store_state.is_stored()
    }

    /// Whether the store has the run, or may have it although that is not known.
    pub(super) fn may_be_stored(&self) -> bool {
        self.store_state.may_be_stored()
    }

    /// Ends the run before the store has it: the store gets the run only together with this answer. The result
    /// is `false` if the store has the run, or may get it without its end. While that is not certain, this can
    /// be called again.
    pub(super) fn end_unstored(&self, answer: &FinalAnswer) -> bool {
        self.store_state.end_unstored(answer)
    }

    /// Whether the store refused events of the run because its lease is lost, or the run has ended.
    pub(super) fn has_lost_lease(&self) -> bool {
        self.failed.get() == Some(&JournalRefusal::LeaseLost.into())
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
            WriterThread::new(&*store, &of_thread).run();
            drop(finish);
        };
        let thread = std::thread::Builder::new().name("journal".to_owned()).spawn(write);
        if let Err(error) = thread {
            tracing::error!("no thread for journals can be started: {error}");
            shared.lock().is_closed = true;
        }
        Arc::new(Self { shared, finished: Mutex::new(finished) })
    }

    /// Adds a new run to the store, without waiting for it. Events that are appended later are written
    /// after it.
    pub(super) fn begin(&self, run: &Arc<RunLink>, stored: DurableRun) {
        run.store_state.set_missing();
        let bytes = stored.request.len();
        let item = QueueItem::Begin { run: Arc::clone(run), stored: Box::new(stored), bytes };
        self.shared.push(item, bytes);
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

    /// Waits until the store has the run and everything that was appended for it; the caller has
    /// appended `appended` events in total.
    pub(super) async fn sync(&self, run: &Arc<RunLink>, appended: u64) -> Result<(), JournalError> {
        if let Some(error) = run.failed.get() {
            return Err(error.clone());
        }
        if run.is_stored() && run.durable.load(Ordering::Acquire) >= appended {
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
        let is_due = matches!(item, QueueItem::Sync { .. } | QueueItem::Begin { .. });
        let was_empty = queue.items.is_empty();
        queue.items.push(item);
        queue.bytes += bytes;
        queue.is_due |= is_due;
        let wakes = is_due || was_empty || queue.bytes >= EAGER_BYTES;
        drop(queue);
        if wakes {
            self.wake.notify_one();
        }
    }

    /// Puts the items to be written next into `items`, which is empty and whose memory the queue uses
    /// from now on; returns `false` if the writer is closed and everything was taken.
    fn take(&self, items: &mut Vec<QueueItem>) -> bool {
        let mut queue = self.lock();
        loop {
            let is_due = queue.is_due || queue.bytes >= EAGER_BYTES || queue.is_closed;
            if !queue.items.is_empty() && is_due {
                break;
            }
            if queue.is_closed {
                return false;
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
        (queue.is_due, queue.is_urgent) = (false, false);
        std::mem::swap(&mut queue.items, items);
        true
    }
}
