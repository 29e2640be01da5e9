//! Writes the log of a run and passes each event on to its readers: the observer of the run
//! (progress) and the run's telemetry (metrics and spans).

use std::sync::Arc;
use std::time::{Duration, Instant};

use onecall_core::{CallResult, CallableName, Decision, LogEntry, ResolvedCall, ToolSpec};
use tracing::Span;

use super::CallLog;
use crate::Observer;
use crate::account::Account;

/// One event in the life of a call.
#[derive(Clone, Copy, Debug)]
pub enum CallEvent<'a> {
    /// The call is about to be made.
    Intent(&'a ResolvedCall),
    /// It has been decided whether the call may be made.
    Decision(&'a ResolvedCall, Decision),
    /// The call is over.
    End {
        /// The tool as the program named it.
        name: &'a CallableName,
        /// The tool that the name resolved to, if any.
        tool: Option<&'a ToolSpec>,
        /// The result of the call; `None` if the call was cancelled.
        result: Option<&'a CallResult>,
        /// The time since the intent.
        duration: Duration,
    },
}

/// Writes the log of one run and passes each event on to the readers.
#[derive(Clone, Copy)]
pub(crate) struct LogWriter<'a> {
    log: &'a CallLog,
    telemetry: &'a Account<'a>,
    observer: &'a dyn Observer,
}

impl<'a> LogWriter<'a> {
    /// Creates a writer for `log`; `telemetry` and `observer` receive each event.
    pub(crate) fn new(
        log: &'a CallLog,
        telemetry: &'a Account<'a>,
        observer: &'a dyn Observer,
    ) -> Self {
        Self { log, telemetry, observer }
    }

    /// Logs that a call begins.
    pub(crate) fn begin(self, call: &mut ResolvedCall) -> OpenCall<'a> {
        let begun = Instant::now();
        call.log_entry = self.log.begin(call, begun);
        self.tell(&CallEvent::Intent(call));
        OpenCall {
            writer: self,
            entry: call.log_entry,
            name: call.name.clone(),
            tool: call.tool.as_ref().ok().cloned(),
            span: self.telemetry.call_span(call),
            begun,
            is_over: false,
        }
    }

    /// Logs whether a call may be made.
    pub(crate) fn decide(self, call: &ResolvedCall, decision: Decision) {
        self.log.decide(call.log_entry, decision);
        self.tell(&CallEvent::Decision(call, decision));
    }

    fn tell(self, event: &CallEvent<'_>) {
        self.telemetry.call_event(event);
        self.observer.call_event(event);
    }
}

/// A call that is under way. Dropping it before [`Self::end`] logs it as cancelled.
pub(crate) struct OpenCall<'a> {
    writer: LogWriter<'a>,
    entry: LogEntry,
    name: CallableName,
    tool: Option<Arc<ToolSpec>>,
    span: Span,
    begun: Instant,
    is_over: bool,
}

impl OpenCall<'_> {
    /// The span that the call is executed in.
    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    /// Logs how the call ended.
    pub(crate) fn end(mut self, result: &CallResult) {
        self.is_over = true;
        let now = Instant::now();
        self.writer.log.end(self.entry, result, now);
        self.tell_end(Some(result), now);
    }

    fn tell_end(&self, result: Option<&CallResult>, now: Instant) {
        let duration = now.saturating_duration_since(self.begun);
        let (name, tool) = (&self.name, self.tool.as_deref());
        // Readers add their fields to the current span, which has to be that of the call.
        let tell = || self.writer.tell(&CallEvent::End { name, tool, result, duration });
        self.span.in_scope(tell);
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.tell_end(None, Instant::now());
        }
    }
}
