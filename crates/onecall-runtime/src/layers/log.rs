//! Logs each call of a run when it begins and when it ends, tells the observer of the run, and has the
//! call measured.

use std::sync::Arc;
use std::time::Instant;

use onecall_core::{BoxFuture, CallHandler, CallResult, ResolvedCall, SPAN_TARGET};
use tracing::field::Empty;
use tracing::{Instrument, Span, info_span};

use crate::Observer;
use crate::account::Account;
use crate::call_log::CallLog;
use crate::metrics::CallTally;
use crate::metrics::label::CallOutcome;

/// Logs the calls of one run.
pub(crate) struct Logged<'a, H> {
    inner: H,
    log: &'a CallLog,
    account: &'a Account<'a>,
    observer: &'a dyn Observer,
}

impl<'a, H> Logged<'a, H> {
    /// Logs calls to `inner` in `log`, measures them for `account` and tells `observer` of them.
    pub(crate) fn new(
        inner: H,
        log: &'a CallLog,
        account: &'a Account<'a>,
        observer: &'a dyn Observer,
    ) -> Self {
        Self { inner, log, account, observer }
    }
}

impl<H: CallHandler> CallHandler for Logged<'_, H> {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        Box::pin(async move {
            let name = call.name.clone();
            let mut timed = Timed::begin(&call, self.account);
            let entry = self.log.begin(&call, timed.begun);
            self.observer.call_started(&call);
            let result = self.inner.call(call).instrument(timed.span.clone()).await;
            timed.outcome = CallOutcome::of(&result);
            self.log.end(entry, &result, Instant::now());
            self.observer.call_ended(&name, &result);
            result
        })
    }
}

/// A call that is under way. It ends with this.
struct Timed {
    tally: Option<Arc<CallTally>>,
    span: Span,
    begun: Instant,
    outcome: CallOutcome,
}

impl Timed {
    fn begin(call: &ResolvedCall, account: &Account<'_>) -> Self {
        account.call_made();
        let begun = Instant::now();
        // A name that stands for no tool is counted nowhere: it is only what a program wrote.
        let spec = call.tool.as_ref().ok();
        let tally = spec.map(|spec| account.metrics.calls_of(&spec.server));
        let name = spec.map_or("(unknown)", |spec| spec.callable.as_str());
        let span = info_span!(
            target: SPAN_TARGET,
            "call",
            otel.name = format!("execute_tool {name}"),
            otel.status_code = Empty,
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = name,
            gen_ai.tool.call.id = call.id.to_string(),
            gen_ai.tool.type = "function",
            error.type = Empty,
        );
        Self { tally, span, begun, outcome: CallOutcome::Cancelled }
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        if let Some(tally) = &self.tally {
            tally.ended(self.outcome, self.begun.elapsed());
        }
        if self.outcome != CallOutcome::Success {
            let kind = self.outcome.name();
            self.span.record("error.type", kind).record("otel.status_code", "ERROR");
        }
    }
}
