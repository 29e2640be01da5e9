//! The host of a running program: resolves its names, answers its questions about tools and the
//! cache, and sends its calls through the layers of the run.

use std::sync::Arc;

use onecall_core::{
    AnswerForm, BoxFuture, CallHandler, CallableName, LogEntry, NodeCall, ProgramHost,
    ProgramQuestion, ResolvedCall, Resolving, RunContext, ToolCall, ToolError, ToolResolver,
    ToolValue,
};
use serde_json::value::to_raw_value;

use crate::directory::Directory;
use crate::layers::{CacheControl, Discovery};
use crate::names::RunNames;

/// The host of one program.
pub(crate) struct ProgramCalls<'a> {
    pub(crate) run: Arc<RunContext>,
    pub(crate) names: &'a RunNames<'a>,
    pub(crate) layers: &'a dyn CallHandler,
    pub(crate) directory: &'a dyn Directory,
    pub(crate) cache: CacheControl<'a>,
}

impl ProgramCalls<'_> {
    async fn answer(&self, call: ToolCall) -> Result<ToolValue, ToolError> {
        let (tool, revision) = self.names.target(&call.name).await;
        let ToolCall { id, name, arguments, freshness } = call;
        let (form, run) = (AnswerForm::Value, Arc::clone(&self.run));
        let log_entry = LogEntry::default();
        let call =
            ResolvedCall { id, name, tool, revision, arguments, form, freshness, run, log_entry };
        self.layers.call(call).await.map(|answer| answer.value)
    }

    async fn answer_question(&self, question: ProgramQuestion) -> Result<ToolValue, ToolError> {
        let tools = Discovery::new(self.names, self.directory);
        let answer = match question {
            ProgramQuestion::Find { name } => tools.find(&name).await,
            ProgramQuestion::List {} => tools.list().await,
            ProgramQuestion::Schema { name } => return Ok(tools.schema(name).await),
            ProgramQuestion::NodeSchema { .. } => return Err(no_plan()),
            ProgramQuestion::Search { query, limit, language } => {
                tools.search(&query, limit, language).await
            }
            ProgramQuestion::Server { name } => tools.server(&name).await,
            ProgramQuestion::CacheClear { pattern } => self.cache.clear(&pattern).await?,
            ProgramQuestion::CacheForget { text } => self.cache.forget(&text).await?,
            ProgramQuestion::CacheStats {} => self.cache.stats().await?,
        };
        // Serializing a value that is in memory cannot fail.
        Ok(to_raw_value(&answer).map_or(ToolValue::Nothing, ToolValue::Json))
    }
}

impl ProgramHost for ProgramCalls<'_> {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a> {
        self.names.resolve(name)
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        Box::pin(self.answer(call))
    }

    fn call_node(&self, _call: NodeCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        Box::pin(std::future::ready(Err(no_plan())))
    }

    fn ask(&self, question: ProgramQuestion) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        Box::pin(self.answer_question(question))
    }
}

/// The error for a program that uses nodes of a plan but was not compiled from one.
fn no_plan() -> ToolError {
    ToolError::NotAvailable { name: CallableName::new("node of a plan") }
}
