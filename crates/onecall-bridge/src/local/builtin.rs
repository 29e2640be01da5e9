//! The definitions of the built-in file tools: their descriptions, schemas and annotations.

use onecall_catalog::ToolDefinition;
use onecall_config::{FileAction, FilesTool, LocalTool};
use onecall_core::ToolAnnotations;
use serde_json::{Value, json};

pub(super) fn definition(tool: &LocalTool, files: &FilesTool) -> ToolDefinition {
    let folder = files.root.file_name().unwrap_or_default().to_string_lossy();
    let about = match files.action {
        FileAction::Read => format!("Reads a text file (UTF-8) of the folder '{folder}'."),
        FileAction::Write => format!(
            "Writes a text file of the folder '{folder}', replacing what it held unless append \
             is true. Makes the folders on the way."
        ),
        FileAction::List => format!("Lists the folder '{folder}' or a folder in it."),
        FileAction::Glob => format!(
            "Finds files of the folder '{folder}' by a pattern: * and ? within a name, ** for \
             any folders. Returns sorted paths."
        ),
    };
    let (input_schema, output_schema) = schemas(files.action);
    let is_writing = files.action == FileAction::Write;
    let given = &tool.annotations;
    ToolDefinition {
        tool: tool.name.clone(),
        description: Some(tool.description.clone().unwrap_or(about).into()),
        input_schema: input_schema.into(),
        output_schema: Some(output_schema.into()),
        annotations: ToolAnnotations {
            read_only_hint: given.read_only_hint.or(Some(!is_writing)),
            destructive_hint: given.destructive_hint.or(Some(is_writing)),
            idempotent_hint: given.idempotent_hint.or((!is_writing).then_some(true)),
            open_world_hint: Some(false),
            ..given.clone()
        },
    }
}

fn schemas(action: FileAction) -> (Value, Value) {
    let path = json!({ "type": "string", "description": "Relative to the folder" });
    match action {
        FileAction::Read => (
            arguments(
                json!({
                    "path": path,
                    "offset": {
                        "type": "integer", "minimum": 0, "description": "Lines to skip",
                    },
                    "limit": {
                        "type": "integer", "minimum": 0, "description": "Lines to read at most",
                    },
                }),
                &["path"],
            ),
            result(json!({ "type": "string" })),
        ),
        FileAction::Write => (
            arguments(
                json!({
                    "path": path,
                    "content": { "type": "string" },
                    "append": { "type": "boolean", "default": false },
                }),
                &["path", "content"],
            ),
            json!({
                "type": "object",
                "properties": {
                    "size": { "type": "integer", "description": "Bytes the file has now" },
                },
                "required": ["size"],
            }),
        ),
        FileAction::List => (
            arguments(json!({ "path": path }), &[]),
            result(json!({
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": { "type": "string" },
                        "type": { "enum": ["file", "folder", "link", "other"] },
                        "size": { "type": "integer", "description": "Bytes of a file, else 0" },
                    },
                    "required": ["name", "type", "size"],
                },
            })),
        ),
        FileAction::Glob => (
            arguments(
                json!({ "pattern": { "type": "string", "description": "For example **/*.md" } }),
                &["pattern"],
            ),
            result(json!({ "type": "array", "items": { "type": "string" } })),
        ),
    }
}

fn arguments(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The output schema of a value that is not an object.
fn result(value: Value) -> Value {
    json!({
        "type": "object",
        "properties": { "result": value },
        "required": ["result"],
        "x-fastmcp-wrap-result": true,
    })
}
