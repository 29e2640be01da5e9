//! The host of a running program: resolves its names, answers its questions about tools and the
//! cache, and sends its calls through the layers of the run.

use std::sync::Arc;

use onecall_core::{
    AnswerForm, BoxFuture, CallHandler, CallableName, JournalCall, LogIndex, NodeCall, ProgramHost,
    ProgramQuestion, ResolutionFuture, ResolvedCall, RunContext, ToolCall, ToolError, ToolResolver,
    ToolValue,
};
use serde_json::value::to_raw_value;

use crate::directory::Directory;
use crate::journal::Journal;
use crate::layers::{CacheFunctions, Discovery};
use crate::names::RunNames;
use crate::undeclared_results::UndeclaredResults;

/// The host of one program.
pub(crate) struct ProgramCalls<'a> {
    pub(crate) run: Arc<RunContext>,
    pub(crate) names: &'a RunNames<'a>,
    pub(crate) layers: &'a dyn CallHandler,
    pub(crate) directory: &'a dyn Directory,
    pub(crate) cache: CacheFunctions<'a>,
    /// The journal of the run, if it has one.
    pub(crate) journal: Option<&'a Journal>,
    pub(crate) undeclared: UndeclaredResults,
}

impl ProgramCalls<'_> {
    async fn answer(&self, call: ToolCall) -> Result<ToolValue, ToolError> {
        let (tool, revision) = self.names.target(&call.name).await;
        let ToolCall { id, name, arguments, freshness, site } = call;
        let (form, run) = (AnswerForm::Value, Arc::clone(&self.run));
        let log_index = LogIndex::default();
        let call = ResolvedCall {
            id,
            name,
            tool,
            revision,
            arguments,
            form,
            freshness,
            site,
            run,
            log_index,
        };
        let spec = call.tool.as_ref().ok().filter(|spec| spec.output_schema.is_none()).cloned();
        let value = self.layers.call(call).await.map(|answer| answer.value)?;
        if let Some(spec) = spec {
            self.undeclared.remember(&spec.callable, &value);
        }
        Ok(value)
    }

    async fn answer_question(&self, question: ProgramQuestion) -> Result<ToolValue, ToolError> {
        let tools = Discovery::new(self.names, self.directory, self.run.language);
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
            ProgramQuestion::CacheForget { text } => self.cache.clear_containing(&text).await?,
            ProgramQuestion::CacheStats {} => self.cache.stats().await?,
        };
        // Serializing a value that is in memory cannot fail.
        Ok(to_raw_value(&answer).map_or(ToolValue::Nothing, ToolValue::Json))
    }
}

impl ProgramHost for ProgramCalls<'_> {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> ResolutionFuture<'a> {
        self.names.resolve(name)
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        if let Some(journal) = self.journal {
            // The order of events in the journal is that of the program.
            journal.called(JournalCall {
                id: call.id,
                name: call.name.clone(),
                site: call.site.clone(),
                arguments: call.arguments.get().to_owned(),
                definition: journal.definition(|| self.names.known(&call.name)),
            });
        }
        Box::pin(self.answer(call))
    }

    fn call_node(&self, _call: NodeCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        Box::pin(std::future::ready(Err(no_plan())))
    }

    fn ask(
        &self,
        id: u64,
        question: ProgramQuestion,
    ) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        match self.journal {
            Some(journal) => {
                journal.asked(id, &question);
                let answer = self.answer_question(question);
                Box::pin(journal.answer_question(id, answer))
            }
            None => Box::pin(self.answer_question(question)),
        }
    }
}

/// The error for a program that uses nodes of a plan but was not compiled from one.
fn no_plan() -> ToolError {
    ToolError::NotAvailable { name: CallableName::new("node of a plan") }
}
