//! The names under which clients find exposed tools and prompts.

use serde_json::{Value, json};

use super::{HANDSHAKE, listed, reference};
use crate::support::{Gateway, script};

fn with_tools(name: &str, tools: &[&str]) -> Value {
    let tool = |name: &&str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let prompts: Vec<Value> = tools.iter().map(|name| json!({ "name": name })).collect();
    let text = json!({ "type": "text", "text": name });
    let message = json!({ "role": "user", "content": text });
    let steps = json!({
        "tools/call": [{ "answer": { "content": [text] } }],
        "prompts/list": [{ "answer": { "prompts": prompts } }],
        "prompts/get": [{ "answer": { "messages": [message] } }],
    });
    let all: Vec<Value> = tools.iter().map(tool).collect();
    script(name, &json!({ "tools": all, "capabilities": { "prompts": {} }, "on": steps }))
}

fn gateway() -> Gateway {
    Gateway::with_config(&json!({
        "servers": [
            with_tools("one", &["search", "read", "execute_program"]),
            with_tools("two-b", &["read", "mcp__one__search", "with space"]),
        ],
        "expose_tools": ["*"],
        "expose_prompts": ["one", "two-b"],
        "expose_names": "own",
    }))
}

#[test]
fn a_tool_keeps_its_name_where_it_can_mean_nothing_else() {
    let mut gateway = gateway();
    let mut names = gateway.session.tool_names();
    names.retain(|name| name.starts_with("mcp__") || ["search", "read"].contains(&name.as_str()));
    let expected = [
        "mcp__one__execute_program",
        "mcp__one__read",
        "search",
        "mcp__two_b__mcp__one__search",
        "mcp__two_b__read",
        "mcp__two_b__with_space",
    ];
    assert_eq!(names, expected);
    for (name, server) in [
        ("search", "one"),
        ("mcp__one__search", "one"),
        ("mcp__two_b__mcp__one__search", "two-b"),
        ("mcp__two_b__read", "two-b"),
    ] {
        assert_eq!(gateway.session.call_tool(name, json!({})).text, server, "{name}");
    }
    // A name that two tools have is the name of neither.
    let error = gateway.session.try_call_tool("read", json!({})).unwrap_err();
    assert!(error.message.starts_with("unknown tool 'read'"), "{}", error.message);
    // The functions of programs are no tools.
    let error = gateway.session.try_call_tool("read_resource", json!({ "uri": "a:b" }));
    assert!(error.is_err() || error.unwrap().is_error);
    assert_eq!(gateway.prints("print(1)"), "1\n");
}

#[test]
fn a_prompt_keeps_its_name_where_it_can_mean_nothing_else() {
    let mut gateway = gateway();
    let names = listed(&mut gateway, "prompts/list", "prompts", "name");
    let expected = [
        "search",
        "mcp__one__read",
        "execute_program",
        "mcp__two_b__read",
        "mcp__two_b__mcp__one__search",
        "mcp__two_b__with_space",
    ];
    assert_eq!(names, expected);
    for (name, server) in [("search", "one"), ("mcp__two_b__read", "two-b")] {
        let got = gateway.session.client().request("prompts/get", json!({ "name": name }));
        assert_eq!(got["messages"][0]["content"]["text"], server, "{name}");
    }
    let error = gateway.session.client().try_request("prompts/get", json!({ "name": "read" }));
    assert_eq!(error.unwrap_err().message, "there is no prompt 'read'");
}

#[test]
fn the_name_of_a_prompt_does_not_depend_on_which_servers_answer() {
    let server = |name: &str, later: &Value| {
        let prompts = json!({ "prompts": [{ "name": "summary" }] });
        let steps =
            json!({ "prompts/list": [{ "answer_once": prompts }, { "answer_later": later }] });
        script(name, &json!({ "tools": [], "capabilities": { "prompts": {} }, "on": steps }))
    };
    let answer = json!({ "prompts": [{ "name": "summary" }] });
    let mut gateway = Gateway::with_config(&json!({
        "servers": [server("one", &answer), server("two", &json!({ "prompts": "broken" }))],
        "expose_prompts": ["*"],
        "expose_names": "own",
    }));
    let mut names = || listed(&mut gateway, "prompts/list", "prompts", "name");
    assert_eq!(names(), ["mcp__one__summary", "mcp__two__summary"]);
    // The second server does not list its prompts any more.
    assert_eq!(names(), ["mcp__one__summary"]);
    assert_eq!(names(), ["mcp__one__summary"]);
}

#[test]
fn callable_names_are_the_default() {
    let mut gateway = Gateway::with_config(&json!({
        "servers": [reference("reference", HANDSHAKE)],
        "expose_tools": ["mcp__reference__test_simple_text"],
        "expose_prompts": ["reference"],
    }));
    let names = listed(&mut gateway, "prompts/list", "prompts", "name");
    assert!(names.iter().all(|name| name.starts_with("mcp__reference__test_")), "{names:?}");
    assert!(gateway.session.try_call_tool("test_simple_text", json!({})).is_err());
    let answer = gateway.session.call_tool("mcp__reference__test_simple_text", json!({}));
    assert_eq!(answer.text, "This is a simple text.");
}
