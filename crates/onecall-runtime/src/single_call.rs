//! A single tool call without a program, executed as a run of its own.

use std::sync::Arc;
use std::time::Duration;

use onecall_core::{
    AnswerForm, CallHandler, CallResult, CallableName, ErrorSummary, Failure, Freshness,
    JournalCall, LogIndex, Outcome, Program, ResolvedCall, RunKind, ToolError, ToolResolver,
};
use onecall_engine::HeldCalls;
use serde_json::value::RawValue;

use crate::call_log::LogWriter;
use crate::journal::{abandon_if_dropped, stopped};
use crate::names::RunNames;
use crate::record::ToolSource;
use crate::run_telemetry::RunTelemetry;
use crate::runtime::{RunStart, Runtime};
use crate::{Observer, RunOptions};

/// The id of the only call.
const CALL_ID: u64 = 1;

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
    pub async fn run_call(
        &self,
        call: SingleCall<'_>,
        options: &RunOptions,
        observer: &dyn Observer,
    ) -> CallResult {
        let (resolver, layers) = (self.resolver().as_ref(), self.layers());
        let run = self.run_call_on(call, resolver, layers, options, observer);
        abandon_if_dropped(options.journal(), run).await
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
        options: &RunOptions,
        observer: &dyn Observer,
    ) -> CallResult {
        let layers = self.through_cache(layers);
        let run = self.run_call_on(call, resolver, layers, options, observer);
        abandon_if_dropped(options.journal(), run).await
    }

    async fn run_call_on(
        &self,
        call: SingleCall<'_>,
        resolver: &dyn ToolResolver,
        layers: Arc<dyn CallHandler>,
        options: &RunOptions,
        observer: &dyn Observer,
    ) -> CallResult {
        let SingleCall { kind, name, arguments, form, freshness } = call;
        let (journal, held) = (options.journal(), HeldCalls::default());
        let program = Program::new("");
        let RunStart { context, log, recording } = self.begin(&program, kind, journal, observer);
        let telemetry = RunTelemetry::start(self.metrics(), &context, journal);
        let limits = self.limits();
        let audit = self.run_audit(&context, journal);
        let log_writer = LogWriter::new(&log, &telemetry, observer, journal, audit.as_ref());
        let layers = self.run_layers(log_writer, limits, journal, &held).around(layers);
        let names = RunNames::new(resolver);
        let made = async {
            let (tool, revision) = names.target(name).await;
            if let Some(journal) = journal {
                journal.called(JournalCall {
                    id: CALL_ID,
                    name: name.clone(),
                    site: None,
                    arguments: arguments.get().to_owned(),
                    definition: journal.definition(|| tool.as_ref().ok().cloned()),
                });
            }
            let (name, run) = (name.clone(), Arc::clone(&context));
            let log_index = LogIndex::default();
            let call = ResolvedCall {
                id: CALL_ID,
                name,
                tool,
                revision,
                arguments,
                form,
                freshness,
                site: None,
                run,
                log_index,
            };
            layers.call(call).await
        };
        let limit = limits.timeout;
        let mut ended = None;
        let outcome = telemetry.track(async {
            let result = tokio::select! {
                result = held.within(limit, made) => result,
                failure = stopped(journal) => Some(Err(ToolError::NeverSent {
                    name: name.clone(),
                    message: failure.to_string(),
                })),
            };
            let failure = match &result {
                Some(Ok(_)) => None,
                Some(Err(error)) => Some(failure_of(error)),
                None => Some(Failure::TimedOut { limit }),
            };
            ended = Some(result.unwrap_or_else(|| Err(no_answer(name, limit))));
            let calls = log.calls_for_outcome(failure.is_some());
            Outcome { calls, ..Outcome::of_call(failure, limit) }
        });
        let outcome = outcome.await;
        let result = ended.unwrap_or_else(|| Err(no_answer(name, limit)));
        if let Some(recording) = &recording {
            let text = || match &result {
                Ok(answer) => answer.value.encode().1.into_owned(),
                Err(error) => error.to_string(),
            };
            recording.finish(&outcome, text, None, ToolSource::Unknown);
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
