//! Writes the log of a run and passes each event on to its readers: the observer of the run
//! (progress), the run's telemetry (metrics and spans) and its audit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use onecall_core::{
    AnsweredVerdict, CallResult, CallableName, Decision, LogIndex, PolicyRule, QuestionKind,
    ResolvedCall, ToolSpec,
};
use tracing::Span;

use super::CallLog;
use crate::Observer;
use crate::audit::RunAudit;
use crate::journal::Journal;
use crate::run_telemetry::RunTelemetry;

/// One event in the life of a call.
#[derive(Clone, Copy, Debug)]
pub enum CallEvent<'a> {
    /// The call is about to be made.
    Intent(&'a ResolvedCall),
    /// It has been decided whether the call may be made.
    Decision {
        /// The call.
        call: &'a ResolvedCall,
        /// The decision.
        decision: &'a Decision,
        /// The rule of the policy that permits the call, if one does.
        permitted_by: Option<&'a PolicyRule>,
    },
    /// A person, or an earlier approval, has decided about the call.
    Verdict {
        /// The call.
        call: &'a ResolvedCall,
        /// What was asked.
        kind: QuestionKind,
        /// The decision: who made it, when and how.
        answer: &'a AnsweredVerdict,
    },
    /// The call is over.
    End {
        /// The id of the call in its run.
        call: u64,
        /// The tool as the program named it.
        name: &'a CallableName,
        /// The tool that the name resolved to, if any.
        tool: Option<&'a ToolSpec>,
        /// The result of the call; `None` if the call was cancelled.
        result: Option<&'a CallResult>,
        /// The time since the intent.
        duration: Duration,
        /// Whether the result comes from the journal: the call ended before the run was continued.
        is_replayed: bool,
    },
}

/// Writes the log of one run and passes each event on to the readers.
#[derive(Clone, Copy)]
pub(crate) struct LogWriter<'a> {
    log: &'a CallLog,
    telemetry: &'a RunTelemetry<'a>,
    observer: &'a dyn Observer,
    journal: Option<&'a Journal>,
    audit: Option<&'a RunAudit<'a>>,
}

impl<'a> LogWriter<'a> {
    /// Creates a writer for `log`; `telemetry`, `observer` and `audit` receive each event. `journal` is
    /// that of the run, if it has one.
    pub(crate) fn new(
        log: &'a CallLog,
        telemetry: &'a RunTelemetry<'a>,
        observer: &'a dyn Observer,
        journal: Option<&'a Journal>,
        audit: Option<&'a RunAudit<'a>>,
    ) -> Self {
        Self { log, telemetry, observer, journal, audit }
    }

    /// The audit of the run, if it is audited.
    pub(crate) fn audit(self) -> Option<&'a RunAudit<'a>> {
        self.audit
    }

    /// Logs that a call begins.
    pub(crate) fn begin(self, call: &mut ResolvedCall) -> OpenCall<'a> {
        let begun = Instant::now();
        call.log_index = self.log.begin(call, begun);
        self.notify(&CallEvent::Intent(call));
        OpenCall {
            writer: self,
            is_replayed: self.journal.is_some_and(|journal| journal.has_recorded_end(call.id)),
            entry: call.log_index,
            id: call.id,
            name: call.name.clone(),
            tool: call.tool.as_ref().ok().cloned(),
            span: self.telemetry.call_span(call),
            begun,
            is_over: false,
        }
    }

    /// Logs whether a call may be made; `permitted_by` is the rule of the policy that permits it, if
    /// one does.
    pub(crate) fn decide(
        self,
        call: &ResolvedCall,
        decision: &Decision,
        permitted_by: Option<&PolicyRule>,
    ) {
        self.log.decide(call.log_index, decision);
        self.notify(&CallEvent::Decision { call, decision, permitted_by });
    }

    /// Logs what a person decided about a call.
    pub(crate) fn verdict(self, call: &ResolvedCall, kind: QuestionKind, answer: &AnsweredVerdict) {
        self.log.verdict(call.log_index, answer);
        self.notify(&CallEvent::Verdict { call, kind, answer });
    }

    fn notify(self, event: &CallEvent<'_>) {
        self.telemetry.call_event(event);
        self.observer.call_event(event);
        self.audit.iter().for_each(|audit| audit.call_event(event));
    }
}

/// A call that is under way. Dropping it before [`Self::end`] logs it as cancelled.
pub(crate) struct OpenCall<'a> {
    writer: LogWriter<'a>,
    is_replayed: bool,
    entry: LogIndex,
    id: u64,
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
        self.notify_end(Some(result), now);
    }

    fn notify_end(&self, result: Option<&CallResult>, now: Instant) {
        let duration = now.saturating_duration_since(self.begun);
        let (call, name, tool) = (self.id, &self.name, self.tool.as_deref());
        let is_replayed = self.is_replayed;
        let end = CallEvent::End { call, name, tool, result, duration, is_replayed };
        // Readers add their fields to the current span, which has to be that of the call.
        self.span.in_scope(|| self.writer.notify(&end));
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.notify_end(None, Instant::now());
        }
    }
}
