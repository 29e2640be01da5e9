//! Writes the configuration keys as JSON Schema, for editors.

use serde_json::{Map, Value, json};

use super::{CONFIGURATION, Key, Kind};
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
    let mut schema = kind(&key.kind);
    schema.insert("description".into(), json!(key.about));
    // A default in parentheses is a description for people.
    if !key.default.starts_with('(') {
        let written = serde_json::from_str(key.default);
        schema.insert("default".into(), written.unwrap_or_else(|_| json!(key.default)));
    }
    Value::Object(schema)
}

fn kind(kind: &Kind) -> Map<String, Value> {
    let schema = match kind {
        Kind::Text | Kind::Path => json!({ "type": "string" }),
        Kind::Written => json!({ "type": ["string", "number", "boolean"] }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Whole { least, most } => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Kind::Seconds => {
            json!({ "type": "number", "exclusiveMinimum": 0, "maximum": MAX_SECONDS })
        }
        Kind::Choice(names) => json!({ "enum": names }),
        Kind::Patterns => {
            json!({ "type": "array", "items": { "type": "string", "pattern": PATTERN } })
        }
        Kind::List(item) => json!({ "type": "array", "items": self::kind(item) }),
        Kind::Mapping(value) => {
            json!({ "type": ["object", "null"], "additionalProperties": self::kind(value) })
        }
        Kind::ByPattern(value) => json!({
            "type": ["object", "null"],
            "propertyNames": { "pattern": PATTERN },
            "additionalProperties": self::kind(value),
        }),
        Kind::Section(keys) => return section(keys),
        Kind::Named(keys) => {
            json!({ "type": ["object", "null"], "additionalProperties": section(keys) })
        }
        Kind::Entries(keys) => json!({
            "anyOf": [
                { "type": "array", "items": with_name(keys) },
                { "type": ["object", "null"], "additionalProperties": section(keys) },
            ],
        }),
        Kind::Schema => json!({ "type": "object" }),
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
