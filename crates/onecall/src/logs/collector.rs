//! The log layer that passes events to the thread that writes log files.

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use onecall_bridge::{AVAILABILITY_LOG_TARGET, SERVER_LOG_TARGET};
use onecall_config::Config;
use onecall_core::Timestamp;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::Context;
use tracing_subscriber::{Layer, Registry};

use super::entry::{EntrySource, LogFileEntry};
use super::folder::LogFolder;
use super::writer::{WriterState, write};

/// How many lines, and bytes of their messages, may be queued. Further ones are dropped and
/// counted: no code waits for a slow disk.
const MAX_QUEUED_LINES: usize = 4096;
const MAX_QUEUED_BYTES: usize = 8 * 1024 * 1024;

/// How long the end of a command waits until all lines are written.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// The priority of the thread that writes: lower than that of calls and programs, but not the lowest.
/// The lowest would get next to no time on a busy machine, and the end of a command waits for it.
const NICENESS: i32 = 10;

static LOG_QUEUE: LazyLock<LogQueue> = LazyLock::new(LogQueue::new);

/// The logs of this process.
struct LogQueue {
    shared: WriterState,
    /// The queue to the thread; `None` once logging has ended.
    queue: Mutex<Option<SyncSender<LogFileEntry>>>,
    /// The other end of the queue, until the thread starts; lines wait in the queue until then.
    waiting: Mutex<Option<Receiver<LogFileEntry>>>,
    /// Receives a message when the thread has written everything.
    finished: Mutex<Option<Receiver<()>>>,
}

impl LogQueue {
    fn new() -> Self {
        let (queue, waiting) = mpsc::sync_channel(MAX_QUEUED_LINES);
        Self {
            shared: WriterState::default(),
            queue: Mutex::new(Some(queue)),
            waiting: Mutex::new(Some(waiting)),
            finished: Mutex::default(),
        }
    }

    fn submit(&self, entry: LogFileEntry) {
        let bytes = entry.message.len();
        let waiting: &AtomicUsize = &self.shared.waiting_bytes;
        let has_room = waiting.fetch_add(bytes, Ordering::Relaxed) + bytes <= MAX_QUEUED_BYTES;
        let is_taken = has_room
            && lock(&self.queue).as_ref().is_some_and(|queue| queue.try_send(entry).is_ok());
        if !is_taken {
            waiting.fetch_sub(bytes, Ordering::Relaxed);
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Starts the thread if it does not run yet.
    fn start(&'static self, folder: LogFolder) {
        let Some(waiting) = lock(&self.waiting).take() else { return };
        let (finish, finished) = mpsc::sync_channel(1);
        let started = thread::Builder::new().name("logs".to_owned()).spawn(move || {
            _ = rustix::process::setpriority_process(None, NICENESS);
            write(&folder, &self.shared, &waiting);
            _ = finish.send(());
        });
        match started {
            Ok(_) => *lock(&self.finished) = Some(finished),
            Err(error) => tracing::warn!("no logs are kept: {error}"),
        }
    }
}

/// Writes the collected lines, including earlier ones, to files as `config` says. Must be called
/// before servers of `config` start, also when it replaces another configuration: its secrets are
/// removed from every line.
pub(crate) fn configure(config: &Config) {
    LOG_QUEUE.shared.apply_config(config);
    if let Some(folder) = LogFolder::of_user().filter(|_| LOG_QUEUE.shared.is_on()) {
        LOG_QUEUE.start(folder);
    }
}

/// Whether this process writes log files.
pub(crate) fn are_written() -> bool {
    LOG_QUEUE.shared.is_on() && lock(&LOG_QUEUE.finished).is_some()
}

/// Closes the queue and waits a short time until all lines are written.
pub(crate) fn finish() {
    drop(lock(&LOG_QUEUE.queue).take());
    if let Some(finished) = lock(&LOG_QUEUE.finished).take() {
        _ = finished.recv_timeout(FLUSH_TIMEOUT);
    }
}

/// The log layer that collects lines for the files: warnings and errors, and events about servers
/// at level INFO or above.
pub(crate) struct Collector;

impl Collector {
    /// The layer with its filter, which does not depend on what is logged to stderr.
    pub(crate) fn layer() -> Box<dyn Layer<Registry> + Send + Sync> {
        let filter = filter_fn(is_collected).with_max_level_hint(LevelFilter::INFO);
        Self.with_filter(filter).boxed()
    }
}

fn is_collected(metadata: &Metadata<'_>) -> bool {
    let level = *metadata.level();
    let is_about_server = metadata.fields().field("server").is_some();
    // The log of the server's life says the same, without repeating lines of its stderr.
    let is_repeated = metadata.target() == AVAILABILITY_LOG_TARGET;
    metadata.is_event()
        && !is_repeated
        && (level <= Level::WARN || (level <= Level::INFO && is_about_server))
}

impl<S: Subscriber> Layer<S> for Collector {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = EventFields::default();
        event.record(&mut fields);
        let source = match &fields.severity {
            Some(_) => EntrySource::Log,
            None if event.metadata().target() == SERVER_LOG_TARGET => EntrySource::Stderr,
            None => EntrySource::Gateway,
        };
        let level = || event.metadata().level().as_str().to_lowercase();
        LOG_QUEUE.submit(LogFileEntry {
            time: Timestamp::now().with_milliseconds(),
            pid: std::process::id(),
            server: fields.server,
            source,
            level: fields.severity.unwrap_or_else(level),
            message: fields.message + &fields.others,
        });
    }
}

/// The fields of an event. Fields without a special meaning are appended to the message.
#[derive(Default)]
struct EventFields {
    message: String,
    server: Option<String>,
    severity: Option<String>,
    others: String,
}

impl Visit for EventFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            "server" => self.server = Some(format!("{value:?}")),
            "severity" => self.severity = Some(format!("{value:?}")),
            // Writing to a string cannot fail.
            name => _ = write!(self.others, " {name}={value:?}"),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_is_dropped_and_counted() {
        let logs = LogQueue::new();
        for _ in 0..MAX_QUEUED_LINES + 3 {
            logs.submit(LogFileEntry::of_gateway("warn", "x".to_owned()));
        }
        assert_eq!(logs.shared.dropped.load(Ordering::Relaxed), 3);
        assert_eq!(logs.shared.waiting_bytes.load(Ordering::Relaxed), MAX_QUEUED_LINES);
        let logs = LogQueue::new();
        for _ in 0..9 {
            logs.submit(LogFileEntry::of_gateway("warn", "x".repeat(MAX_QUEUED_BYTES / 8)));
        }
        assert_eq!(logs.shared.dropped.load(Ordering::Relaxed), 1);
    }
}
