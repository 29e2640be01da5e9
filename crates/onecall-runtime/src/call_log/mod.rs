//! The log of a run. Each call writes an intent when it begins, then a decision, then an end; this
//! is the only place where calls are noted. The outcome and the record of the run are read from the
//! log when the run is over; progress, metrics and spans receive each event as it is written
//! (`writer.rs`). The log is bounded in memory.

mod entries;
mod texts;
mod writer;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use onecall_core::{CallResult, Calls, Decision, Detail, LogEntry, ResolvedCall};

pub(crate) use entries::{Depth, LoggedCall, LoggedCalls};
pub(crate) use texts::Excerpt;
pub use writer::CallEvent;
pub(crate) use writer::LogWriter;

/// The calls of one run, in the order in which they began.
pub(crate) struct CallLog {
    begun: Instant,
    calls: Mutex<LoggedCalls>,
}

impl CallLog {
    /// Creates the log of a run that begins now; `detail` and `depth` say how much it keeps.
    pub(crate) fn new(detail: Detail, depth: Depth) -> Self {
        Self { begun: Instant::now(), calls: Mutex::new(LoggedCalls::new(detail, depth)) }
    }

    /// When the run began.
    pub(crate) fn begun(&self) -> Instant {
        self.begun
    }

    /// Logs that a call begins. The returned entry identifies the call in later events.
    fn begin(&self, call: &ResolvedCall, now: Instant) -> LogEntry {
        let started = now.saturating_duration_since(self.begun);
        self.lock().begin(call, started)
    }

    /// Logs whether the call of an entry may be made.
    fn decide(&self, entry: LogEntry, decision: Decision) {
        self.lock().decide(entry, decision);
    }

    /// Logs how the call of an entry ended.
    fn end(&self, entry: LogEntry, result: &CallResult, now: Instant) {
        let ended = now.saturating_duration_since(self.begun);
        self.lock().end(entry, ended, result);
    }

    /// The calls as the outcome of the run lists them.
    pub(crate) fn told(&self, has_failed: bool) -> Calls {
        self.lock().told(has_failed)
    }

    /// Takes all entries out, for the record of the run.
    pub(crate) fn take(&self) -> LoggedCalls {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, LoggedCalls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
