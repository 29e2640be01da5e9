//! A tool as its server describes it, a call to it, and what it answers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{CallableName, Caller, ServerName, ToolName};

/// A tool that programs can call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    /// What a program writes to call it.
    pub callable: CallableName,
    /// The configured server it lives on.
    pub server: ServerName,
    /// What the server calls it.
    pub tool: ToolName,
    /// The server's own words about it; data, never trusted.
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
    /// JSON Schema of the structured result, where the server declares one.
    pub output_schema: Option<Value>,
    /// What the server hints about its effects.
    pub annotations: ToolAnnotations,
}

impl ToolSpec {
    /// Names of the arguments in the order of the schema, which is the order in
    /// which positional arguments are taken.
    #[must_use]
    pub fn parameters(&self) -> Vec<&str> {
        self.input_schema
            .get("properties")
            .and_then(Value::as_object)
            .map(|properties| properties.keys().map(String::as_str).collect())
            .unwrap_or_default()
    }
}

/// Hints of a server about a tool. They inform, and never widen what policy allows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolAnnotations {
    /// A display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The tool says it changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// The tool says it may destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// The tool says a second identical call changes nothing more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// The tool says it reaches beyond its own system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// One call a program makes.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// Distinguishes the calls of one program.
    pub id: u64,
    /// The tool as the program named it.
    pub name: CallableName,
    /// A JSON object, passed on to the server as the program wrote it.
    pub arguments: Box<RawValue>,
    /// What is wanted of the answer.
    pub form: AnswerForm,
    /// Whom it is made for, if the server may turn to them.
    pub caller: Option<Arc<dyn Caller>>,
    /// Whether an earlier answer will do.
    pub freshness: Freshness,
}

/// Whether a call may be answered with what the tool has answered before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// It may, where answers are kept.
    #[default]
    Any,
    /// The tool itself is to answer, now.
    New,
}

/// What is wanted of the answer to a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AnswerForm {
    /// The value it stands for.
    #[default]
    Value,
    /// All of it as the server sent it, content blocks and structured content, as JSON.
    Whole,
    /// The same, even if the tool says that it failed.
    Untouched,
}

/// What a tool answered, still as text: only the program parses it.
#[derive(Clone, Debug)]
pub enum ToolValue {
    /// The tool answered with no content: `None` to the program.
    Nothing,
    /// A JSON document.
    Json(Box<RawValue>),
    /// Text that is a JSON value if it parses as one, and a string otherwise.
    Text(String),
}
