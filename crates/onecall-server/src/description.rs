//! One tool as `inspect_tool` shows it.

use onecall_catalog::{Observed, python_signature_with};
use onecall_core::ToolSpec;
use serde_json::{Value, json};

/// Everything a program's author needs to call the tool; `observed` is what its results
/// looked like, if its server does not say.
#[must_use]
pub fn describe(spec: &ToolSpec, observed: Option<&Observed>) -> Value {
    let mut description = json!({
        "name": spec.callable.as_str(),
        "description": spec.description,
        "signature": python_signature_with(spec, observed),
        "inputSchema": spec.input_schema,
        "outputSchema": spec.output_schema,
    });
    if spec.output_schema.is_none()
        && let Some(fields) = description.as_object_mut()
    {
        let note = match observed {
            None => {
                "The server declares no output schema: print a small result first to see its shape."
            }
            Some(Observed { schema, samples }) => {
                let observed = json!({ "samples": samples, "schema": schema });
                fields.insert("observedOutput".to_owned(), observed);
                "The server declares no output schema: observedOutput is what earlier results \
                 looked like."
            }
        };
        fields.insert("note".to_owned(), json!(note));
    }
    description
}
