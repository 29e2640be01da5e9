//! Describes one tool for `inspect_tool`.

use onecall_core::{OutputForm, ToolSpec};
use serde_json::{Value, json};

use crate::shown_definition::{ShownSchema, shown_description};
use crate::{ObservedOutput, python_signature_with, typescript_signature_with};

/// Everything that the author of a program needs to call the tool. `observed` is the shape of its
/// earlier results, if the server declares none.
#[must_use]
pub fn describe(spec: &ToolSpec, observed: Option<&ObservedOutput>) -> Value {
    let mut notes = Vec::new();
    let mut shown = |name: &str, schema: &Value| {
        let ShownSchema { schema, note } = ShownSchema::of(schema);
        notes.extend(note.map(|note| format!("{name} {note}.")));
        schema
    };
    let mut description = json!({
        "name": spec.callable.as_str(),
        "description": spec.description.as_deref().map(shown_description),
        "signature": python_signature_with(spec, observed),
        "typescript": typescript_signature_with(spec, observed),
        "inputSchema": shown("inputSchema", &spec.input_schema.value()),
        "outputSchema": spec.output_schema.as_ref().map(|it| shown("outputSchema", &it.value())),
    });
    let Some(fields) = description.as_object_mut() else { return description };
    match (&spec.output_schema, observed) {
        (Some(schema), _) if schema.output_form() == OutputForm::Plain => {}
        (Some(_), _) => notes.push("Programs get the value of result itself.".to_owned()),
        (None, None) => notes.push(
            "The server declares no output schema: print a small result first to see its shape. \
             Images and resources beside text are in its .content."
                .to_owned(),
        ),
        (None, Some(ObservedOutput { schema, samples })) => {
            let schema = shown("observedOutput", schema);
            fields.insert(
                "observedOutput".to_owned(),
                json!({ "samples": samples, "schema": schema }),
            );
            notes.push(
                "The server declares no output schema: observedOutput is what earlier results \
                 looked like."
                    .to_owned(),
            );
        }
    }
    if !notes.is_empty() {
        fields.insert("note".to_owned(), json!(notes.join(" ")));
    }
    description
}
