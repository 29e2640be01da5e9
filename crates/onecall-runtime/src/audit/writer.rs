//! The thread that writes the audit trail. Rows that have arrived by the time of a write share one
//! commit. A row is kept until it is on disk; while the trail cannot be written, calls are refused.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use onecall_core::Timestamp;
use onecall_core::storage::{AuditEntry, AuditEvent, AuditTrail, StoreError};
use thiserror::Error;
use tokio::sync::watch;

use super::{AuditDetail, MAX_ARGUMENT_BYTES};
use crate::Redactor;

/// Bytes of rows that may be unwritten. While there are more, calls wait.
const MAX_UNWRITTEN_BYTES: usize = 8 * 1024 * 1024;

/// Bytes of rows that are written at once, without waiting for more.
const EAGER_BYTES: usize = 256 * 1024;

/// How long rows are collected that no call waits for.
const LINGER: Duration = Duration::from_millis(50);

/// The pause between two attempts, while the trail cannot be written.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// How often old rows are removed. The first time is after the first write.
const PRUNE_INTERVAL: Duration = Duration::from_secs(3_600);

/// The approximate size of a row in memory, without its texts.
const ROW_BYTES: usize = 400;

/// The settings of an [`AuditWriter`].
pub struct AuditSettings {
    /// What is kept of arguments.
    pub detail: AuditDetail,
    /// Removes secrets from arguments that are kept.
    pub redactor: Redactor,
    /// Rows that are older than this are removed.
    pub max_age: Duration,
}

/// Why a call cannot be audited.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AuditError {
    /// The last rows could not be written.
    #[error("the audit trail cannot be written: {0}")]
    Unwritable(Arc<str>),
    /// The gateway ends, and the trail is closed.
    #[error("the audit trail is closed, because the gateway stops")]
    Closed,
}

/// Writes the audit trail of a process, on a thread of its own.
pub struct AuditWriter {
    shared: Arc<Shared>,
    detail: AuditDetail,
    finished: Mutex<mpsc::Receiver<()>>,
}

/// The state that calls share with the thread.
struct Shared {
    queue: Mutex<Queue>,
    /// Wakes the thread.
    wake: Condvar,
    /// Bytes of all rows that are not on disk.
    unwritten_bytes: AtomicUsize,
    /// How far the thread is. Calls wait for changes of it.
    progress: watch::Sender<Progress>,
    redactor: Mutex<Redactor>,
}

#[derive(Default)]
struct Queue {
    entries: Vec<AuditEntry>,
    /// How many rows were added in total.
    added: u64,
    /// Whether a call waits for the rows.
    is_urgent: bool,
    is_closed: bool,
}

/// How far the thread is.
#[derive(Debug, Default)]
struct Progress {
    /// How many rows are on disk in total.
    written: u64,
    /// Why the last attempt to write failed.
    failure: Option<AuditError>,
}

impl AuditWriter {
    /// Starts the thread that writes to `trail`. If no thread can be started, calls are refused.
    #[must_use]
    pub fn start(trail: Arc<dyn AuditTrail>, settings: AuditSettings) -> Arc<Self> {
        Self::start_with(trail, settings, RETRY_PAUSE)
    }

    fn start_with(
        trail: Arc<dyn AuditTrail>,
        settings: AuditSettings,
        retry_pause: Duration,
    ) -> Arc<Self> {
        let AuditSettings { detail, redactor, max_age } = settings;
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            wake: Condvar::new(),
            unwritten_bytes: AtomicUsize::new(0),
            progress: watch::Sender::default(),
            redactor: Mutex::new(redactor),
        });
        let (finish, finished) = mpsc::channel();
        let of_thread = Arc::clone(&shared);
        let write = move || {
            let (shared, trail) = (&*of_thread, &*trail);
            let pruned = None;
            Thread { trail, shared, max_age, retry_pause, unwritten: Vec::new(), pruned }.run();
            drop(finish);
        };
        if let Err(error) = std::thread::Builder::new().name("audit".to_owned()).spawn(write) {
            tracing::error!("no thread for the audit trail can be started: {error}");
            shared.fail(AuditError::Unwritable(error.to_string().into()));
            shared.lock().is_closed = true;
        }
        Arc::new(Self { shared, detail, finished: Mutex::new(finished) })
    }

    /// Adds a row for an event that is not about a call, such as the start of a gateway.
    pub fn add_event(&self, event: AuditEvent) {
        self.add(AuditEntry::of_gateway(Timestamp::now(), event));
    }

    /// Removes the secrets of `redactor` from the arguments of later rows, too.
    pub fn add_secrets(&self, redactor: Redactor) {
        self.shared.redactor.lock().unwrap_or_else(PoisonError::into_inner).add(redactor);
    }

    /// What is kept of arguments.
    pub(super) fn detail(&self) -> AuditDetail {
        self.detail
    }

    /// Adds a row and returns its position among those of this process.
    pub(super) fn add(&self, entry: AuditEntry) -> u64 {
        let bytes = memory_bytes(&entry);
        let mut queue = self.shared.lock();
        if queue.is_closed {
            tracing::warn!("an event after the end of the gateway is missing in the audit trail");
            return u64::MAX;
        }
        let was_empty = queue.entries.is_empty();
        queue.entries.push(entry);
        queue.added += 1;
        let position = queue.added;
        let unwritten = self.shared.unwritten_bytes.fetch_add(bytes, Ordering::AcqRel) + bytes;
        drop(queue);
        if was_empty || unwritten >= EAGER_BYTES {
            self.shared.wake.notify_one();
        }
        position
    }

    /// Whether the rows of another call can be added at once.
    pub(super) fn has_room(&self) -> bool {
        self.shared.has_room() && self.shared.progress.borrow().failure.is_none()
    }

    /// Waits until the rows of another call can be added.
    pub(super) async fn room(&self) -> Result<(), AuditError> {
        let is_known = |progress: &Progress| progress.failure.is_some() || self.shared.has_room();
        self.wait_for(is_known).await
    }

    /// Waits until the row at this position, and all before it, are on disk.
    pub(super) async fn written(&self, position: u64) -> Result<(), AuditError> {
        if self.shared.progress.borrow().written >= position {
            return Ok(());
        }
        self.shared.lock().is_urgent = true;
        self.shared.wake.notify_one();
        let is_known =
            |progress: &Progress| progress.failure.is_some() || progress.written >= position;
        self.wait_for(is_known).await?;
        Ok(())
    }

    async fn wait_for(&self, is_known: impl FnMut(&Progress) -> bool) -> Result<(), AuditError> {
        let mut progress = self.shared.progress.subscribe();
        match progress.wait_for(is_known).await {
            Ok(progress) => progress.failure.clone().map_or(Ok(()), Err),
            Err(_) => Err(AuditError::Closed),
        }
    }

    /// Writes all rows that were added, ends the thread, and waits at most `timeout` for that; returns
    /// whether it has ended.
    pub fn close(&self, timeout: Duration) -> bool {
        self.shared.close();
        let finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        !matches!(finished.recv_timeout(timeout), Err(mpsc::RecvTimeoutError::Timeout))
    }
}

impl Drop for AuditWriter {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_room(&self) -> bool {
        self.unwritten_bytes.load(Ordering::Acquire) <= MAX_UNWRITTEN_BYTES
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.wake.notify_one();
    }

    fn fail(&self, error: AuditError) {
        self.progress.send_modify(|progress| progress.failure = Some(error));
    }

    /// Waits for rows, and adds them to `unwritten`. The result is `false` if there will be no more.
    fn take(&self, unwritten: &mut Vec<AuditEntry>) -> bool {
        let mut queue = self.lock();
        while queue.entries.is_empty() && unwritten.is_empty() && !queue.is_closed {
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let is_eager = || self.unwritten_bytes.load(Ordering::Acquire) >= EAGER_BYTES;
        let end = Instant::now() + LINGER;
        while !(queue.is_urgent || queue.is_closed || is_eager()) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.wake.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        queue.is_urgent = false;
        let mut taken = std::mem::take(&mut queue.entries);
        let is_open = !queue.is_closed;
        drop(queue);
        taken.iter_mut().for_each(|entry| self.redact(entry));
        unwritten.append(&mut taken);
        is_open
    }

    /// Waits before the next attempt. The end of the writer does not wait.
    fn pause(&self, length: Duration) {
        let (queue, end) = (self.lock(), Instant::now() + length);
        let is_waiting = |queue: &mut Queue| !queue.is_closed && Instant::now() < end;
        drop(self.wake.wait_timeout_while(queue, length, is_waiting));
    }

    /// Removes secrets from the arguments of a row.
    fn redact(&self, entry: &mut AuditEntry) {
        let text = match &mut entry.event {
            AuditEvent::Decided { arguments, .. }
            | AuditEvent::Answered { arguments: Some(arguments), .. } => &mut arguments.text,
            _ => return,
        };
        if let Some(text) = text {
            let redactor = self.redactor.lock().unwrap_or_else(PoisonError::into_inner);
            *text = redactor.redact_truncated(std::mem::take(text));
        }
    }
}

/// The thread, with the rows that it has taken and not yet written.
struct Thread<'a> {
    trail: &'a dyn AuditTrail,
    shared: &'a Shared,
    max_age: Duration,
    retry_pause: Duration,
    unwritten: Vec<AuditEntry>,
    /// When old rows were removed last.
    pruned: Option<Instant>,
}

impl Thread<'_> {
    fn run(&mut self) {
        loop {
            let is_open = self.shared.take(&mut self.unwritten);
            let has_failed = self.write().is_err();
            if !is_open {
                break;
            }
            if has_failed {
                self.shared.pause(self.retry_pause);
            } else {
                self.prune();
            }
        }
        if !self.unwritten.is_empty() {
            let count = self.unwritten.len();
            tracing::error!("{count} rows of the audit trail were not written before the end");
        }
        // A call that still waits for its rows must not be sent.
        if self.shared.progress.borrow().failure.is_none() {
            self.shared.fail(AuditError::Closed);
        }
    }

    /// Writes all rows. If that fails, they stay for the next time.
    fn write(&mut self) -> Result<(), StoreError> {
        // A failure that repeats is logged once.
        let was_failing = self.shared.progress.borrow().failure.is_some();
        match self.trail.append_audit(&self.unwritten) {
            Ok(()) => {
                if was_failing {
                    tracing::info!("the audit trail is written again; tools can be called");
                }
                let bytes = self.unwritten.iter().map(memory_bytes).sum::<usize>();
                let count = u64::try_from(self.unwritten.len()).unwrap_or(u64::MAX);
                self.unwritten.clear();
                let unwritten = &self.shared.unwritten_bytes;
                _ = unwritten.fetch_update(Ordering::AcqRel, Ordering::Acquire, |it| {
                    Some(it.saturating_sub(bytes))
                });
                self.shared.progress.send_modify(|progress| {
                    progress.written += count;
                    progress.failure = None;
                });
                Ok(())
            }
            Err(error) => {
                if !was_failing {
                    tracing::error!(
                        "the audit trail cannot be written, so no tool is called: {error}"
                    );
                }
                self.shared.fail(AuditError::Unwritable(error.to_string().into()));
                Err(error)
            }
        }
    }

    /// Removes old rows, if it is time.
    fn prune(&mut self) {
        if self.pruned.is_some_and(|pruned| pruned.elapsed() < PRUNE_INTERVAL) {
            return;
        }
        self.pruned = Some(Instant::now());
        let now = Timestamp::now();
        if let Err(error) = self.trail.prune_audit(now.before(self.max_age), now) {
            tracing::warn!("old rows of the audit trail cannot be removed: {error}");
        }
    }
}

/// The approximate size of a row in memory. It stays the same when secrets are removed from the text.
fn memory_bytes(entry: &AuditEntry) -> usize {
    let arguments = match &entry.event {
        AuditEvent::Decided { arguments, .. }
        | AuditEvent::Answered { arguments: Some(arguments), .. } => Some(arguments),
        _ => None,
    };
    let bytes = arguments.filter(|it| it.text.is_some()).map_or(0, |it| it.bytes);
    let text = usize::try_from(bytes).unwrap_or(usize::MAX).min(MAX_ARGUMENT_BYTES);
    ROW_BYTES + text + entry.groups.iter().map(String::len).sum::<usize>()
}

#[cfg(test)]
mod tests;
