//! Tools of a published server that a client calls itself, against what it sees without us.

use std::process::Command;

use serde_json::{Value, json};
use testkit::mcp::Session;

use super::servers::entry;
use crate::support::{Gateway, Home};

#[test]
fn definitions_and_results_are_the_servers_own() {
    let home = Home::new();
    let Some(entry) = entry("everything", &home) else { return };
    let mut command = Command::new(entry["command"].as_str().unwrap());
    command.args(entry["args"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()));
    command.env("PASSED", "on");
    let mut bare = Session::open(command);
    let config = json!({ "servers": [entry], "expose_tools": ["mcp__everything__*"] });
    home.write("config.json", config.to_string());
    let mut gateway = Gateway::in_home(home);
    gateway.callable_tools();

    let callable = |name: &str| format!("mcp__everything__{}", name.replace('-', "_"));
    let mut expected = bare.list_tools();
    for tool in &mut expected {
        tool["name"] = json!(callable(tool["name"].as_str().unwrap()));
        // Ours has no tasks, so how a tool goes with them is nothing it could say.
        tool.as_object_mut().unwrap().remove("execution");
    }
    expected.sort_by_key(|tool| tool["name"].as_str().unwrap().to_owned());
    let mut listed = gateway.session.list_tools();
    listed.retain(|tool| tool["name"].as_str().unwrap().starts_with("mcp__"));
    assert_eq!(listed, expected);

    for (tool, arguments) in [
        ("echo", json!({ "message": "é \u{1f600}" })),
        ("get-sum", json!({ "a": 0.1, "b": 2 })),
        ("get-sum", json!({ "a": "no number" })),
        ("get-structured-content", json!({ "location": "Chicago" })),
        ("get-tiny-image", json!({})),
        ("get-annotated-message", json!({ "messageType": "error", "includeImage": true })),
        ("get-resource-links", json!({ "count": 2 })),
        ("get-resource-reference", json!({ "resourceType": "Text", "resourceId": 1 })),
    ] {
        let expected = bare.try_call_tool(tool, arguments.clone()).map(|it| it.raw);
        let answer = gateway.session.call_tool(&callable(tool), arguments).raw;
        assert_eq!(comparable(answer), comparable(expected.unwrap()), "{tool}");
    }
}

/// Some answers say when they were made; and whether a number is written as `1` or `1.0`
/// says nothing.
fn comparable(answer: Value) -> Value {
    match answer {
        Value::Array(all) => all.into_iter().map(comparable).collect(),
        Value::Object(all) => all.into_iter().map(|(key, it)| (key, comparable(it))).collect(),
        Value::String(text) => {
            let is_time = |word: &&str| word.matches(':').count() == 2;
            text.split(' ').filter(|word| !is_time(word)).collect::<Vec<_>>().join(" ").into()
        }
        Value::Number(number) => number.as_f64().into(),
        other => other,
    }
}
