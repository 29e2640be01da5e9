//! What a server says about a tool, cut down to what anybody could want to read. The tool
//! stays; only what is too much of it goes.

use onecall_catalog::ToolDefinition;
use onecall_config::ServerLimits;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// A schema as it was sent. One that is nested too deeply to be read at all takes
/// anything.
pub(crate) fn schema(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| json!({ "type": "object" }))
}

/// The tool, with no more of a description and of schemas than is allowed.
pub(crate) fn within(mut tool: ToolDefinition, limits: &ServerLimits) -> ToolDefinition {
    if let Some(description) = &mut tool.description {
        let longest = limits.max_description_chars;
        let kept = description.char_indices().nth(longest.saturating_sub(1));
        if let (Some(_), Some((end, _))) = (description.chars().nth(longest), kept) {
            description.truncate(end);
            description.push('…');
        }
    }
    cut(&mut tool.input_schema, limits.max_schema_depth);
    if let Some(schema) = &mut tool.output_schema {
        cut(schema, limits.max_schema_depth);
    }
    tool
}

/// Replaces what is below `depth` levels by the schema that takes anything. No value that
/// was read is deeper than the reader lets it be, so this may call itself.
fn cut(value: &mut Value, depth: usize) {
    match value {
        Value::Array(_) | Value::Object(_) if depth == 0 => *value = Value::Bool(true),
        Value::Array(items) => items.iter_mut().for_each(|item| cut(item, depth - 1)),
        Value::Object(entries) => entries.values_mut().for_each(|entry| cut(entry, depth - 1)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use onecall_core::{ToolAnnotations, ToolName};

    use super::*;

    #[test]
    fn only_what_is_too_much_goes() {
        let limits =
            ServerLimits { max_description_chars: 2, max_schema_depth: 3, ..Default::default() };
        let schema =
            json!({ "properties": { "a": { "type": "object", "properties": { "b": {} } } } });
        let tool = ToolDefinition {
            tool: ToolName::new("t"),
            description: Some("äöü".to_owned()),
            input_schema: schema,
            output_schema: None,
            annotations: ToolAnnotations::default(),
        };
        let tool = within(tool, &limits);
        assert_eq!(tool.description.as_deref(), Some("ä…"));
        let expected = json!({ "properties": { "a": { "type": "object", "properties": true } } });
        assert_eq!(tool.input_schema, expected);
    }
}
