//! Answers what a program asks while it runs: what names mean, questions about tools and the cache,
//! and its calls, which go through the layers of its run.

use std::sync::Arc;

use onecall_core::{
    AnswerForm, BoxFuture, CallHandler, CallableName, LogEntry, ProgramHost, ResolvedCall,
    Resolving, RunContext, ToolCall, ToolError, ToolResolver, ToolValue,
};

use crate::directory::Directory;
use crate::layers::{CacheControl, Discovery};
use crate::names::RunNames;

/// One program and what it can ask.
pub(crate) struct ProgramCalls<'a> {
    pub(crate) run: Arc<RunContext>,
    pub(crate) names: &'a RunNames<'a>,
    pub(crate) layers: &'a dyn CallHandler,
    pub(crate) directory: &'a dyn Directory,
    pub(crate) cache: CacheControl<'a>,
}

impl ProgramCalls<'_> {
    async fn answer(&self, call: ToolCall) -> Result<ToolValue, ToolError> {
        if Discovery::is_asked(&call) {
            return Discovery::new(self.names, self.directory).answer(&call).await;
        }
        if let Some(answer) = self.cache.answer(&call).await {
            return answer;
        }
        let (tool, revision) = self.names.target(&call.name).await;
        let ToolCall { id, name, arguments, freshness } = call;
        let (form, run) = (AnswerForm::Value, Arc::clone(&self.run));
        let log_entry = LogEntry::default();
        let call =
            ResolvedCall { id, name, tool, revision, arguments, form, freshness, run, log_entry };
        self.layers.call(call).await.map(|answer| answer.value)
    }
}

impl ProgramHost for ProgramCalls<'_> {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a> {
        self.names.resolve(name)
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        Box::pin(self.answer(call))
    }
}
