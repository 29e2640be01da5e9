//! The tools of a recorded run, for a replay: names have the meaning that they had in the run.

use std::collections::HashSet;
use std::sync::Arc;

use onecall_catalog::Catalog;
use onecall_core::storage::RecordedJournal;
use onecall_core::{
    BoxFuture, CallHandler, CallResult, CallableName, JournalEvent, Resolution, ResolutionFuture,
    ResolvedCall, ServerName, ToolAnnotations, ToolError, ToolName, ToolResolver, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// Looks names up in the definitions of a record. It executes no call: the journal of the recorded run
/// answers all calls of a replay.
pub(super) struct RecordedTools {
    tools: Catalog,
    /// The names of tools that the configuration excluded.
    blocked: HashSet<CallableName>,
}

/// A tool definition in a record.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordedTool {
    name: String,
    server: String,
    tool: String,
    input_schema: Value,
}

impl RecordedTools {
    /// The tools of a run: `definitions` is a JSON list of those that it called.
    pub(super) fn new(definitions: Option<&str>, journal: &RecordedJournal) -> Self {
        let tools: Vec<RecordedTool> = definitions
            .and_then(|definitions| serde_json::from_str(definitions).ok())
            .unwrap_or_default();
        let tools = tools.into_iter().map(|it| {
            spec(&it.name, ServerName::new(it.server), ToolName::new(it.tool), it.input_schema)
        });
        let blocked = journal.events.iter().filter_map(|event| match event {
            JournalEvent::Ended { result: Err(ToolError::NotAvailable { name }), .. } => Some(name),
            _ => None,
        });
        Self { tools: Catalog::from_specs(tools), blocked: blocked.cloned().collect() }
    }

    /// The meaning of a name: a callable name, or a tool's own name if only one tool has it.
    fn meaning(&self, name: &CallableName) -> Resolution {
        if self.blocked.contains(name) {
            return Resolution::Blocked;
        }
        match self.tools.find_by_name(name.as_str()).as_slice() {
            [tool] if tool.callable == *name => Resolution::Callable(Arc::clone(tool)),
            [tool] => Resolution::Attribute(Arc::clone(tool)),
            // The name of a tool may be used without a call.
            _ if name.as_str().starts_with("mcp__") => {
                let (server, tool) = (ServerName::new(""), ToolName::new(name.as_str()));
                Resolution::Callable(Arc::new(spec(name.as_str(), server, tool, json!({}))))
            }
            _ => Resolution::unknown(Vec::new()),
        }
    }
}

fn spec(name: &str, server: ServerName, tool: ToolName, input_schema: Value) -> ToolSpec {
    ToolSpec {
        callable: CallableName::new(name),
        server,
        tool,
        description: None,
        input_schema: input_schema.into(),
        output_schema: None,
        annotations: ToolAnnotations::default(),
    }
}

impl ToolResolver for RecordedTools {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> ResolutionFuture<'a> {
        ResolutionFuture::ready(self.meaning(name))
    }

    fn revision(&self) -> u64 {
        0
    }
}

impl CallHandler for RecordedTools {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        let message = "a replay makes no calls".to_owned();
        Box::pin(std::future::ready(Err(ToolError::NeverSent { name: call.name, message })))
    }
}
