//! Compares two definitions of one tool that its server sent at different times.

use std::fmt;

use onecall_catalog::ToolDefinition;
use onecall_core::Schema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A part of a tool's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    /// The server's description.
    Description,
    /// The schema of the arguments.
    InputSchema,
    /// The schema of the result.
    OutputSchema,
    /// The title and the server's hints about effects.
    Annotations,
}

impl Part {
    /// Every part, in the order in which they are shown.
    pub const ALL: [Self; 4] =
        [Self::Description, Self::InputSchema, Self::OutputSchema, Self::Annotations];

    /// This part of a definition in a canonical form: equal texts mean equal definitions.
    pub(crate) fn canonical(self, tool: &ToolDefinition) -> String {
        match self {
            Self::Description => json!(tool.description.as_deref()).to_string(),
            // The order of the properties is the order of positional arguments.
            Self::InputSchema => {
                let schema = tool.input_schema.value();
                json!([tool.input_schema.property_names(), sorted(&schema)]).to_string()
            }
            Self::OutputSchema => {
                json!(tool.output_schema.as_ref().map(|it| sorted(&it.value()))).to_string()
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

impl fmt::Display for Part {
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
pub(crate) fn listed(parts: &[Part]) -> String {
    let words: Vec<String> = parts.iter().map(Part::to_string).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// The parts in which two definitions differ.
pub(crate) fn differences(old: &ToolDefinition, new: &ToolDefinition) -> Vec<Part> {
    if old == new {
        return Vec::new();
    }
    Part::ALL.into_iter().filter(|part| part.canonical(old) != part.canonical(new)).collect()
}

/// A copy of a value in which the keys of every object are sorted.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries = entries.into_iter().map(|(key, value)| (key.clone(), sorted(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
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
        assert_eq!(differences(&old, &moved), [Part::InputSchema]);
        let mut other = tool("e", json!({}));
        other.output_schema = Some(json!({}).into());
        other.annotations.read_only_hint = Some(true);
        let parts = differences(&old, &other);
        assert_eq!(parts, Part::ALL);
        assert_eq!(listed(&parts), "description, input schema, output schema and annotations");
        assert_eq!(listed(&parts[..1]), "description");
    }
}
