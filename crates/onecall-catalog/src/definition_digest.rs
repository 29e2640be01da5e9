//! The digest of a tool's definition, by which a change of the definition is noticed. Pins compare the
//! same canonical forms, part by part.

use onecall_core::{Digest, DigestBuilder, Schema, ToolSpec};
use serde_json::{Map, Value, json};

/// The digest of everything that a server says about a tool. The order of keys in schemas does not
/// matter, except for the order of the arguments.
#[must_use]
pub fn definition_digest(spec: &ToolSpec) -> Digest {
    let output = spec.output_schema.as_ref().map(canonical_schema);
    let mut digest = DigestBuilder::default();
    digest.add_part(spec.server.as_str());
    digest.add_part(spec.tool.as_str());
    digest.add_part(json!(spec.description.as_deref()).to_string());
    digest.add_part(canonical_schema_with_order(&spec.input_schema).to_string());
    digest.add_part(json!(output).to_string());
    digest.add_part(json!(spec.annotations).to_string());
    digest.finish()
}

/// An input schema in a form in which equal schemas have equal texts. It contains the order of the
/// properties, because that is the order of positional arguments.
#[must_use]
pub fn canonical_schema_with_order(schema: &Schema) -> Value {
    json!([schema.property_names(), canonical_schema(schema)])
}

/// A schema in a form in which equal schemas have equal texts: the keys of every object are sorted.
#[must_use]
pub fn canonical_schema(schema: &Schema) -> Value {
    sorted(&schema.value())
}

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
    use onecall_core::{CallableName, ServerName, ToolAnnotations, ToolName};

    use super::*;

    fn tool(description: &str, schema: Value) -> ToolSpec {
        ToolSpec {
            callable: CallableName::new("mcp__s__t"),
            server: ServerName::new("s"),
            tool: ToolName::new("t"),
            description: Some(description.into()),
            input_schema: schema.into(),
            output_schema: None,
            annotations: ToolAnnotations::default(),
        }
    }

    #[test]
    fn a_digest_changes_with_the_definition_and_not_with_its_spelling() {
        let one = tool("d", json!({ "type": "object", "properties": { "a": {}, "b": {} } }));
        let same = tool("d", json!({ "properties": { "a": {}, "b": {} }, "type": "object" }));
        assert_eq!(definition_digest(&one), definition_digest(&same));
        let swapped = tool("d", json!({ "type": "object", "properties": { "b": {}, "a": {} } }));
        let described = tool("e", json!({ "type": "object", "properties": { "a": {}, "b": {} } }));
        let mut hinted = one.clone();
        hinted.annotations.read_only_hint = Some(true);
        for other in [swapped, described, hinted] {
            assert_ne!(definition_digest(&one), definition_digest(&other));
        }
    }
}
