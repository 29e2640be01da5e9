//! The line a model copies to call a tool.

use insta::assert_snapshot;
use onecall_catalog::python_signature;
use onecall_core::{CallableName, ServerName, ToolAnnotations, ToolName, ToolSpec};
use serde_json::{Value, json};

fn signature(name: &str, input_schema: Value, output_schema: Option<Value>) -> String {
    python_signature(&ToolSpec {
        callable: CallableName::new(name),
        server: ServerName::new("server"),
        tool: ToolName::new("tool"),
        description: None,
        input_schema: input_schema.into(),
        output_schema: output_schema.map(Into::into),
        annotations: ToolAnnotations::default(),
    })
}

#[test]
fn an_ordinary_tool() {
    let input = json!({
        "type": "object",
        "properties": {
            "region": { "type": "string" },
            "limit": { "type": "integer", "default": 10 },
            "tags": { "type": "array", "items": { "type": "string" } },
            "status": { "enum": ["open", "paid"], "default": "open" },
        },
        "required": ["region"],
    });
    let output = json!({
        "type": "object",
        "properties": { "result": { "type": "array", "items": { "type": "object", "properties": {
            "id": { "type": "integer" }, "total": { "type": "number" },
        } } } },
        "required": ["result"],
        "x-fastmcp-wrap-result": true,
    });
    assert_snapshot!(signature("mcp__sales__orders", input, Some(output)));
}

#[test]
fn a_pydantic_tool_with_references() {
    let input = json!({
        "type": "object",
        "$defs": {
            "Priority": { "enum": ["low", "high"], "type": "string" },
            "Address": {
                "type": "object",
                "properties": { "street": { "type": "string" }, "zip": { "type": "string" } },
                "required": ["street"],
            },
        },
        "properties": {
            "customer": { "type": "object", "required": ["name", "address"], "properties": {
                "name": { "type": "string" },
                "address": { "$ref": "#/$defs/Address" },
                "born": { "anyOf": [{ "type": "string", "format": "date" }, { "type": "null" }] },
            } },
            "priority": { "allOf": [{ "$ref": "#/$defs/Priority" }], "default": "low" },
            "note": { "anyOf": [{ "type": "string" }, { "type": "null" }], "default": null },
        },
        "required": ["customer"],
    });
    assert_snapshot!(signature("mcp__crm__create", input, None));
}

#[test]
fn a_required_parameter_after_an_optional_one() {
    let input = json!({
        "type": "object",
        "properties": {
            "limit": { "type": "integer", "default": 10 },
            "cursor": { "type": ["string", "null"] },
            "owner": { "type": "string" },
            "dry_run": { "type": "boolean", "default": false },
            "repo": { "type": "string" },
        },
        "required": ["owner", "repo"],
    });
    assert_snapshot!(signature("mcp__github__list_issues", input, None));
}

#[test]
fn names_that_are_no_keywords() {
    let input = json!({
        "type": "object",
        "properties": {
            "from": { "type": "string" },
            "max-results": { "type": "integer" },
            "filter": { "type": "object", "properties": { "a'b": { "type": "number" } } },
        },
        "required": ["from"],
    });
    assert_snapshot!(signature("mcp__mail__search", input, None));
}

#[test]
fn deep_and_long_results_lose_detail() {
    let item = json!({ "type": "object", "properties": { "id": { "type": "integer" },
        "owner": { "type": "object", "properties": { "login": { "type": "string" },
            "plan": { "type": "object", "properties": { "name": { "type": "string" } } } } } } });
    let output = json!({ "type": "object", "properties": {
        "total": { "type": "integer" },
        "labels": { "type": "object", "additionalProperties": { "type": "integer" } },
        "items": { "type": "array", "items": item },
    } });
    assert_snapshot!(signature("mcp__github__search", json!({ "type": "object" }), Some(output)));
}

#[test]
fn every_kind_of_type() {
    for (schema, expected) in [
        (json!({ "type": "string" }), "str"),
        (json!({ "type": "integer" }), "int"),
        (json!({ "type": "number" }), "float"),
        (json!({ "type": "boolean" }), "bool"),
        (json!({ "type": "null" }), "None"),
        (json!({ "type": "array" }), "list"),
        (json!({ "type": "array", "items": {} }), "list[Any]"),
        (json!({ "type": "object" }), "dict"),
        (json!({ "type": ["string", "integer", "null"] }), "str | int | None"),
        (json!({ "type": "string", "nullable": true }), "str | None"),
        (json!({ "const": "fixed" }), "Literal['fixed']"),
        (json!({ "enum": [1, 2, null, true] }), "Literal[1, 2, None, True]"),
        (json!({ "enum": ["a", "b", "c", "d", "e", "f", "g", "h", "i"] }), "str"),
        (json!({ "enum": ["a", "b", "c", "d", "e", "f", "g", "h", null] }), "str | None"),
        (json!({ "enum": [] }), "Any"),
        (json!({ "oneOf": [{ "type": "string" }, {}] }), "Any"),
        (json!({ "$ref": "https://example.com/schema.json" }), "Any"),
        (json!({ "$ref": "#/$defs/missing" }), "Any"),
        (json!({ "$ref": "#" }), "dict"),
        (json!({ "type": "tuple" }), "Any"),
        (json!({ "type": 7, "properties": 7 }), "dict"),
        (json!({}), "Any"),
        (json!(true), "Any"),
        (json!("nonsense"), "Any"),
    ] {
        let input = json!({ "type": "object", "properties": { "x": schema }, "required": ["x"] });
        assert_eq!(signature("f", input, None), format!("await f(x: {expected}) -> Any"));
    }
}

#[test]
fn every_kind_of_default() {
    for (default, expected) in [
        (json!(null), "int | None = None"),
        (json!(true), "int = True"),
        (json!(-1.5), "int = -1.5"),
        (json!("a'\n"), r"int = 'a\'\n'"),
        (json!([]), "int = []"),
        (json!({}), "int = {}"),
        (json!([1]), "int = ..."),
        (json!("x".repeat(100)), "int = ..."),
    ] {
        let schema = json!({ "type": "integer", "default": default });
        let input = json!({ "type": "object", "properties": { "x": schema } });
        assert_eq!(signature("f", input, None), format!("await f(x: {expected}) -> Any"));
    }
}

#[test]
fn schemas_without_properties() {
    for (input, expected) in [
        (json!({ "type": "object" }), "await f() -> Any"),
        (json!({ "type": "object", "properties": {} }), "await f() -> Any"),
        (json!({ "type": "object", "additionalProperties": true }), "await f(**arguments) -> Any"),
        (json!({ "anyOf": [] }), "await f(**arguments) -> Any"),
        (json!(null), "await f() -> Any"),
        (json!([1]), "await f() -> Any"),
    ] {
        assert_eq!(signature("f", input, None), expected);
    }
}
