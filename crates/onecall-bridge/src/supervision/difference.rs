//! Compares two definitions of one tool that its server sent at different times.

use std::fmt;

use onecall_catalog::{ToolDefinition, canonical_schema, canonical_schema_with_order};
use onecall_core::Schema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A part of a tool's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DefinitionPart {
    /// The server's description.
    Description,
    /// The schema of the arguments.
    InputSchema,
    /// The schema of the result.
    OutputSchema,
    /// The title and the server's hints about effects.
    Annotations,
}

impl DefinitionPart {
    /// Every part, in the order in which they are shown.
    pub const ALL: [Self; 4] =
        [Self::Description, Self::InputSchema, Self::OutputSchema, Self::Annotations];

    /// This part of a definition in a canonical form: equal texts mean equal definitions.
    pub(crate) fn canonical(self, tool: &ToolDefinition) -> String {
        match self {
            Self::Description => json!(tool.description.as_deref()).to_string(),
            Self::InputSchema => canonical_schema_with_order(&tool.input_schema).to_string(),
            Self::OutputSchema => {
                json!(tool.output_schema.as_ref().map(canonical_schema)).to_string()
            }
            Self::Annotations => json!(tool.annotations).to_string(),
        }
    }

    /// This part of a definition as a person reads it; empty if it is absent.
    #[must_use]
    pub fn readable(self, tool: &ToolDefinition) -> String {
        match self {
            Self::Description => tool.description.as_deref().unwrap_or_default().to_owned(),
            Self::InputSchema => format!("{:#}", tool.input_schema.value()),
            Self::OutputSchema => {
                let readable = |schema: &Schema| format!("{:#}", schema.value());
                tool.output_schema.as_ref().map_or(String::new(), readable)
            }
            Self::Annotations => match json!(tool.annotations) {
                Value::Object(hints) if hints.is_empty() => String::new(),
                hints => format!("{hints:#}"),
            },
        }
    }
}

impl fmt::Display for DefinitionPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Description => "description",
            Self::InputSchema => "input schema",
            Self::OutputSchema => "output schema",
            Self::Annotations => "annotations",
        })
    }
}

/// The names of the parts, joined for use in a sentence.
pub(crate) fn joined_names(parts: &[DefinitionPart]) -> String {
    let words: Vec<String> = parts.iter().map(DefinitionPart::to_string).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// The parts in which two definitions differ.
pub(crate) fn differences(old: &ToolDefinition, new: &ToolDefinition) -> Vec<DefinitionPart> {
    if old == new {
        return Vec::new();
    }
    DefinitionPart::ALL
        .into_iter()
        .filter(|part| part.canonical(old) != part.canonical(new))
        .collect()
}

#[cfg(test)]
mod tests {
    use onecall_core::ToolName;

    use super::*;

    fn tool(description: &str, schema: Value) -> ToolDefinition {
        ToolDefinition {
            tool: ToolName::new("t"),
            description: Some(description.into()),
            input_schema: schema.into(),
            output_schema: None,
            annotations: Default::default(),
        }
    }

    #[test]
    fn only_what_means_something_else_differs() {
        let old = tool("d", json!({ "type": "object", "properties": { "a": {}, "b": {} } }));
        let same = tool("d", json!({ "properties": { "a": {}, "b": {} }, "type": "object" }));
        assert_eq!(differences(&old, &same), []);
        let moved = tool("d", json!({ "properties": { "b": {}, "a": {} }, "type": "object" }));
        assert_eq!(differences(&old, &moved), [DefinitionPart::InputSchema]);
        let mut other = tool("e", json!({}));
        other.output_schema = Some(json!({}).into());
        other.annotations.read_only_hint = Some(true);
        let parts = differences(&old, &other);
        assert_eq!(parts, DefinitionPart::ALL);
        assert_eq!(
            joined_names(&parts),
            "description, input schema, output schema and annotations"
        );
        assert_eq!(joined_names(&parts[..1]), "description");
    }
}
