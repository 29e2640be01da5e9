//! A tool as its server describes it: names, description, schemas and annotations.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{CallableName, Schema, ServerName, ToolName};

/// A tool that programs can call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    /// The name that a program calls.
    pub callable: CallableName,
    /// The configured name of its server.
    pub server: ServerName,
    /// The name that the server gives it.
    pub tool: ToolName,
    /// The server's description of it; untrusted data.
    pub description: Option<Arc<str>>,
    /// JSON Schema of the arguments.
    pub input_schema: Schema,
    /// JSON Schema of the structured result, where the server declares one.
    pub output_schema: Option<Schema>,
    /// The server's hints about its effects.
    pub annotations: ToolAnnotations,
}

impl ToolSpec {
    /// The names of the arguments in the order of the schema, which is also the order of positional
    /// arguments.
    #[must_use]
    pub fn parameters(&self) -> Vec<String> {
        self.input_schema.property_names()
    }
}

/// A server's hints about a tool. They are informative only and never extend what the configuration
/// allows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolAnnotations {
    /// A name for display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether the server says that the tool changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// Whether the server says that the tool may destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Whether the server says that repeating a call has no further effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// Whether the server says that the tool interacts with external systems.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}
