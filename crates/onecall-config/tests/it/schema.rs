//! The schema that editors get says what the reader does: its defaults are the defaults, its
//! bounds are the bounds, its choices are the choices.

use std::path::Path;

use onecall_config::{Config, ConfigErrors, json_schema, markdown_reference};
use serde_json::{Map, Value, json};

fn parse(config: &Value) -> Result<Config, ConfigErrors> {
    let text = config.to_string();
    Config::parse(&text, Path::new("/etc/onecall/onecall.json"), &|_| None)
}

/// Each section: where its schema is, and the least that has to stand in it.
fn sections() -> Vec<(&'static str, Value)> {
    vec![
        ("", json!({})),
        ("/properties/execution", json!({ "execution": {} })),
        ("/properties/sessions", json!({ "sessions": {} })),
        ("/properties/limits", json!({ "limits": {} })),
        ("/properties/workspace", json!({ "workspace": { "path": "p", "mode": "read-write" } })),
        ("/properties/proxy", json!({ "proxy": {} })),
        ("/properties/store", json!({ "store": {} })),
        ("/properties/cache", json!({ "cache": {} })),
        ("/properties/approvals", json!({ "approvals": {} })),
        ("/properties/tools", json!({ "tools": {} })),
        ("/properties/generate", json!({ "generate": {} })),
        ("/properties/telemetry", json!({ "telemetry": {} })),
        (
            "/properties/mcpServers/additionalProperties",
            json!({ "mcpServers": { "a": { "command": "x" } } }),
        ),
        (
            "/properties/mcpServers/additionalProperties/properties/oauth",
            json!({ "mcpServers": { "a": { "url": "http://x", "oauth": {} } } }),
        ),
        (
            "/properties/local_tools/anyOf/1/additionalProperties",
            json!({ "local_tools": { "a": { "command": ["x"] } } }),
        ),
    ]
}

/// `least` with `value` under `key`, in the innermost section.
fn with(least: &Value, key: &str, value: Value) -> Value {
    let mut config = least.clone();
    let mut section = &mut config;
    loop {
        let only = section.as_object().unwrap();
        let inner = only.iter().find(|(_, value)| value.is_object()).map(|(key, _)| key.clone());
        // The last mapping that is there is the section itself.
        match inner {
            Some(inner) => section = section.get_mut(&inner).unwrap(),
            None => break,
        }
    }
    section.as_object_mut().unwrap().insert(key.to_owned(), value);
    config
}

fn each_key(mut visit: impl FnMut(&Value, &str, &Map<String, Value>)) {
    let schema = json_schema();
    for (pointer, least) in sections() {
        let properties =
            schema.pointer(pointer).and_then(|section| section["properties"].as_object());
        for (key, property) in properties.unwrap_or_else(|| panic!("no section at {pointer}")) {
            visit(&least, key, property.as_object().unwrap());
        }
    }
}

/// The keys that stand only beside others than the least.
fn is_for_others(key: &str) -> bool {
    matches!(key, "transport" | "type" | "builtin" | "url" | "root" | "$schema")
}

#[test]
fn what_it_calls_a_default_is_one() {
    let mut seen = 0;
    each_key(|least, key, property| {
        let Some(default) = property.get("default").filter(|_| !is_for_others(key)) else { return };
        // A server needs a url for these, and a workspace has its mode already.
        if matches!(key, "headers" | "oauth" | "mode") {
            return;
        }
        let said = parse(&with(least, key, default.clone()));
        let unsaid = parse(least).unwrap();
        assert_eq!(said.unwrap_or_else(|errors| panic!("{key}: {errors}")), unsaid, "{key}");
        seen += 1;
    });
    assert!(seen > 40, "{seen}");
}

#[test]
fn its_bounds_are_the_bounds() {
    let mut seen = 0;
    each_key(|least, key, property| {
        let (Some(minimum), Some(maximum)) =
            (property.get("minimum").and_then(Value::as_u64), property.get("maximum"))
        else {
            return;
        };
        let maximum = maximum.as_u64().unwrap();
        let is_taken = |value: Value| parse(&with(least, key, value)).is_ok();
        assert!(is_taken(json!(minimum)) && is_taken(json!(maximum)), "{key}");
        assert!(!is_taken(json!(maximum + 1)), "{key}");
        assert!(!is_taken(json!(i64::try_from(minimum).unwrap() - 1)), "{key}");
        seen += 1;
    });
    assert!(seen > 15, "{seen}");
}

#[test]
fn its_choices_are_the_choices() {
    let mut seen = 0;
    each_key(|least, key, property| {
        let Some(choices) = property.get("enum").and_then(Value::as_array) else { return };
        if is_for_others(key) {
            return;
        }
        for choice in choices {
            let parsed = parse(&with(least, key, choice.clone()));
            // Some choices do not go with other keys, which is not for the schema to say.
            let refused = parsed.err().map(|errors| errors.to_string()).unwrap_or_default();
            assert!(!refused.contains("it can be"), "{key}: {refused}");
        }
        let names: Vec<_> = choices.iter().filter_map(Value::as_str).collect();
        let refused = parse(&with(least, key, json!("zzz"))).unwrap_err().to_string();
        assert!(refused.contains(&format!("it can be {}", names.join(", "))), "{key}: {refused}");
        seen += 1;
    });
    assert!(seen >= 6, "{seen}");
}

#[test]
fn the_document_is_of_this_version() {
    let document = include_str!("../../../../docs/configuration.md");
    let (_, tables) = document.split_once("\n## ").unwrap();
    let is_current = format!("## {tables}").trim_end() == markdown_reference().trim_end();
    assert!(is_current, "write the tables again: `onecall schema --markdown`");
}
