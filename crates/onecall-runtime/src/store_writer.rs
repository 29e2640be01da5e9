//! Writes to the store on a background thread, so that requests do not wait for the disk.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use onecall_core::storage::{Store, StoreError};

/// How many writes may be queued.
const QUEUE_LENGTH: usize = 1024;

/// How many bytes the queued writes may hold.
const QUEUE_BYTES: u64 = 128 * 1024 * 1024;

/// How long a write waits before it is tried again while the store cannot be reached, or its disk is full.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

type WriteJob = Box<dyn Fn(&dyn Store) -> Result<(), StoreError> + Send>;

/// A thread that executes writes in the order in which they are submitted. While the store cannot be
/// reached, or its disk is full, they wait. If the queue is full, a write is dropped and counted: no program
/// waits for a slow disk. So is a write that the database has given up twice because it takes too long.
pub struct StoreWriter {
    store: Arc<dyn Store>,
    state: Arc<QueueState>,
    /// The queue to the thread; `None` once the writer is closed.
    queue: Mutex<Option<SyncSender<(u64, WriteJob)>>>,
    finished: Mutex<Receiver<()>>,
}

#[derive(Default)]
struct QueueState {
    waiting: AtomicU64,
    waiting_bytes: AtomicU64,
    dropped: AtomicU64,
    /// Whether no write is tried again any more.
    is_closing: Mutex<bool>,
    closing: Condvar,
}

impl QueueState {
    fn add(&self, bytes: u64) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn remove(&self, bytes: u64) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn count_dropped(&self) -> u64 {
        self.dropped.fetch_add(1, Ordering::Relaxed)
    }

    fn is_closing(&self) -> bool {
        *self.is_closing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        *self.is_closing.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.closing.notify_all();
    }

    /// Waits until a write may be tried again.
    fn pause(&self) {
        let is_closing = self.is_closing.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.closing.wait_timeout_while(is_closing, RETRY_PAUSE, |closing| !*closing);
        drop(waited);
    }
}

impl StoreWriter {
    /// Starts the thread. If it cannot be started, all writes are dropped.
    #[must_use]
    pub fn start(store: Arc<dyn Store>) -> Self {
        let (queue, work) = mpsc::sync_channel(QUEUE_LENGTH);
        let (finish, finished) = mpsc::sync_channel(1);
        let state = Arc::new(QueueState::default());
        let (thread_store, thread_state) = (Arc::clone(&store), Arc::clone(&state));
        let started = thread::Builder::new().name("store".to_owned()).spawn(move || {
            write(thread_store.as_ref(), &thread_state, &work);
            _ = finish.send(());
        });
        if let Err(error) = &started {
            tracing::warn!(
                "cannot start the writer of the store, so onecall stores nothing: {error}"
            );
        }
        let queue = Mutex::new(started.is_ok().then_some(queue));
        Self { store, state, queue, finished: Mutex::new(finished) }
    }

    /// The store that is written to. Reading from it does not wait for queued writes.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Queues a write; its errors are logged. `bytes` is how much memory the write holds until it
    /// is done.
    pub fn submit(
        &self,
        bytes: usize,
        work: impl Fn(&dyn Store) -> Result<(), StoreError> + Send + 'static,
    ) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(queue) = queue.as_ref() else {
            self.state.count_dropped();
            return;
        };
        let waiting = self.state.waiting_bytes.load(Ordering::Relaxed);
        if waiting.saturating_add(bytes) <= QUEUE_BYTES {
            self.state.add(bytes);
            if queue.try_send((bytes, Box::new(work))).is_ok() {
                return;
            }
            self.state.remove(bytes);
        }
        if self.state.count_dropped() == 0 {
            tracing::warn!(
                "the store cannot write as fast as data arrives; some of it will be missing"
            );
        }
    }

    /// How many writes wait to be executed.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.state.waiting.load(Ordering::Relaxed)
    }

    /// How many writes were dropped.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.state.dropped.load(Ordering::Relaxed)
    }

    /// Closes the queue and waits at most `timeout` until all writes are done; returns whether
    /// they are. Those that cannot be executed now are dropped.
    pub fn close(&self, timeout: Duration) -> bool {
        self.state.close();
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        let finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        !matches!(finished.recv_timeout(timeout), Err(mpsc::RecvTimeoutError::Timeout))
    }
}

fn write(store: &dyn Store, state: &QueueState, queue: &Receiver<(u64, WriteJob)>) {
    // An error that repeats is logged once, not for every write.
    let mut last_logged = None;
    for (bytes, work) in queue {
        let (mut has_waited, dropped_before) = (false, state.dropped.load(Ordering::Relaxed));
        let mut was_too_slow = false;
        loop {
            let done = work(store);
            match &done {
                Ok(()) => {}
                // An earlier attempt was confirmed, and its answer was lost.
                Err(StoreError::AlreadyStored { .. }) => break,
                Err(error) if error.was_reported() => {}
                Err(error) => {
                    let text = error.to_string();
                    if last_logged.as_ref() != Some(&text) {
                        tracing::warn!("{text}");
                        last_logged = Some(text);
                    }
                }
            }
            let Err(error) = done else { break };
            if !error.is_temporary() {
                state.count_dropped();
                break;
            }
            // A write that takes too long once more must not hold up all others.
            let is_hopeless = error.was_too_slow() && was_too_slow;
            if is_hopeless || state.is_closing() {
                state.count_dropped();
                break;
            }
            was_too_slow |= error.was_too_slow();
            has_waited = true;
            state.pause();
        }
        state.remove(bytes);
        if has_waited && !state.is_closing() {
            last_logged = None;
            let dropped = state.dropped.load(Ordering::Relaxed).saturating_sub(dropped_before);
            let waiting = state.waiting.load(Ordering::Relaxed);
            match dropped {
                0 => tracing::info!(
                    "the store can be written again; {waiting} more writes have waited"
                ),
                _ => tracing::warn!(
                    "the store can be written again; {waiting} more writes have waited, and {dropped} were \
                     dropped"
                ),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use onecall_core::storage::{Outage, ShapeKey, StoredShape};
    use tempfile::TempDir;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(30);

    fn open(folder: &TempDir) -> Arc<dyn Store> {
        onecall_store::open(folder.path().join("onecall.db"))
    }

    fn put(store: &dyn Store, number: usize) -> Result<(), StoreError> {
        let tool = number.to_string();
        let key = ShapeKey { server: "s".to_owned(), tool, schema: "k".to_owned() };
        store.put_shape(&key, &StoredShape { samples: 1, shape: String::new() })
    }

    #[test]
    fn a_writer_writes_what_it_took_before_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let writer = StoreWriter::start(open(&folder));
        for number in 0..100 {
            writer.submit(100, move |store| put(store, number));
        }
        assert!(writer.close(TIMEOUT));
        assert_eq!(open(&folder).shapes().unwrap().len(), 100);
        writer.submit(0, |store| put(store, 100));
        assert_eq!(writer.dropped(), 1);
    }

    #[test]
    fn a_writer_drops_what_it_has_no_room_for() {
        let folder = tempfile::tempdir().unwrap();
        let writer = StoreWriter::start(open(&folder));
        let (go, wait) = mpsc::channel::<()>();
        writer.submit(0, move |_| {
            _ = wait.recv();
            Ok(())
        });
        writer.submit(usize::MAX, |_| Ok(()));
        for _ in 0..5_000 {
            writer.submit(1, |_| Ok(()));
        }
        assert!(writer.dropped() > 3_000, "{}", writer.dropped());
        drop(go);
        assert!(writer.close(TIMEOUT));
    }

    #[test]
    fn writes_wait_while_the_store_cannot_be_reached_or_is_full() {
        writes_wait(|| {
            let (store, cause) = (String::new(), "no connection".into());
            StoreError::Unreachable { store, outage: Outage::NotDone, cause }
        });
        writes_wait(|| StoreError::Full { store: String::new() });
    }

    /// Checks that writes wait while the store fails with this error.
    fn writes_wait(error: fn() -> StoreError) {
        let folder = tempfile::tempdir().unwrap();
        let writer = StoreWriter::start(open(&folder));
        let (restore, restored) = mpsc::channel::<()>();
        let (tried, tries) = mpsc::channel();
        writer.submit(0, move |store| {
            if restored.try_recv() == Err(mpsc::TryRecvError::Empty) {
                _ = tried.send(());
                return Err(error());
            }
            put(store, 0)
        });
        // The thread has taken it out of the queue.
        tries.recv_timeout(TIMEOUT).unwrap();
        for number in 1..2_000 {
            writer.submit(1, move |store| put(store, number));
        }
        tries.recv_timeout(TIMEOUT).unwrap();
        let (waiting, dropped) = (writer.waiting(), writer.dropped());
        assert_eq!(waiting, u64::try_from(QUEUE_LENGTH).unwrap() + 1);
        assert_eq!(waiting + dropped, 2_000);
        drop(restore);
        // The last one is written after all others.
        let (written, is_written) = mpsc::channel();
        // When two are written, there is room in the queue.
        while writer.waiting() + 2 > waiting {
            thread::yield_now();
        }
        writer.submit(0, move |_| {
            _ = written.send(());
            Ok(())
        });
        is_written.recv_timeout(TIMEOUT).unwrap();
        assert_eq!(open(&folder).shapes().unwrap().len(), QUEUE_LENGTH + 1);
    }

    #[test]
    fn a_write_that_takes_too_long_holds_up_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let writer = StoreWriter::start(open(&folder));
        let (tried, tries) = mpsc::channel();
        writer.submit(0, move |_| {
            _ = tried.send(());
            let (store, cause) = (String::new(), "canceling statement".into());
            Err(StoreError::Unreachable { store, outage: Outage::TooSlow, cause })
        });
        writer.submit(0, |store| put(store, 0));
        while writer.waiting() > 0 {
            thread::yield_now();
        }
        assert_eq!((tries.try_iter().count(), writer.dropped()), (2, 1));
        assert!(writer.close(TIMEOUT));
        assert_eq!(open(&folder).shapes().unwrap().len(), 1);
    }

    #[test]
    fn a_write_that_fails_is_counted_unless_it_was_stored_before() {
        let folder = tempfile::tempdir().unwrap();
        let writer = StoreWriter::start(open(&folder));
        writer.submit(0, |_| {
            let (store, cause) = (String::new(), "permission denied for table runs".into());
            Err(StoreError::Database { store, cause })
        });
        writer.submit(0, |_| {
            let (store, cause) = (String::new(), "duplicate key value".into());
            Err(StoreError::AlreadyStored { store, cause })
        });
        assert!(writer.close(TIMEOUT));
        assert_eq!((writer.dropped(), writer.waiting()), (1, 0));
    }

    #[test]
    fn a_writer_that_is_closed_does_not_wait_for_its_store() {
        let folder = tempfile::tempdir().unwrap();
        let writer = StoreWriter::start(open(&folder));
        for _ in 0..10 {
            writer.submit(0, |_| {
                let (store, cause) = (String::new(), "no connection".into());
                Err(StoreError::Unreachable { store, outage: Outage::NotDone, cause })
            });
        }
        assert!(writer.close(TIMEOUT));
        assert_eq!((writer.dropped(), writer.waiting()), (10, 0));
    }
}
