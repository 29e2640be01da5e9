//! The one log of a run: each call is an intent when it begins, a decision, then an end. Nothing else
//! takes notes of calls. The outcome of the run and its record are read from the log when the run is
//! over; progress, metrics and spans read each step as it is written (`writer.rs`). Bounded in memory.

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
    /// A log of a run that begins now, with as much as its outcome and its record need.
    pub(crate) fn new(detail: Detail, depth: Depth) -> Self {
        Self { begun: Instant::now(), calls: Mutex::new(LoggedCalls::new(detail, depth)) }
    }

    /// When the run began.
    pub(crate) fn begun(&self) -> Instant {
        self.begun
    }

    /// Logs that a call begins. Its decision and its end go with the entry that comes back.
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

    /// The calls as the outcome of the run tells them.
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
