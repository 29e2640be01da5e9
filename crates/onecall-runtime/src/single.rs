//! One tool call without a program around it: a run with a single call.

use std::sync::Arc;
use std::time::Duration;

use onecall_core::{
    AnswerForm, CallHandler, CallResult, CallableName, ErrorSummary, Failure, Freshness, LogEntry,
    Outcome, Program, ResolvedCall, RunKind, ToolError, ToolResolver, ToolValue,
};
use serde_json::value::RawValue;
use tokio::time::timeout;

use crate::account::Account;
use crate::call_log::LogWriter;
use crate::directory::{Directory, Found};
use crate::layers::names_containing;
use crate::names::RunNames;
use crate::record::Origin;
use crate::runtime::{RunStart, Runtime};
use crate::stack::RunLayers;
use crate::{Gateway, Observer};

/// A call that no program makes.
pub(crate) struct SingleCall<'a> {
    pub(crate) kind: RunKind,
    pub(crate) name: &'a CallableName,
    pub(crate) arguments: Box<RawValue>,
    pub(crate) form: AnswerForm,
    pub(crate) freshness: Freshness,
}

impl Runtime {
    /// Executes one call as a run of its own, which takes no longer than a program may.
    pub(crate) async fn run_call(
        &self,
        call: SingleCall<'_>,
        resolver: &dyn ToolResolver,
        layers: &dyn CallHandler,
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

/// Names the client of a call, and watches nothing.
struct ClientName<'a>(&'a str);

impl Observer for ClientName<'_> {
    fn client(&self) -> String {
        self.0.to_owned()
    }
}

impl Gateway {
    /// Executes one tool as if a program had called it: what policy blocks is blocked, and arguments
    /// that cannot fit are not sent. The record of the call names `client`.
    pub async fn call_tool(
        &self,
        name: &CallableName,
        arguments: Box<RawValue>,
        client: &str,
    ) -> Result<ToolValue, ToolError> {
        let rules = self.rules();
        let layers = self.through_cache(rules.runtime.layers());
        let resolver = rules.runtime.resolver().as_ref();
        let (kind, form, freshness) = (RunKind::DirectCall, AnswerForm::Value, Freshness::Any);
        let call = SingleCall { kind, name, arguments, form, freshness };
        let answer = rules.runtime.run_call(call, resolver, &layers, &ClientName(client)).await?;
        Ok(answer.value)
    }

    /// Finds the callable name of a tool that code may name as its server or a client does.
    /// A name that begins like a callable one is taken as it is.
    pub async fn callable_name(&self, name: &str) -> Result<CallableName, ToolError> {
        let written = CallableName::new(name);
        if name.starts_with("mcp__") {
            return Ok(written);
        }
        let list = |names: Vec<CallableName>| {
            names.iter().map(CallableName::as_str).collect::<Vec<_>>().join(" or ")
        };
        let problem = match self.rules().directory.find(name).await {
            Found::Tool(spec) => return Ok(spec.callable.clone()),
            Found::Blocked => return Err(ToolError::NotAvailable { name: written }),
            Found::Quarantined(why) => format!("it is quarantined: {why}"),
            Found::Ambiguous(names) => format!("several tools have this name: {}", list(names)),
            Found::Unknown(nearest) if nearest.is_empty() => "there is no such tool".to_owned(),
            Found::Unknown(nearest) => {
                format!("there is no such tool. Did you mean: {}?", list(nearest))
            }
        };
        Err(ToolError::failed(&written, problem))
    }

    /// Forgets the kept answers of tools whose names contain `text`, and returns their number.
    pub async fn clear_cache(&self, text: &str) -> u64 {
        let Some(cache) = &self.shared.cache else { return 0 };
        let cached = cache.around(Arc::clone(self.rules().runtime.layers()));
        match names_containing(text) {
            Ok(pattern) => cached.clear(&pattern).await,
            Err(_) => 0,
        }
    }
}
