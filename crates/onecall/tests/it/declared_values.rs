//! Values follow the types that tools declare, on every way of calling them.

use serde_json::{Map, Value, json};

use crate::support::recorded_values::{FRAMEWORKS, check_values, recorded};
use crate::support::{Gateway, Home, finish, fixture, script};

/// What the frameworks' servers answered gives what their tools returned, whatever the data.
#[test]
fn annotated_tools_give_what_they_returned() {
    for framework in FRAMEWORKS {
        let recorded = recorded(framework);
        let tools: Vec<&Value> = recorded.iter().map(|it| &it.definition).collect();
        let on: Map<String, Value> = recorded
            .iter()
            .map(|it| (format!("tools/call {}", it.name()), json!([{ "answer": it.answer }])))
            .collect();
        let home = Home::new();
        home.write("script.json", json!({ "tools": tools, "on": on }).to_string());
        let server = fixture("v", &["--script-file", &home.text_path("script.json")]);
        home.write("config.json", json!({ "servers": [server] }).to_string());
        check_values(&mut Gateway::in_home(home), &recorded);
    }
}

/// A tool that returns a string which looks like JSON, one that breaks its own schema, and one
/// that answers with what it was given.
fn server() -> Value {
    let wrapper = |name: &str, result: Value| {
        json!({
            "name": name, "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true },
            "outputSchema": { "type": "object", "title": format!("{name}Output"),
                "properties": { "result": result }, "required": ["result"] },
        })
    };
    let text = json!([{ "type": "text", "text": "[1, 2]" }]);
    let string = json!({ "content": text, "structuredContent": { "result": "[1, 2]" } });
    let broken = json!({ "content": [], "structuredContent": { "result": 1, "more": "$count" } });
    script(
        "v",
        &json!({
            "tools": [
                wrapper("string", json!({ "type": "string" })),
                wrapper("broken", json!({ "type": "integer" })),
                { "name": "given", "inputSchema": { "type": "object", "properties": { "it": {} } } },
            ],
            "on": {
                "tools/call string": [{ "answer": string }],
                "tools/call broken": [{ "answer": broken }],
                "tools/call given": [{ "answer": { "content": [{ "type": "text", "text": "$params_text" }] } }],
            },
        }),
    )
}

#[test]
fn a_string_stays_a_string_on_every_way() {
    let config = json!({
        "servers": [server()],
        "cache": { "scope": "shared" },
        "records": "full",
        "expose_tools": ["mcp__v__string"],
    });
    let mut gateway = Gateway::with_config(&config);
    let three = "print([await mcp__v__string() for _ in range(3)])";
    assert_eq!(gateway.prints(three), "['[1, 2]', '[1, 2]', '[1, 2]']\n");
    let plan = json!({
        "target_tool": "mcp__v__given",
        "tool_args": { "it": { "__tool__": "mcp__v__string", "__transform__": "lambda it: it + '!'" } },
    });
    let answer = gateway.session.call_tool("proxy", plan).text;
    assert!(answer.contains(r#"{"it":"[1, 2]!"}"#), "{answer}");
    let direct = gateway.session.call_tool("mcp__v__string", json!({})).raw;
    assert_eq!(direct["structuredContent"], json!({ "result": "[1, 2]" }));

    let home = &gateway.home;
    // Another process takes the answer from the store.
    let other = home.run("import json\nprint(json.dumps(await mcp__v__string()))");
    assert_eq!(other.stdout, "\"[1, 2]\"\n", "{}", other.stderr);
    let called = finish(home.onecall_with_config(&["call", "mcp__v__string", "--raw"]));
    assert_eq!(called.stdout, "\"[1, 2]\"\n", "{}", called.stderr);
    let runs = finish(home.onecall_with_config(&["runs", "--json"]));
    let runs: Value = serde_json::from_str(&runs.stdout).expect("JSON");
    let is_program = |run: &&Value| run["kind"] == "program";
    let last = runs.as_array().unwrap().iter().find(is_program).expect("a program");
    let replayed =
        finish(home.onecall_with_config(&["runs", "replay", last["id"].as_str().unwrap()]));
    assert_eq!((replayed.code, &*replayed.stdout), (Some(0), "\"[1, 2]\"\n"), "{replayed:?}");
}

#[test]
fn an_answer_that_breaks_its_schema_is_given_as_sent_and_noted_once() {
    let mut gateway = Gateway::with_config(&json!({ "servers": [server()] }));
    let program = "for _ in range(2):\n    print(await mcp__v__broken())";
    let expected = "{'result': 1, 'more': 1}\n{'result': 1, 'more': 2}\n";
    assert_eq!(gateway.prints(program), expected);
    let words = "programs get its answers as they are sent";
    gateway.wait_for_log(&["WARN", words, "server=v", "broken"]);
    // The second answer has been read before the program printed.
    let log = gateway.session.client().stderr();
    assert_eq!(log.matches(words).count(), 1, "{log}");
}
