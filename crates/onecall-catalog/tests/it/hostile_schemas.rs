//! Schemas that a server made to hurt. Whatever they hold, a signature is one short
//! line. Where the work were not bounded, these tests would not end.

use std::thread;

use onecall_catalog::python_signature;
use onecall_core::{CallableName, ServerName, ToolAnnotations, ToolName, ToolSpec};
use serde_json::{Map, Value, json};

/// The signature of a tool whose one argument and whose result have this schema.
fn signature(schema: Value) -> String {
    let input =
        json!({ "type": "object", "properties": { "x": schema.clone() }, "required": ["x"] });
    harmless(&spec("f", input, Some(schema)))
}

fn spec(name: &str, input_schema: Value, output_schema: Option<Value>) -> ToolSpec {
    ToolSpec {
        callable: CallableName::new(name),
        server: ServerName::new("server"),
        tool: ToolName::new("tool"),
        description: None,
        input_schema: input_schema.into(),
        output_schema: output_schema.map(Into::into),
        annotations: ToolAnnotations::default(),
    }
}

fn harmless(spec: &ToolSpec) -> String {
    let signature = python_signature(spec);
    assert!(signature.chars().count() <= 2_000, "{}", signature.len());
    assert!(!signature.contains(|c: char| c.is_control() || ('\u{200b}'..'\u{2070}').contains(&c)));
    signature
}

fn nested(levels: usize, wrap: fn(Value) -> Value) -> Value {
    (0..levels).fold(json!({ "type": "string" }), |inner, _| wrap(inner))
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

#[test]
fn a_thousand_levels() -> Result<(), Box<dyn std::error::Error>> {
    // Cloning and dropping such a value takes more stack than a test has; writing
    // its signature must do with very little.
    thread::Builder::new().stack_size(256 << 20).spawn(|| {
        for (wrap, expected) in [
            (
                (|inner| object([("type", json!("array")), ("items", inner)])) as fn(Value) -> Value,
                "await f(x: list[list[list[list[list]]]]) -> list[list[list[list[list]]]]",
            ),
            (
                |inner| object([("properties", object([("a", inner)]))]),
                "await f(x: {'a': NotRequired[{'a': NotRequired[dict]}]}) -> {'a': {'a': dict}}",
            ),
            (
                |inner| object([("anyOf", Value::Array(vec![inner, json!({ "type": "null" })]))]),
                "await f(x: Any) -> Any",
            ),
            (
                |inner| object([("allOf", Value::Array(vec![inner]))]),
                "await f(x: Any) -> Any",
            ),
        ] {
            let schema = nested(1_000, wrap);
            let input = object([
                ("properties", object([("x", schema.clone())])),
                ("required", json!(["x"])),
            ]);
            let spec = spec("f", input, Some(schema));
            let signature = thread::scope(|scope| {
                let small = thread::Builder::new().stack_size(512 << 10);
                small.spawn_scoped(scope, || harmless(&spec)).map(|thread| thread.join())
            });
            assert!(matches!(signature, Ok(Ok(signature)) if signature == expected));
        }
    })?.join().map_err(|_| "the signature was not as expected".into())
}

#[test]
fn a_hundred_thousand_alternatives() {
    let same = vec![json!({ "type": "string" }); 100_000];
    assert_eq!(signature(json!({ "anyOf": same })), "await f(x: str | ...) -> str | ...");
    let types = vec![json!("string"); 100_000];
    assert_eq!(signature(json!({ "type": types })), "await f(x: str) -> str");
    let values: Vec<Value> = (0..100_000).map(|n| json!(format!("v{n}"))).collect();
    assert_eq!(signature(json!({ "enum": values })), "await f(x: str) -> str");
}

#[test]
fn a_hundred_thousand_parameters() {
    let properties: Map<String, Value> =
        (0..100_000).map(|n| (format!("p{n}"), json!({ "type": "integer" }))).collect();
    let required: Vec<&String> = properties.keys().collect();
    let input = json!({ "type": "object", "properties": properties, "required": required });
    let signature = harmless(&spec("f", input, None));
    assert!(signature.starts_with("await f(p0: int, p1: int, p2: int, "), "{signature}");
    assert!(signature.ends_with(", ...) -> Any"), "{signature}");
}

#[test]
fn exponential_and_endless_references() {
    let mut definitions = Map::new();
    for n in 0..50 {
        let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
        let properties = json!({ "a": next, "b": next, "c": next, "d": next });
        definitions.insert(format!("d{n}"), json!({ "type": "object", "properties": properties }));
        definitions
            .insert(format!("chain{n}"), json!({ "$ref": format!("#/$defs/chain{}", n + 1) }));
    }
    definitions.insert("self".to_owned(), json!({ "$ref": "#/$defs/self" }));
    definitions.insert(
        "tree".to_owned(),
        json!({ "type": "object", "properties": {
        "value": { "type": "string" },
        "children": { "type": "array", "items": { "$ref": "#/$defs/tree" } },
    } }),
    );
    for (reference, expected) in [
        ("self", "dict"),
        ("tree", "{'value': str, 'children': list[dict]}"),
        ("chain0", "Any"),
        (
            "d0",
            "{'a': {'a': dict, 'b': dict, 'c': dict, 'd': dict}, 'b': {'a': dict, 'b': dict, 'c': dict, 'd': dict}, 'c': {'a': dict, 'b': dict, 'c': dict, 'd': dict}, 'd': {'a': dict, 'b': dict, 'c': dict, 'd': dict}}",
        ),
    ] {
        let output = json!({ "$ref": format!("#/$defs/{reference}"), "$defs": definitions });
        let signature = harmless(&spec("f", json!({}), Some(output)));
        assert_eq!(signature, format!("await f() -> {expected}"));
    }
}

#[test]
fn names_and_values_that_are_code() {
    let evil = "x'): pass\nimport os; os.system(\"rm -rf /\") # \u{202e}\u{2028}\u{1b}[2J";
    let quoted = r#"x'): pass\nimport os; os.system("rm -rf /") # \u202e\u2028\x1b[2J"#;
    assert_eq!(
        signature(json!({ "enum": [evil] })).split_once(") ->").map(|(call, _)| call.to_owned()),
        Some(format!("await f(x: Literal['{}']", quoted.replace('\'', "\\'")))
    );
    let input = json!({ "type": "object", "properties": { evil: { "type": "string" } } });
    assert_eq!(
        harmless(&spec("f", input, None)),
        format!(
            "await f({{\"{}\": NotRequired[str]}}) -> Any",
            quoted.replace('"', "\\\"").replace("\\x1b", "\\u001b")
        )
    );
    let shape = json!({ "type": "object", "properties": { evil: { "default": evil } } });
    harmless(&spec("f", json!({}), Some(shape)));
}

#[test]
fn endless_names() {
    let endless = "x".repeat(1_000_000);
    let input = json!({ "type": "object", "properties": { &endless: { "type": "string" } } });
    assert_eq!(harmless(&spec("f", input.clone(), None)), "await f(...) -> Any");
    let cut = harmless(&spec(&endless, input, Some(json!({ "properties": { &endless: {} } }))));
    assert_eq!(cut, format!("await {}...(...) -> dict", "x".repeat(500)));
}
