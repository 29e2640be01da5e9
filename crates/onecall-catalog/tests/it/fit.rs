//! The check of arguments against schemas: certain mismatches are reported, everything else passes.

use onecall_catalog::{PartialValue, Strictness, check_arguments, mismatches};
use serde_json::value::RawValue;
use serde_json::{Value, json};

fn told(schema: &Value, arguments: Value) -> Vec<String> {
    let found = mismatches(schema, &PartialValue::Value(arguments));
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
            ".note: 7 is of type integer, not string or null",
        ]
    );
    assert_eq!(told(&query(), json!([])), [": [] is of type array, not object"]);
}

#[test]
fn what_is_not_known_yet_is_let_through() {
    let entries = |entries: Vec<(&str, PartialValue)>| {
        PartialValue::Entries(entries.into_iter().map(|(key, it)| (key.to_owned(), it)).collect())
    };
    let unknown = entries(vec![("sql", PartialValue::Unknown), ("limit", PartialValue::Unknown)]);
    assert_eq!(mismatches(&query(), &unknown), []);

    let partly = entries(vec![
        ("sql", PartialValue::Items(vec![])),
        (
            "columns",
            PartialValue::Items(vec![PartialValue::Unknown, PartialValue::Value(json!(1))]),
        ),
    ]);
    let found: Vec<String> = mismatches(&query(), &partly).into_iter().map(|it| it.path).collect();
    assert_eq!(found, [".sql", ".columns[1]"]);
}

#[test]
fn the_form_that_was_meant_is_the_one_that_is_explained() {
    let schema = json!({ "oneOf": [
        { "type": "string" },
        { "type": "object", "properties": { "x": { "type": "number" } } },
    ]});
    assert_eq!(told(&schema, json!({ "x": "a" })), [r#".x: "a" is of type string, not number"#]);
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

/// The arguments that are sent after the check: unchanged unless some are left out.
fn sent(schema: &Value, arguments: &str) -> Result<String, Vec<String>> {
    let raw = RawValue::from_string(arguments.to_owned()).unwrap();
    match check_arguments(schema, &raw, Strictness::Strict) {
        Ok(checked) => {
            Ok(checked.arguments.map_or(arguments.to_owned(), |raw| raw.get().to_owned()))
        }
        Err(mismatches) => Err(mismatches.iter().map(ToString::to_string).collect()),
    }
}

#[test]
fn a_null_that_is_neither_taken_nor_needed_is_left_out() {
    let schema = json!({
        "properties": {
            "a": { "type": "string" },
            "b": { "type": ["string", "null"] },
            "c": { "$ref": "#/$defs/c" },
            "d": { "type": "string", "nullable": true },
            "n": {},
        },
        "required": ["n"],
        "additionalProperties": false,
        "$defs": { "c": { "enum": [1, 2] } },
    });
    let cases = [
        (r#"{"a": null, "n": 1.10}"#, r#"{"n":1.10}"#),
        (
            r#"{"n":123456789012345678901234567890,"c":null}"#,
            r#"{"n":123456789012345678901234567890}"#,
        ),
        (r#"{"b":null,"d":null,"n":null}"#, r#"{"b":null,"d":null,"n":null}"#),
        (r#"{"a":"x", "n":{"a":null}}"#, r#"{"a":"x", "n":{"a":null}}"#),
    ];
    for (given, expected) in cases {
        assert_eq!(sent(&schema, given).as_deref(), Ok(expected));
    }
    assert_eq!(
        sent(&schema, r#"{"a":null,"x":null}"#),
        Err(vec!["'n' is missing, and there is no parameter 'x': did you mean 'n'?".to_owned()])
    );
    let needed = json!({ "properties": { "a": { "type": "string" } }, "required": ["a"] });
    assert_eq!(
        sent(&needed, r#"{"a":null}"#),
        Err(vec!["a: null is of type null, not string".to_owned()])
    );
}

/// Each of these a validator accepts, or cannot judge without more than the schema.
#[test]
fn what_a_schema_allows_is_never_refused() {
    let cases = [
        (json!({ "type": "any" }), json!(1)),
        (json!({ "type": ["string", "file"] }), json!(1)),
        (json!({ "enum": [[1.0, { "a": 2 }]] }), json!([1, { "a": 2.0 }])),
        (json!({ "const": 1 }), json!(1.0)),
        (json!({ "type": "integer" }), json!(1e300)),
        (
            json!({ "$schema": "http://json-schema.org/draft-07/schema#", "$defs": { "a": {} },
                 "$ref": "#/$defs/a", "type": "string" }),
            json!(1),
        ),
        (
            json!({ "properties": { "a": { "$id": "x", "$ref": "#/$defs/s", "$defs": { "s": {} } } },
                 "$defs": { "s": { "type": "string" } } }),
            json!({ "a": 1 }),
        ),
        (
            json!({ "prefixItems": [{ "type": "string" }], "items": { "type": "integer" } }),
            json!(["a", 1, 2]),
        ),
        (json!({ "items": [{ "type": "string" }] }), json!(["a", 1])),
        (json!({ "pattern": "^(?=a)b$" }), json!("zzz")),
        (
            json!({ "patternProperties": { "^x": {} }, "additionalProperties": false }),
            json!({ "xa": 1 }),
        ),
        (json!({ "oneOf": [{ "type": "integer" }, { "type": "number" }] }), json!(1)),
        (json!({ "not": { "type": "integer" } }), json!(1)),
        (json!({ "minimum": 1, "exclusiveMinimum": true }), json!(1)),
    ];
    for (schema, value) in cases {
        assert_eq!(told(&schema, value), [""; 0], "{schema}");
    }
}

#[test]
fn first_items_have_schemas_of_their_own() {
    let schema = json!({ "prefixItems": [{ "type": "string" }], "items": { "type": "integer" } });
    assert_eq!(
        told(&schema, json!([1, "a"])),
        ["[0]: 1 is of type integer, not string", r#"[1]: "a" is of type string, not integer"#]
    );
}

#[test]
fn hostile_arguments_are_bounded_too() {
    let long = "x".repeat(1_000_000);
    let schema =
        json!({ "allOf": vec![json!({ "properties": { "a": { "maxLength": 1 } } }); 10_000] });
    let found = mismatches(&schema, &PartialValue::Value(json!({ "a": long })));
    assert!(found.len() < 100, "{}", found.len());
    let names: serde_json::Map<String, Value> =
        (0..20_000).map(|number| (format!("name{number}"), Value::Null)).collect();
    let closed = json!({ "properties": names, "additionalProperties": false });
    let given: serde_json::Map<String, Value> =
        (0..20_000).map(|number| (format!("nome{number}"), json!({ "deep": [number] }))).collect();
    let found = mismatches(&closed, &PartialValue::Value(Value::Object(given)));
    assert!(!found.is_empty() && found.len() < 100, "{}", found.len());
}

/// What is noted of these arguments, or why they are refused.
fn noted(schema: &Value, arguments: &Value) -> Result<Vec<String>, Vec<String>> {
    let raw = RawValue::from_string(arguments.to_string()).unwrap();
    match check_arguments(schema, &raw, Strictness::Lenient) {
        Ok(checked) => Ok(checked.notes),
        Err(mismatches) => Err(mismatches.iter().map(ToString::to_string).collect()),
    }
}

#[test]
fn what_a_lenient_server_may_take_is_passed_on_with_a_note() {
    let schema = json!({ "properties": {
        "i": { "type": "integer", "maximum": 10 },
        "n": { "anyOf": [{ "type": "number" }, { "type": "null" }] },
        "b": { "type": "boolean" },
        "l": { "type": "array", "items": { "type": "integer" } },
        "o": { "type": "object", "properties": { "x": { "type": "integer" } }, "required": ["x"] },
        "e": { "enum": [1, 2] },
        "s": { "anyOf": [{ "type": "integer" }, { "type": "string" }] },
    }});
    let says = |note: &str| Ok(vec![note.to_owned()]);
    let cases = [
        (json!({ "i": "3" }), says("'i' was sent as the string '3'; the schema says integer")),
        (
            json!({ "i": " 3.0 " }),
            says("'i' was sent as the string ' 3.0 '; the schema says integer"),
        ),
        (json!({ "i": true }), says("'i' was sent as true; the schema says integer")),
        (json!({ "n": "1e-5" }), says("'n' was sent as the string '1e-5'; the schema says number")),
        (json!({ "n": "None" }), says("'n' was sent as the string 'None'; the schema says null")),
        (json!({ "b": "Yes" }), says("'b' was sent as the string 'Yes'; the schema says boolean")),
        (json!({ "b": 1 }), says("'b' was sent as 1; the schema says boolean")),
        (
            json!({ "l": "[1, 2]" }),
            says("'l' was sent as the string '[1, 2]'; the schema says array"),
        ),
        (
            json!({ "l": [1, "2"] }),
            says("'l[1]' was sent as the string '2'; the schema says integer"),
        ),
        (json!({ "e": "2" }), says("'e' was sent as the string '2'; the schema says 1, 2")),
        (json!({ "s": "3" }), Ok(vec![])),
        (
            json!({ "o": r#"{"x": "1"}"# }),
            Ok(vec![
                "'o.x' was sent as the string '1'; the schema says integer".to_owned(),
                r#"'o' was sent as the string '{"x": "1"}'; the schema says object"#.to_owned(),
            ]),
        ),
    ];
    for (arguments, expected) in cases {
        assert_eq!(noted(&schema, &arguments), expected, "{arguments}");
        assert_eq!(told(&schema, arguments.clone()), [""; 0], "{arguments}");
    }
    for arguments in [
        json!({ "i": "30" }),
        json!({ "i": "3.5" }),
        json!({ "i": "three" }),
        json!({ "i": "" }),
        json!({ "i": [3] }),
        json!({ "n": "NaN" }),
        json!({ "b": 2 }),
        json!({ "b": "1.5" }),
        json!({ "l": "1, 2" }),
        json!({ "l": "[1" }),
        json!({ "l": r#"["a"]"# }),
        json!({ "o": "{}" }),
        json!({ "o": "[]" }),
        json!({ "e": "3" }),
    ] {
        let refused = noted(&schema, &arguments).unwrap_err();
        assert_eq!(told(&schema, arguments.clone()).len(), refused.len(), "{arguments}");
    }
    // If one argument cannot be meant, the error lists all mismatches.
    assert_eq!(
        noted(&schema, &json!({ "i": "3", "b": [] })),
        Err(vec![
            r#"i: "3" is of type string, not integer"#.to_owned(),
            "b: [] is of type array, not boolean".to_owned(),
        ])
    );
}

#[test]
fn text_within_text_is_bounded() {
    let mut text = "[]".to_owned();
    for _ in 0..12 {
        text = json!([text]).to_string();
    }
    let schema = json!({ "$ref": "#/$defs/l", "$defs": { "l": { "type": "array", "items": { "$ref": "#/$defs/l" } } } });
    assert_eq!(told(&schema, json!(text)), [""; 0]);
    let forms = json!({ "anyOf": vec![json!({ "type": "array" }); 10_000] });
    assert!(told(&forms, json!(format!("[{}]", "1,".repeat(100_000)))).len() < 100);
}
