//! A tool as its server describes it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{CallableName, Schema, ServerName, ToolName};

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
    pub description: Option<Arc<str>>,
    /// JSON Schema of the arguments.
    pub input_schema: Schema,
    /// JSON Schema of the structured result, where the server declares one.
    pub output_schema: Option<Schema>,
    /// What the server hints about its effects.
    pub annotations: ToolAnnotations,
}

impl ToolSpec {
    /// Names of the arguments in the order of the schema, which is the order in
    /// which positional arguments are taken.
    #[must_use]
    pub fn parameters(&self) -> Vec<String> {
        self.input_schema.property_names()
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
