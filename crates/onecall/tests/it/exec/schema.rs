//! Holds every message of the tests against `docs/exec.schema.json`.

use serde_json::Value;

const SCHEMA: &str = include_str!("../../../../../docs/exec.schema.json");

/// The definition of what one side says.
#[derive(Clone, Copy)]
pub enum Side {
    Host,
    Onecall,
}

/// Why a message is not as documented; as much of JSON Schema as the file uses.
pub fn violation(side: Side, message: &Value) -> Option<String> {
    let root: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    let name = match side {
        Side::Host => "toOnecall",
        Side::Onecall => "fromOnecall",
    };
    // The kind of a message says which definition is meant, which makes for better words.
    let definition = match message["type"].as_str() {
        Some(kind) if !root["$defs"][kind].is_null() => &root["$defs"][kind],
        _ => &root["$defs"][name],
    };
    let all = &root["$defs"][name];
    check(&root, definition, message, "message").or_else(|| check(&root, all, message, "message"))
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    let Some(keywords) = schema.as_object() else { panic!("a schema at {at}: {schema}") };
    keywords.iter().find_map(|(keyword, wanted)| match keyword.as_str() {
        "$ref" => {
            let path = wanted.as_str()?.strip_prefix('#').expect("a reference within the file");
            check(root, root.pointer(path).expect("a definition"), value, at)
        }
        "type" => {
            let kinds = match wanted {
                Value::Array(kinds) => kinds.clone(),
                one => vec![one.clone()],
            };
            let fits = |kind: &Value| match kind.as_str().unwrap() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "number" => value.is_number(),
                "integer" => value.is_i64() || value.is_u64(),
                "boolean" => value.is_boolean(),
                "null" => value.is_null(),
                other => panic!("a type {other}"),
            };
            (!kinds.iter().any(fits)).then(|| format!("{at} is {value}, not {wanted}"))
        }
        "const" => (value != wanted).then(|| format!("{at} is {value}, not {wanted}")),
        "required" => {
            let missing = |name: &&Value| value.get(name.as_str().unwrap()).is_none();
            wanted.as_array()?.iter().find(missing).map(|name| format!("{at} has no {name}"))
        }
        "properties" => wanted.as_object()?.iter().find_map(|(name, schema)| {
            check(root, schema, value.get(name)?, &format!("{at}.{name}"))
        }),
        "additionalProperties" => {
            assert_eq!(wanted, false);
            let known = &schema["properties"];
            let surplus = value.as_object()?.keys().find(|name| known.get(name).is_none());
            surplus.map(|name| format!("{at} has an undocumented '{name}'"))
        }
        "items" => value.as_array()?.iter().find_map(|item| check(root, wanted, item, at)),
        "oneOf" => {
            let fitting = |schema: &&Value| check(root, schema, value, at).is_none();
            let count = wanted.as_array()?.iter().filter(fitting).count();
            (count != 1).then(|| format!("{at} fits {count} forms: {value}"))
        }
        "minLength" | "maxLength" | "exclusiveMinimum" | "maximum" => None,
        other => panic!("the schema uses '{other}', which this check does not know"),
    })
}

#[test]
fn the_check_sees_what_does_not_fit() {
    let wrong = [
        serde_json::json!({ "type": "ready", "version": "1" }),
        serde_json::json!({ "type": "ready", "version": 1, "protocol": 1 }),
        serde_json::json!({ "type": "ready", "version": "1", "protocol": 1, "more": 1 }),
        serde_json::json!({ "type": "execute", "id": "1", "code": "" }),
        serde_json::json!({ "type": "other" }),
    ];
    for message in wrong {
        assert!(violation(Side::Onecall, &message).is_some(), "{message}");
    }
}
