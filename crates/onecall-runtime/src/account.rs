//! What is told of a run to those who watch over the gateway: its span, its line in the
//! log and its place among the numbers. None of it holds what the program says or gets.

use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use onecall_core::{
    ClientId, Decision, EngineChoice, Outcome, ResolvedCall, RunContext, RunId, SPAN_TARGET,
    TraceContext,
};
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState,
};
use tracing::field::Empty;
use tracing::{Instrument, Span, info, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::call_log::CallEvent;
use crate::metrics::label::CallOutcome;
use crate::metrics::{Metrics, label};

/// The target of the one line that a run has in the log.
pub const RUN_LOG_TARGET: &str = "onecall::run";

/// One run, from the moment it is asked for.
pub(crate) struct Account<'a> {
    metrics: &'a Metrics,
    id: &'a RunId,
    client: Option<ClientId>,
    trace_id: Option<String>,
    span: Span,
    begun: Instant,
    /// What runs it, as far as that is known.
    engine: Mutex<Option<EngineChoice>>,
    calls: AtomicU64,
    is_closed: AtomicBool,
}

impl<'a> Account<'a> {
    /// Opens the account of a run.
    pub(crate) fn open(metrics: &'a Metrics, run: &'a RunContext) -> Self {
        metrics.run_started();
        let (id, caller) = (&run.id, run.caller.as_ref());
        let trace = caller.and_then(|caller| caller.trace.as_deref());
        let span = info_span!(
            target: SPAN_TARGET,
            "run",
            otel.kind = if trace.is_some() { "server" } else { "internal" },
            otel.status_code = Empty,
            onecall.run.id = %id,
            onecall.engine = Empty,
            onecall.outcome = Empty,
            onecall.calls = Empty,
            onecall.output_bytes = Empty,
            error.type = Empty,
        );
        let mut trace_id = trace.map(|trace| trace.trace_id().to_owned());
        if !span.is_disabled() {
            if let Some(parent) = trace.and_then(remote) {
                // Fails where nobody keeps spans, who then do not need it.
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
            client: caller.map(|caller| caller.client),
            trace_id,
            span,
            begun: Instant::now(),
            engine: Mutex::default(),
            calls: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
        }
    }

    /// It was decided what runs it.
    pub(crate) fn ran_on(&self, engine: EngineChoice) {
        *self.engine.lock().unwrap_or_else(PoisonError::into_inner) = Some(engine);
    }

    /// What runs it, as far as that is known; nothing runs a call without a program.
    pub(crate) fn engine(&self) -> Option<EngineChoice> {
        *self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The span of a call that begins.
    #[expect(clippy::unused_self, reason = "the span belongs to the run")]
    pub(crate) fn call_span(&self, call: &ResolvedCall) -> Span {
        // A name that stands for no tool is only what a program wrote.
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
            error.type = Empty,
        )
    }

    /// Reads one step of a call from the log of the run. The current span is that of the call.
    pub(crate) fn call_event(&self, event: &CallEvent<'_>) {
        match event {
            CallEvent::Intent(_) => {
                self.calls.fetch_add(1, Ordering::Relaxed);
            }
            CallEvent::Decision(_, Decision::Allow) => {}
            CallEvent::Decision(_, Decision::Deny(rule)) => {
                Span::current().record("onecall.denied_by", rule.name());
            }
            CallEvent::End { tool, result, duration, .. } => {
                let outcome = result.map_or(CallOutcome::Cancelled, CallOutcome::of);
                if let Some(spec) = tool {
                    self.metrics.calls_of(&spec.server).ended(outcome, *duration);
                }
                if outcome != CallOutcome::Success {
                    let kind = outcome.name();
                    Span::current().record("error.type", kind).record("otel.status_code", "ERROR");
                }
            }
        }
    }

    /// Waits for its end, and closes the account.
    pub(crate) async fn settle(&self, run: impl Future<Output = Outcome>) -> Outcome {
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
        if outcome != label::SUCCESS {
            self.span.record("error.type", outcome).record("otel.status_code", "ERROR");
        }
        info!(
            target: RUN_LOG_TARGET,
            run = %self.id,
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

/// A run whose future is dropped was not wanted any more.
impl Drop for Account<'_> {
    fn drop(&mut self) {
        self.close(label::CANCELLED, None);
    }
}

fn remote(trace: &TraceContext) -> Option<SpanContext> {
    let state = trace.state().and_then(|state| TraceState::from_str(state).ok());
    Some(SpanContext::new(
        TraceId::from_hex(trace.trace_id()).ok()?,
        SpanId::from_hex(trace.span_id()).ok()?,
        TraceFlags::new(trace.flags()),
        true,
        state.unwrap_or_default(),
    ))
}
