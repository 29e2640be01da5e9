//! Definitions and results of exposed tools, which clients call directly. Definitions are read by a
//! model, so invisible characters in them are escaped and long texts are cut; results are passed on
//! unchanged, except for content blocks of unknown types.

use onecall_catalog::{DESCRIPTION_TOKENS, ShownSchema};
use onecall_core::text::readable;
use onecall_gateway::{ExposedTool, RunAnswer};
use rmcp::model::{CallToolResult, ContentBlock, Tool};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::ServerAnswer;

/// Longest title in tokens.
const TITLE_TOKENS: usize = 100;

/// The definition of a tool, under the name that it has for clients. Other fields from its server are left out if
/// they are not valid MCP. A tool whose calls may wait for a person has no output schema: clients would refuse
/// the answer that says that a call waits, and with it the id of the run.
pub(crate) fn definition(exposed: &ExposedTool) -> Option<Tool> {
    let spec = &exposed.spec;
    let mut definition = Map::new();
    definition.insert("name".to_owned(), json!(exposed.name));
    let mut description = spec.description.as_deref().map(str::to_owned);
    let output_schema = spec.output_schema.as_ref().filter(|_| !exposed.may_ask);
    let schemas = [("inputSchema", Some(&spec.input_schema)), ("outputSchema", output_schema)];
    for (key, schema) in schemas {
        let Some(schema) = schema else { continue };
        let ShownSchema { schema, note } =
            ShownSchema::of(&schema.value()).without_invisible_values();
        definition.insert(key.to_owned(), schema);
        if let Some(note) = note {
            let words = description.unwrap_or_default();
            description = Some(format!("[{key} {note}]\n{words}").trim_end().to_owned());
        }
    }
    let description = description.map(|it| json!(readable(&it, DESCRIPTION_TOKENS)));
    definition.extend(description.map(|it| ("description".to_owned(), it)));
    for (key, value) in &exposed.display_metadata.0 {
        let mut extended = definition.clone();
        extended.insert(key.clone(), readable_field(key, value));
        if serde_json::from_value::<Tool>(Value::Object(extended.clone())).is_ok() {
            definition = extended;
        }
    }
    serde_json::from_value(Value::Object(definition)).ok()
}

/// A field of a server's tool definition that is shown to people, with its title made readable.
/// Icons and metadata are passed on unchanged.
fn readable_field(key: &str, value: &Value) -> Value {
    let mut value = value.clone();
    let title = match key {
        "title" => Some(&mut value),
        "annotations" => value.get_mut("title"),
        _ => None,
    };
    if let Some(Value::String(title)) = title {
        *title = readable(title, TITLE_TOKENS);
    }
    value
}

/// The result of a run. Blocks of an unknown type, which the answer of a plan or an exposed tool can
/// have, are converted into JSON text.
pub(crate) fn result_of_run(answer: &RunAnswer) -> CallToolResult {
    complete_result(json!(answer)).unwrap_or_else(|error| {
        let text = format!("[Script execution failed]\nthe result is not valid MCP: {error}");
        CallToolResult::error(vec![ContentBlock::text(text)])
    })
}

/// The answer to a call: its result, or the questions of the server. A content block of an unknown type
/// is converted into JSON text.
pub(crate) fn result(answer: &RawValue) -> Result<ServerAnswer<CallToolResult>, serde_json::Error> {
    let answer: Value = serde_json::from_str(answer.get())?;
    match ServerAnswer::questions(&answer) {
        Some(questions) => questions,
        None => complete_result(answer).map(ServerAnswer::Complete),
    }
}

fn complete_result(mut answer: Value) -> Result<CallToolResult, serde_json::Error> {
    if let Some(blocks) = answer.get_mut("content").and_then(Value::as_array_mut) {
        for block in blocks {
            if serde_json::from_value::<ContentBlock>(block.clone()).is_err() {
                *block = json!({ "type": "text", "text": block.to_string() });
            }
        }
    }
    if let Some(answer) = answer.as_object_mut() {
        // A result without any field would not be recognised as one.
        answer.entry("content").or_insert_with(|| json!([]));
        // rmcp sends this field only to clients whose protocol version has it.
        answer.insert("resultType".to_owned(), json!("complete"));
    }
    serde_json::from_value(answer)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use onecall_core::{CallableName, ServerName, ToolAnnotations, ToolName, ToolSpec};
    use onecall_gateway::ToolDisplayMetadata;

    use super::*;

    fn passed(answer: Value) -> Value {
        let shown = complete_result(answer);
        let mut shown = shown.map_or_else(|error| json!(error.to_string()), |it| json!(it));
        shown.as_object_mut().map(|shown| shown.remove("resultType"));
        shown
    }

    #[test]
    fn a_result_passes_as_it_is() {
        let whole = json!({
            "content": [
                { "type": "text", "text": "a", "annotations": { "priority": 0.5 }, "_meta": { "x": 1 } },
                { "type": "image", "data": "AAAA", "mimeType": "image/png" },
                { "type": "resource_link", "uri": "file:///a", "name": "a" },
            ],
            "structuredContent": { "rows": [1, null, 18_446_744_073_709_551_615_u64] },
            "isError": true,
            "_meta": { "trace": { "id": "7" } },
        });
        assert_eq!(passed(whole.clone()), whole);
        assert_eq!(passed(json!({})), json!({ "content": [] }));
        let odd = json!({ "content": [{ "type": "hologram", "depth": 3 }] });
        let text = r#"{"type":"hologram","depth":3}"#;
        assert_eq!(passed(odd), json!({ "content": [{ "type": "text", "text": text }] }));
        assert!(passed(json!([1])).is_string());
    }

    #[test]
    fn a_definition_passes_without_what_makes_no_sense() {
        let display_metadata = json!({
            "title": "T",
            "annotations": { "readOnlyHint": true },
            "icons": "none",
            "_meta": { "a": 1 },
        });
        let Value::Object(display_metadata) = display_metadata else { return };
        let spec = ToolSpec {
            callable: CallableName::new("mcp__s__t"),
            server: ServerName::new("s"),
            tool: ToolName::new("t"),
            description: Some("d".into()),
            input_schema: json!({ "type": "object" }).into(),
            output_schema: None,
            annotations: ToolAnnotations::default(),
        };
        let exposed = ExposedTool {
            name: "own".to_owned(),
            spec: Arc::new(spec),
            display_metadata: ToolDisplayMetadata(display_metadata),
            may_ask: false,
        };
        let expected = json!({
            "name": "own",
            "title": "T",
            "description": "d",
            "inputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": true },
            "_meta": { "a": 1 },
        });
        assert_eq!(json!(definition(&exposed)), expected);
    }
}
