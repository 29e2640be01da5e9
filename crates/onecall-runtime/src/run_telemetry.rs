//! The telemetry of a run: its span, its log line and its metrics. None of them contains the
//! program's source, its output, or the arguments and results of its calls.

use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use onecall_core::{
    AnsweredVerdict, ClientId, Decision, EngineChoice, Outcome, ResolvedCall, RunContext, RunId,
    SPAN_TARGET, TraceContext, UserName,
};
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState,
};
use tracing::field::Empty;
use tracing::{Instrument, Span, info, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::call_log::CallEvent;
use crate::journal::Journal;
use crate::metrics::label::CallOutcome;
use crate::metrics::{Metrics, label};

/// The log target of the one line that each run writes to the log.
pub const RUN_LOG_TARGET: &str = "onecall::run";

/// The telemetry of one run, from the moment the run is requested until it ends.
pub(crate) struct RunTelemetry<'a> {
    metrics: &'a Metrics,
    id: &'a RunId,
    /// The user that the run is for; `None` for the local user.
    user: Option<&'a str>,
    client: Option<ClientId>,
    trace_id: Option<String>,
    span: Span,
    begun: Instant,
    /// The engine that runs the program, once it has been chosen.
    engine: Mutex<Option<EngineChoice>>,
    calls: AtomicU64,
    is_closed: AtomicBool,
    /// Whether the run can be continued in another process.
    is_durable: bool,
}

impl<'a> RunTelemetry<'a> {
    /// Starts the telemetry of a run: counts it as running and opens its span.
    pub(crate) fn start(
        metrics: &'a Metrics,
        run: &'a RunContext,
        journal: Option<&Journal>,
    ) -> Self {
        metrics.run_started();
        let (id, caller) = (&run.id, run.caller.as_ref());
        let trace = caller.and_then(|caller| caller.trace.as_deref());
        let user = Some(&run.principal.user).filter(|user| !user.is_local()).map(UserName::as_str);
        let span = info_span!(
            target: SPAN_TARGET,
            "run",
            otel.kind = if trace.is_some() { "server" } else { "internal" },
            otel.status_code = Empty,
            onecall.run.id = %id,
            user.id = user,
            onecall.engine = Empty,
            onecall.outcome = Empty,
            onecall.calls = Empty,
            onecall.output_bytes = Empty,
            error.type = Empty,
        );
        let mut trace_id = trace.map(|trace| trace.trace_id().to_owned());
        if !span.is_disabled() {
            if let Some(parent) = trace.and_then(remote_span_context) {
                // This fails only if no span exporter is installed, and then no parent is needed.
                let _ =
                    span.set_parent(opentelemetry::Context::new().with_remote_span_context(parent));
            }
            let context = span.context();
            let kept = context.span().span_context().trace_id();
            trace_id = (kept != TraceId::INVALID).then(|| kept.to_string()).or(trace_id);
        }
        Self {
            metrics,
            id,
            user,
            client: caller.map(|caller| caller.client),
            trace_id,
            span,
            begun: Instant::now(),
            engine: Mutex::default(),
            calls: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            is_durable: journal.is_some_and(Journal::is_durable),
        }
    }

    /// Notes which engine was chosen for the run.
    pub(crate) fn set_engine(&self, engine: EngineChoice) {
        *self.engine.lock().unwrap_or_else(PoisonError::into_inner) = Some(engine);
    }

    /// The engine of the run, once it has been chosen. A call without a program has none.
    pub(crate) fn engine(&self) -> Option<EngineChoice> {
        *self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the span of a call that is about to start.
    #[expect(clippy::unused_self, reason = "the span belongs to the run")]
    pub(crate) fn call_span(&self, call: &ResolvedCall) -> Span {
        // The span must not contain text from the program, so a name without a tool is left out.
        let name = call.tool.as_ref().map_or("(unknown)", |spec| spec.callable.as_str());
        info_span!(
            target: SPAN_TARGET,
            "call",
            otel.name = format!("execute_tool {name}"),
            otel.status_code = Empty,
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = name,
            gen_ai.tool.call.id = call.id.to_string(),
            gen_ai.tool.type = "function",
            onecall.denied_by = Empty,
            onecall.asked_by = Empty,
            onecall.verdict = Empty,
            error.type = Empty,
        )
    }

    /// Updates span and metrics from one event of the call log. The current span must be that of
    /// the call.
    pub(crate) fn call_event(&self, event: &CallEvent<'_>) {
        match event {
            CallEvent::Intent(_) => {
                self.calls.fetch_add(1, Ordering::Relaxed);
            }
            CallEvent::Decision { decision, .. } => match decision {
                Decision::Allow => {}
                Decision::Deny(rule) => {
                    Span::current().record("onecall.denied_by", &*rule.name());
                }
                Decision::Ask(rule) => {
                    Span::current().record("onecall.asked_by", rule.name());
                }
            },
            CallEvent::Verdict { call, answer, .. } => self.log_verdict(call, answer),
            CallEvent::End { tool, result, duration, is_replayed, .. } => {
                let outcome = result.map_or(CallOutcome::Cancelled, CallOutcome::of);
                // The process that made a call has counted it.
                if let Some(spec) = tool.filter(|_| !is_replayed) {
                    self.metrics.call_counters(&spec.server).count(outcome, *duration);
                }
                if outcome != CallOutcome::Success {
                    let kind = outcome.name();
                    Span::current().record("error.type", kind).record("otel.status_code", "ERROR");
                }
            }
        }
    }

    fn log_verdict(&self, call: &ResolvedCall, answer: &AnsweredVerdict) {
        let verdict = answer.verdict.name();
        Span::current().record("onecall.verdict", verdict);
        info!(
            target: RUN_LOG_TARGET,
            run = %self.id,
            call = call.id,
            tool = call.tool.as_ref().map_or("(unknown)", |spec| spec.callable.as_str()),
            verdict,
            by = answer.by,
            way = answer.way.name(),
            at = %answer.at,
            "a call was decided",
        );
    }

    /// Waits for the end of the run, then closes its span and counts its outcome.
    pub(crate) async fn track(&self, run: impl Future<Output = Outcome>) -> Outcome {
        let outcome = run.instrument(self.span.clone()).await;
        let output = outcome.stdout.text.len() + outcome.stderr.text.len();
        self.close(label::run_outcome(&outcome.result), Some(output));
        outcome
    }

    fn close(&self, outcome: &'static str, output_bytes: Option<usize>) {
        if self.is_closed.swap(true, Ordering::Relaxed) {
            return;
        }
        let took = self.begun.elapsed();
        let engine = self.engine().map_or("none", EngineChoice::name);
        let calls = self.calls.load(Ordering::Relaxed);
        self.metrics.run_ended(engine, outcome, took);
        self.span.record("onecall.engine", engine);
        self.span.record("onecall.outcome", outcome).record("onecall.calls", calls);
        if let Some(bytes) = output_bytes {
            self.span.record("onecall.output_bytes", bytes);
        }
        if outcome != label::SUCCESS && outcome != label::SUSPENDED {
            self.span.record("error.type", outcome).record("otel.status_code", "ERROR");
        }
        info!(
            target: RUN_LOG_TARGET,
            run = %self.id,
            user = self.user,
            client = self.client.map(|client| client.0),
            trace = self.trace_id,
            engine,
            outcome,
            duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            calls,
            output_bytes,
            "a program ended",
        );
    }
}

/// A run whose future is dropped counts as cancelled, or as suspended if it can be continued.
impl Drop for RunTelemetry<'_> {
    fn drop(&mut self) {
        let outcome = if self.is_durable { label::SUSPENDED } else { label::CANCELLED };
        self.close(outcome, None);
    }
}

fn remote_span_context(trace: &TraceContext) -> Option<SpanContext> {
    let state = trace.tracestate().and_then(|state| TraceState::from_str(state).ok());
    Some(SpanContext::new(
        TraceId::from_hex(trace.trace_id()).ok()?,
        SpanId::from_hex(trace.span_id()).ok()?,
        TraceFlags::new(trace.flags()),
        true,
        state.unwrap_or_default(),
    ))
}
