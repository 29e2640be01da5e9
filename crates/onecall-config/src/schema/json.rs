//! Writes the configuration keys as JSON Schema, for editors.

use serde_json::{Map, Value, json};

use super::{CONFIGURATION, Key, ValueKind};
use crate::reader::MAX_SECONDS;

/// The JSON Schema of the configuration (draft 2020-12).
#[must_use]
pub fn json_schema() -> Value {
    let mut schema = Map::new();
    schema.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".into(), json!("onecall configuration"));
    schema.extend(section(CONFIGURATION));
    // An empty file is a valid configuration.
    schema.insert("type".into(), json!(["object", "null"]));
    Value::Object(schema)
}

fn section(keys: &[Key]) -> Map<String, Value> {
    let properties: Map<String, Value> =
        keys.iter().map(|key| (key.name.to_owned(), property(key))).collect();
    let mut schema = Map::new();
    schema.insert("type".into(), json!(["object", "null"]));
    schema.insert("properties".into(), Value::Object(properties));
    schema.insert("additionalProperties".into(), json!(false));
    schema
}

fn property(key: &Key) -> Value {
    let mut schema = schema_of_kind(&key.kind);
    schema.insert("description".into(), json!(key.description));
    // A default in parentheses is a description for people.
    if !key.default.starts_with('(') {
        let written = serde_json::from_str(key.default);
        schema.insert("default".into(), written.unwrap_or_else(|_| json!(key.default)));
    }
    Value::Object(schema)
}

fn schema_of_kind(kind: &ValueKind) -> Map<String, Value> {
    let schema = match kind {
        ValueKind::Text | ValueKind::Path => json!({ "type": "string" }),
        ValueKind::AnyScalar => json!({ "type": ["string", "number", "boolean"] }),
        ValueKind::Boolean => json!({ "type": "boolean" }),
        ValueKind::Integer { min, max } => {
            json!({ "type": "integer", "minimum": min, "maximum": max })
        }
        ValueKind::Seconds => {
            json!({ "type": "number", "exclusiveMinimum": 0, "maximum": MAX_SECONDS })
        }
        ValueKind::Choice(names) => json!({ "enum": names }),
        ValueKind::Patterns => {
            json!({ "type": "array", "items": { "type": "string", "pattern": PATTERN } })
        }
        ValueKind::List(item) => json!({ "type": "array", "items": schema_of_kind(item) }),
        ValueKind::Mapping(value) => {
            json!({ "type": ["object", "null"], "additionalProperties": schema_of_kind(value) })
        }
        ValueKind::PatternMapping(value) => json!({
            "type": ["object", "null"],
            "propertyNames": { "pattern": PATTERN },
            "additionalProperties": schema_of_kind(value),
        }),
        ValueKind::Section(keys) => return section(keys),
        ValueKind::EntryMapping(keys) => {
            json!({ "type": ["object", "null"], "additionalProperties": section(keys) })
        }
        ValueKind::EntryListOrMapping(keys) => json!({
            "anyOf": [
                { "type": "array", "items": with_name(keys) },
                { "type": ["object", "null"], "additionalProperties": section(keys) },
            ],
        }),
        ValueKind::Schema => json!({ "type": "object" }),
    };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

const PATTERN: &str = "^[A-Za-z0-9_*]+$";

fn with_name(keys: &[Key]) -> Map<String, Value> {
    let mut schema = section(keys);
    schema.insert("type".into(), json!("object"));
    schema.insert("required".into(), json!(["name"]));
    schema
}
