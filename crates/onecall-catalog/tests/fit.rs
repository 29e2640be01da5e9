//! Arguments against schemas: what cannot fit is told, what may is let through.

#![allow(clippy::unwrap_used, reason = "tests")]

use onecall_catalog::{Known, misfits};
use serde_json::{Value, json};

fn told(schema: &Value, arguments: Value) -> Vec<String> {
    let found = misfits(schema, &Known::Value(arguments));
    found.into_iter().map(|it| format!("{}: {}", it.path, it.message)).collect()
}

fn query() -> Value {
    json!({
        "type": "object",
        "properties": {
            "sql": { "type": "string", "minLength": 1 },
            "limit": { "type": "integer", "minimum": 1, "maximum": 100 },
            "order": { "enum": ["up", "down"] },
            "where": { "$ref": "#/$defs/filter" },
            "columns": { "type": "array", "items": { "type": "string" }, "maxItems": 2 },
            "note": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
        },
        "required": ["sql"],
        "additionalProperties": false,
        "$defs": {
            "filter": {
                "type": "object",
                "properties": { "and": { "$ref": "#/$defs/filter" }, "value": { "type": "number" } },
            },
        },
    })
}

#[test]
fn what_fits_is_let_through() {
    for arguments in [
        json!({ "sql": "x" }),
        json!({ "sql": "x", "limit": 100, "order": "up", "columns": ["a", "b"], "note": null }),
        json!({ "sql": "x", "limit": 5.0, "where": { "and": { "and": { "value": 1 } } } }),
        json!({ "sql": "x", "where": { "anything": true } }),
    ] {
        assert_eq!(told(&query(), arguments.clone()), [""; 0], "{arguments}");
    }
}

#[test]
fn every_misfit_is_told_with_its_place() {
    let arguments = json!({
        "limit": 0, "order": "left", "colums": [], "columns": ["a", 2, "c"],
        "where": { "and": { "value": "1" } }, "note": 7,
    });
    assert_eq!(
        told(&query(), arguments),
        [
            ": 'sql' is missing",
            ".limit: 0 is less than 1",
            r#".order: "left" is not one of "up", "down""#,
            ": 'colums' is not accepted; did you mean 'columns'?",
            ".columns: has 3 items, at most 2 are accepted",
            ".columns[1]: 2 is of type integer, not string",
            r#".where.and.value: "1" is of type string, not number"#,
            ".note: 7 fits none of its forms",
        ]
    );
    assert_eq!(told(&query(), json!([])), [": [] is of type array, not object"]);
}

#[test]
fn what_is_not_known_yet_is_let_through() {
    let entries = |entries: Vec<(&str, Known)>| {
        Known::Entries(entries.into_iter().map(|(key, it)| (key.to_owned(), it)).collect())
    };
    let unknown = entries(vec![("sql", Known::Unknown), ("limit", Known::Unknown)]);
    assert_eq!(misfits(&query(), &unknown), []);

    let partly = entries(vec![
        ("sql", Known::Items(vec![])),
        ("columns", Known::Items(vec![Known::Unknown, Known::Value(json!(1))])),
    ]);
    let found: Vec<String> = misfits(&query(), &partly).into_iter().map(|it| it.path).collect();
    assert_eq!(found, [".sql", ".columns[1]"]);
}

#[test]
fn the_form_that_was_meant_is_the_one_that_is_explained() {
    let schema = json!({ "oneOf": [
        { "type": "string" },
        { "type": "object", "properties": { "x": { "type": "number" } } },
    ]});
    assert_eq!(told(&schema, json!({ "x": "1" })), [r#".x: "1" is of type string, not number"#]);
}

#[test]
fn a_hostile_schema_is_bounded() {
    let endless = json!({ "$ref": "#" });
    assert_eq!(told(&endless, json!({})), [""; 0]);
    let wide = json!({ "anyOf": vec![json!({ "$ref": "#" }); 1_000] });
    assert_eq!(told(&wide, json!({})), [""; 0]);
    let many = json!({ "allOf": vec![json!({ "type": "string" }); 100_000] });
    assert!(told(&many, json!("x")).is_empty());
    let elsewhere = json!({ "$ref": "https://example.com/schema.json" });
    assert_eq!(told(&elsewhere, json!(1)), [""; 0]);
    assert_eq!(told(&json!({ "type": 5, "enum": {}, "required": 1 }), json!({})), [""; 0]);
}

#[test]
fn what_the_server_fills_in_is_not_missing() {
    let schema =
        json!({ "properties": { "limit": { "default": 10 } }, "required": ["limit", "sql"] });
    assert_eq!(told(&schema, json!({})), [": 'sql' is missing"]);
}
