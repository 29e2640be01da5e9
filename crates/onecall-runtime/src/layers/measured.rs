//! Times each call of a program, for the numbers and the trace of its run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use onecall_core::{
    BoxFuture, CallableName, Resolution, Resolving, SPAN_TARGET, ToolCall, ToolError, ToolHost,
    ToolValue,
};
use tracing::field::Empty;
use tracing::{Instrument, Span, info_span};

use crate::account::Account;
use crate::metrics::CallTally;
use crate::metrics::label::CallOutcome;

/// Tools whose server is remembered for the rest of the run.
const MAX_KNOWN: usize = 256;

/// Measures the calls of one program.
pub(crate) struct Measured<'a> {
    inner: &'a dyn ToolHost,
    account: &'a Account<'a>,
    known: Mutex<HashMap<CallableName, Arc<CallTally>>>,
}

impl<'a> Measured<'a> {
    /// Measures calls to `inner` for `account`.
    pub(crate) fn new(inner: &'a dyn ToolHost, account: &'a Account<'a>) -> Self {
        Self { inner, account, known: Mutex::default() }
    }

    /// Where calls of this tool are counted. A name that stands for no tool is counted
    /// nowhere: it is only what a program wrote.
    async fn tally(&self, name: &CallableName) -> Option<Arc<CallTally>> {
        if let Some(tally) = self.known().get(name) {
            return Some(Arc::clone(tally));
        }
        let Resolution::Callable(spec) = self.inner.resolve(name).await else { return None };
        let tally = self.account.metrics.calls_of(&spec.server);
        let mut known = self.known();
        if known.len() < MAX_KNOWN {
            known.insert(name.clone(), Arc::clone(&tally));
        }
        Some(tally)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<CallableName, Arc<CallTally>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToolHost for Measured<'_> {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a> {
        self.inner.resolve(name)
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        Box::pin(async move {
            self.account.call_made();
            let begun = Instant::now();
            let tally = self.tally(&call.name).await;
            let name = tally.as_ref().map_or("(unknown)", |_| call.name.as_str());
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
            let mut timed = Timed { tally, span, begun, outcome: CallOutcome::Cancelled };
            let result = self.inner.call(call).instrument(timed.span.clone()).await;
            timed.outcome = CallOutcome::of(&result);
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
