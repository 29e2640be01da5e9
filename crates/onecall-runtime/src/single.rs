//! A single tool call without a program, executed as a run of its own.

use std::sync::Arc;
use std::time::Duration;

use onecall_core::{
    AnswerForm, CallHandler, CallResult, CallableName, ErrorSummary, Failure, Freshness, LogEntry,
    Outcome, Program, ResolvedCall, RunKind, ToolError, ToolResolver,
};
use serde_json::value::RawValue;
use tokio::time::timeout;

use crate::Observer;
use crate::account::Account;
use crate::call_log::LogWriter;
use crate::names::RunNames;
use crate::record::Origin;
use crate::runtime::{RunStart, Runtime};
use crate::stack::RunLayers;

/// A tool call that is not part of a program.
pub struct SingleCall<'a> {
    /// The kind of the run in records.
    pub kind: RunKind,
    /// The tool to call.
    pub name: &'a CallableName,
    /// The arguments, a JSON object.
    pub arguments: Box<RawValue>,
    /// The form in which the answer is returned.
    pub form: AnswerForm,
    /// Whether a cached answer may be used.
    pub freshness: Freshness,
}

impl Runtime {
    /// Executes one call of a tool that programs may call, as a run of its own, with the time limit
    /// of a program.
    ///
    /// # Errors
    /// If the tool cannot be called, or its call fails.
    pub async fn run_call(&self, call: SingleCall<'_>, observer: &dyn Observer) -> CallResult {
        let (resolver, layers) = (self.resolver().as_ref(), self.layers());
        self.run_call_on(call, resolver, layers, observer).await
    }

    /// Executes one call of a tool that `resolver` knows, like [`Self::run_call`]. `layers` are the
    /// layers below the cache.
    ///
    /// # Errors
    /// If the tool cannot be called, or its call fails.
    pub async fn run_call_with(
        &self,
        call: SingleCall<'_>,
        resolver: &dyn ToolResolver,
        layers: &Arc<dyn CallHandler>,
        observer: &dyn Observer,
    ) -> CallResult {
        self.run_call_on(call, resolver, self.through_cache(layers), observer).await
    }

    async fn run_call_on(
        &self,
        call: SingleCall<'_>,
        resolver: &dyn ToolResolver,
        layers: Arc<dyn CallHandler>,
        observer: &dyn Observer,
    ) -> CallResult {
        let SingleCall { kind, name, arguments, form, freshness } = call;
        let RunStart { context, log, recording } = self.begin(&Program::new(""), kind, observer);
        let account = Account::open(self.metrics(), &context);
        let limits = self.limits();
        let log_writer = LogWriter::new(&log, &account, observer);
        let layers = RunLayers { log: log_writer, limits }.around(layers);
        let names = RunNames::new(resolver);
        let made = async {
            let (tool, revision) = names.target(name).await;
            let (name, run) = (name.clone(), Arc::clone(&context));
            let log_entry = LogEntry::default();
            let call = ResolvedCall {
                id: 1,
                name,
                tool,
                revision,
                arguments,
                form,
                freshness,
                run,
                log_entry,
            };
            layers.call(call).await
        };
        let limit = limits.timeout;
        let mut ended = None;
        let outcome = account.settle(async {
            let result = timeout(limit, made).await;
            let failure = match &result {
                Ok(Ok(_)) => None,
                Ok(Err(error)) => Some(failure_of(error)),
                Err(_) => Some(Failure::TimedOut { limit }),
            };
            ended = Some(result.unwrap_or_else(|_| Err(no_answer(name, limit))));
            let calls = log.told(failure.is_some());
            Outcome { calls, ..Outcome::of_call(failure, limit) }
        });
        let outcome = outcome.await;
        let result = ended.unwrap_or_else(|| Err(no_answer(name, limit)));
        if let Some(recording) = &recording {
            let text = || match &result {
                Ok(answer) => answer.value.written().1.into_owned(),
                Err(error) => error.to_string(),
            };
            recording.finish(&outcome, text, None, Origin::Unknown);
        }
        result
    }
}

fn failure_of(error: &ToolError) -> Failure {
    let (kind, message) = ("ToolError".to_owned(), error.to_string());
    let traceback = format!("{kind}: {message}");
    Failure::Raised { traceback, error: ErrorSummary { kind, message, ..ErrorSummary::default() } }
}

fn no_answer(name: &CallableName, limit: Duration) -> ToolError {
    ToolError::failed(name, format!("no answer within {}s", limit.as_secs_f64()))
}
