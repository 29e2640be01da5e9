//! How an agent finds out what its programs can call.

use serde_json::{Value, json};
use testkit::bins;
use testkit::mcp::{Session, ToolAnswer};

use crate::support::Gateway;

#[test]
fn five_tools_are_shown() {
    let names = Gateway::new().session.tool_names();
    let expected =
        ["execute_program", "search_tools", "list_callable_tools", "inspect_tool", "proxy"];
    assert_eq!(names, expected);
}

#[test]
fn callable_tools_are_listed_in_order() {
    let mut fixture = Session::open(bins::fixture_command(&[]));
    let mut expected: Vec<String> = fixture
        .tool_names()
        .iter()
        .map(|name| format!("mcp__fixture__{}", name.replace(['-', '.'], "_")))
        .collect();
    expected.sort();
    let answer = Gateway::new().session.call_tool("list_callable_tools", json!({}));
    assert_eq!((answer.text, answer.is_error), (json!(expected).to_string(), false));
}

fn inspect(gateway: &mut Gateway, name: &str) -> ToolAnswer {
    gateway.session.call_tool("inspect_tool", json!({ "tool_name": name }))
}

#[test]
fn a_tool_can_be_inspected() {
    let mut gateway = Gateway::new();
    let with_output: Value =
        serde_json::from_str(&inspect(&mut gateway, "mcp__fixture__add").text).unwrap();
    assert_eq!(
        with_output,
        json!({
            "name": "mcp__fixture__add",
            "description": "Adds two numbers.",
            "signature": "await mcp__fixture__add(a: float, b: float) -> float",
            "typescript": "await mcp__fixture__add({ a: number; b: number }): Promise<number>",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "a": { "type": "number", "description": "First number" },
                    "b": { "type": "number", "description": "Second number" },
                },
                "required": ["a", "b"],
            },
            "outputSchema": {
                "type": "object",
                "properties": { "result": { "type": "number" } },
                "required": ["result"],
                "title": "addOutput",
            },
            "note": "Programs get the value of result itself.",
        })
    );
    let without: Value =
        serde_json::from_str(&inspect(&mut gateway, "mcp__fixture__nothing").text).unwrap();
    assert_eq!(
        without,
        json!({
            "name": "mcp__fixture__nothing",
            "description": "Answers without any content.",
            "signature": "await mcp__fixture__nothing() -> Any  # not declared; JSON text arrives parsed: print a small result first",
            "typescript": "await mcp__fixture__nothing(): Promise<unknown>  // not declared; JSON text arrives parsed: print a small result first",
            "inputSchema": { "type": "object", "properties": {} },
            "outputSchema": null,
            "note": "The server declares no output schema: print a small result first to see its \
                     shape. Images and resources beside text are in its .content.",
        })
    );
}

#[test]
fn an_unknown_tool_is_answered_with_the_nearest() {
    let mut gateway = Gateway::new();
    let cases = [
        ("mcp__fixture__ad", "\nDid you mean: 'mcp__fixture__add'?"),
        ("mcp__fixture__Weather", "\nDid you mean: 'mcp__fixture__weather'?"),
        ("zzz", ""),
        ("", ""),
    ];
    for (name, nearest) in cases {
        let answer = inspect(&mut gateway, name);
        let text = format!("[Tool not found] '{name}' is not available in execute_program");
        assert_eq!((answer.text, answer.is_error), (text + nearest, true));
    }
}

#[test]
fn wrong_arguments_are_explained() {
    let mut gateway = Gateway::new();
    let cases = [
        (
            "execute_program",
            json!({}),
            "[Script execution failed]\nexecute_program: 'code' is missing",
        ),
        (
            "execute_program",
            json!({ "code": ["print(1)"] }),
            "[Script execution failed]\nexecute_program: 'code' must be a string",
        ),
        (
            "execute_program",
            json!({ "code": null }),
            "[Script execution failed]\nexecute_program: 'code' must be a string",
        ),
        ("inspect_tool", json!({}), "inspect_tool: 'tool_name' is missing"),
        ("inspect_tool", json!({ "tool_name": 5 }), "inspect_tool: 'tool_name' must be a string"),
    ];
    for (tool, arguments, text) in cases {
        let answer = gateway.session.call_tool(tool, arguments);
        assert_eq!((answer.text.as_str(), answer.is_error), (text, true));
    }
    let error = gateway.session.try_call_tool("no_such_tool", json!({})).unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (
            -32602,
            "unknown tool 'no_such_tool'; this server has execute_program, search_tools, \
             list_callable_tools, inspect_tool, proxy"
        )
    );
}

#[test]
fn a_name_of_megabytes_is_answered_at_once() {
    let mut gateway = Gateway::new();
    let answer = inspect(&mut gateway, &"mcp__fixture__".repeat(1_000_000));
    assert!(answer.is_error && answer.text.starts_with("[Tool not found] 'mcp__fixture__mcp__"));
    let plan = json!({ "target_tool": "x".repeat(10_000_000), "tool_args": {} });
    assert!(gateway.session.call_tool("proxy", plan).is_error);
}
