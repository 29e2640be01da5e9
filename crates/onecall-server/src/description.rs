//! One tool as `inspect_tool` shows it.

use onecall_catalog::python_signature;
use onecall_core::ToolSpec;
use serde_json::{Value, json};

/// Everything a program's author needs to call the tool.
#[must_use]
pub fn describe(spec: &ToolSpec) -> Value {
    let mut description = json!({
        "name": spec.callable.as_str(),
        "description": spec.description,
        "signature": python_signature(spec),
        "inputSchema": spec.input_schema,
        "outputSchema": spec.output_schema,
    });
    if spec.output_schema.is_none()
        && let Some(fields) = description.as_object_mut()
    {
        let note = "The server declares no output schema: print a small result first to see \
                    its shape.";
        fields.insert("note".to_owned(), json!(note));
    }
    description
}
