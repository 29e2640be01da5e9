//! The log of a run. Each call writes an intent when it begins, then a decision, the verdict of a
//! person if one is asked, then an end; this
//! is the only place where calls are noted. The outcome and the record of the run are read from the
//! log when the run is over; progress, metrics and spans receive each event as it is written
//! (`writer.rs`). The log is bounded in memory.

mod entries;
mod text_buffers;
mod writer;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use onecall_core::{
    AnsweredVerdict, CallResult, CallSummary, Decision, LogIndex, OutcomeDetail, ResolvedCall,
};

pub(crate) use entries::{LoggedCall, LoggedCalls, RecordDetail};
pub(crate) use text_buffers::Excerpt;
pub use writer::CallEvent;
pub(crate) use writer::LogWriter;

/// The calls of one run, in the order in which they began.
pub(crate) struct CallLog {
    begun: Instant,
    calls: Mutex<LoggedCalls>,
}

impl CallLog {
    /// Creates the log of a run that begins now; `detail` and `record_detail` say how
    /// much it keeps.
    pub(crate) fn new(detail: OutcomeDetail, record_detail: RecordDetail) -> Self {
        Self { begun: Instant::now(), calls: Mutex::new(LoggedCalls::new(detail, record_detail)) }
    }

    /// When the run began.
    pub(crate) fn begun(&self) -> Instant {
        self.begun
    }

    /// Logs that a call begins. The returned entry identifies the call in later events.
    fn begin(&self, call: &ResolvedCall, now: Instant) -> LogIndex {
        let started = now.saturating_duration_since(self.begun);
        self.lock().begin(call, started)
    }

    /// Logs whether the call of an entry may be made.
    fn decide(&self, entry: LogIndex, decision: &Decision) {
        self.lock().decide(entry, decision);
    }

    /// Logs what a person decided about the call of an entry.
    fn verdict(&self, entry: LogIndex, answer: &AnsweredVerdict) {
        self.lock().verdict(entry, answer);
    }

    /// Logs how the call of an entry ended.
    fn end(&self, entry: LogIndex, result: &CallResult, now: Instant) {
        let ended = now.saturating_duration_since(self.begun);
        self.lock().end(entry, ended, result);
    }

    /// The calls as the outcome of the run lists them.
    pub(crate) fn calls_for_outcome(&self, has_failed: bool) -> CallSummary {
        self.lock().calls_for_outcome(has_failed)
    }

    /// Takes all entries out, for the record of the run.
    pub(crate) fn take(&self) -> LoggedCalls {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, LoggedCalls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
