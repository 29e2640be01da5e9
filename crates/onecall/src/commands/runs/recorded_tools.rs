//! A tool host for replays: answers calls with recorded answers.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use onecall_catalog::Catalog;
use onecall_core::storage::{RunRecord, StoredCall};
use onecall_core::{
    Answer, BoxFuture, CallHandler, CallResult, CallableName, Resolution, ResolutionFuture,
    ResolvedCall, ServerName, ToolAnnotations, ToolError, ToolName, ToolResolver, ToolSpec,
    ToolValue,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// Answers calls from a record. Calls with the same tool and arguments get their answers in the
/// recorded order.
pub(super) struct RecordedHost {
    run: String,
    tools: Catalog,
    answers: Mutex<HashMap<CallKey, VecDeque<RecordedAnswer>>>,
}

/// A tool's name, and arguments in their canonical form.
type CallKey = (String, String);

type RecordedAnswer = Result<ToolValue, ToolError>;

/// A tool definition in a record.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordedTool {
    name: String,
    server: String,
    tool: String,
    input_schema: Value,
}

impl RecordedHost {
    pub(super) fn new(record: &RunRecord) -> Self {
        let mut answers = HashMap::<_, VecDeque<_>>::new();
        for call in &record.calls {
            if let (Some(arguments), Some(answer)) = (&call.arguments, answer(call)) {
                let key = (call.name.clone(), canonical(arguments));
                answers.entry(key).or_default().push_back(answer);
            }
        }
        let tools: Vec<RecordedTool> = record
            .tools
            .as_deref()
            .and_then(|tools| serde_json::from_str(tools).ok())
            .unwrap_or_default();
        let tools = tools.into_iter().map(|it| {
            spec(&it.name, ServerName::new(it.server), ToolName::new(it.tool), it.input_schema)
        });
        let (run, tools) = (record.run.id.to_string(), Catalog::from_specs(tools));
        Self { run, tools, answers: Mutex::new(answers) }
    }

    /// How many recorded answers were not used.
    pub(super) fn unused_answers(&self) -> usize {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.values().map(VecDeque::len).sum()
    }

    /// The tool of this name: its callable name, or its own if only one tool has it.
    fn find(&self, name: &str) -> Option<&Arc<ToolSpec>> {
        match self.tools.find_by_name(name).as_slice() {
            [spec] => Some(spec),
            _ => None,
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

impl ToolResolver for RecordedHost {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> ResolutionFuture<'a> {
        ResolutionFuture::ready(match self.find(name.as_str()) {
            Some(spec) => Resolution::Callable(Arc::clone(spec)),
            // The name of a tool may be used without a call.
            None if name.as_str().starts_with("mcp__") => {
                let (server, tool) = (ServerName::new(""), ToolName::new(name.as_str()));
                Resolution::Callable(Arc::new(spec(name.as_str(), server, tool, json!({}))))
            }
            None => Resolution::unknown(Vec::new()),
        })
    }

    fn revision(&self) -> u64 {
        0
    }
}

impl CallHandler for RecordedHost {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        Box::pin(async move {
            let key = (call.name.to_string(), canonical(call.arguments.get()));
            let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            let answer = answers.get_mut(&key).and_then(VecDeque::pop_front);
            let answer = answer.unwrap_or_else(|| {
                let message = format!("run {} has no record of this call", self.run);
                Err(ToolError::InvalidCall { name: call.name, message })
            });
            answer.map(Answer::live)
        })
    }
}

/// The recorded answer to a call, if it was recorded.
fn answer(call: &StoredCall) -> Option<RecordedAnswer> {
    let name = CallableName::new(call.name.as_str());
    if let Some(error) = &call.error {
        let message = error.strip_prefix(&format!("'{name}' failed: "));
        let unavailable = ToolError::NotAvailable { name: name.clone() };
        return Some(Err(match message {
            None if unavailable.to_string() == *error => unavailable,
            message => ToolError::failed(&name, message.unwrap_or(error)),
        }));
    }
    let (kind, text) = call.result.as_ref()?;
    ToolValue::decode(kind, text.clone()).map(Ok)
}

/// Arguments in a form that does not depend on the order of their names.
fn canonical(arguments: &str) -> String {
    let mut value: Value = serde_json::from_str(arguments).unwrap_or_default();
    value.sort_all_objects();
    value.to_string()
}
