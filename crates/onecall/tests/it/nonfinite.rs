//! NaN and infinities in what servers send: JSON does not have them, many encoders write them.

use serde_json::{Value, json};

use crate::support::{Gateway, Home, finish, has_system_python, printed, script};

const DATA: &str = r#"{"a": [NaN, Infinity, -Infinity, 1], "s": "NaN"}"#;

/// Answers with the data as text, as structured content, as a wrapped result, and as a batch.
fn server() -> Value {
    let tool = |name: &str, output: Option<Value>| {
        let mut tool = json!({
            "name": name, "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true },
        });
        if let Some(output) = output {
            tool["outputSchema"] = output;
        }
        tool
    };
    let wrapper = json!({
        "type": "object", "title": "wrappedOutput", "required": ["result"],
        "properties": { "result": { "type": "array", "items": { "type": "number" } } },
    });
    let line = |result: String| format!(r#"{{"jsonrpc":"2.0","id":$id,"result":{result}}}"#);
    let text = json!([{ "type": "text", "text": DATA }]);
    let structured = line(format!(r#"{{"content":[],"structuredContent":{DATA}}}"#));
    let wrapped = line(r#"{"content":[],"structuredContent":{"result":[NaN,0.5]}}"#.to_owned());
    script(
        "v",
        &json!({
            "tools": [
                tool("text", None), tool("structured", Some(json!({ "type": "object" }))),
                tool("wrapped", Some(wrapper)), tool("batch", None), tool("broken", None),
            ],
            "on": {
                "tools/call text": [{ "answer": { "content": text } }],
                "tools/call structured": [{ "text": structured }],
                "tools/call wrapped": [{ "text": wrapped }],
                "tools/call batch": [{ "text": format!("[{structured}]") }],
                "tools/call broken": [{ "text": line("{NaN}".to_owned()) }],
            },
        }),
    )
}

const CALLS: &str =
    "[await it() for it in (mcp__v__text, mcp__v__structured, mcp__v__batch, mcp__v__wrapped)]";

#[test]
fn programs_get_numbers() {
    let mut gateway = Gateway::with_config(&json!({ "servers": [server()], "cache": {} }));
    let python = format!("for _ in range(2):\n    for value in {CALLS}:\n        print(value)");
    let data = "{'a': [nan, inf, -inf, 1], 's': 'NaN'}\n";
    let expected = format!("{}[nan, 0.5]\n", data.repeat(3)).repeat(2);
    for engine in ["python", "cpython"].into_iter().take(1 + usize::from(has_system_python())) {
        assert_eq!(printed(&gateway.execute_on(engine, &python)), expected, "{engine}");
    }
    let typescript = "for (const it of [mcp__v__text, mcp__v__structured, mcp__v__batch, mcp__v__wrapped])\n  console.log(await it());";
    let data = "{ a: [ NaN, Infinity, -Infinity, 1 ], s: 'NaN' }\n";
    let expected = format!("{}[ NaN, 0.5 ]\n", data.repeat(3));
    assert_eq!(printed(&gateway.execute_typescript(typescript)), expected);
}

#[test]
fn a_line_that_is_broken_beyond_that_fails_its_call_alone() {
    let mut gateway = Gateway::with_config(&json!({ "servers": [server()] }));
    let code = "
        try:
            await mcp__v__broken()
        except ToolError as error:
            print(error)
        print(await mcp__v__wrapped())
    ";
    let expected = "'mcp__v__broken' failed: the answer is not valid JSON: key must be a string at line 1 column 35";
    assert_eq!(gateway.prints(code), format!("{expected}\n[nan, 0.5]\n"));
}

#[test]
fn where_json_goes_out_they_are_null() {
    let config =
        json!({ "servers": [server()], "expose_tools": ["mcp__v__structured"], "records": "full" });
    let mut gateway = Gateway::with_config(&config);
    let nulls = json!({ "a": [null, null, null, 1], "s": "NaN" });
    let direct = gateway.session.call_tool("mcp__v__structured", json!({})).raw;
    assert_eq!(direct["structuredContent"], nulls);
    let plan = json!({ "target_tool": "mcp__v__structured", "tool_args": {} });
    assert_eq!(gateway.session.call_tool("proxy", plan).raw["structuredContent"], nulls);

    let home = Home::with_config(&config);
    for tool in ["mcp__v__text", "mcp__v__structured"] {
        let ended = finish(home.onecall_with_config(&["call", tool]));
        assert_eq!(serde_json::from_str::<Value>(&ended.stdout).unwrap(), nulls, "{ended:?}");
    }
    let program =
        home.write("program.py", "await mcp__v__text()\nprint(await mcp__v__wrapped())\n");
    let ended =
        finish(home.onecall_with_config(&["run", "--json", &program.display().to_string()]));
    let transcript: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let results = transcript["tool_results"].as_array().unwrap();
    let observed: Vec<&Value> = results.iter().map(|it| &it["observation"]).collect();
    assert_eq!(observed, [&nulls, &json!([null, 0.5])], "{transcript}");
    // A record has them as they were, so a replay gets the same numbers.
    let runs = finish(home.onecall_with_config(&["runs", "--json"]));
    let runs: Value = serde_json::from_str(&runs.stdout).expect("JSON");
    let replayed =
        finish(home.onecall_with_config(&["runs", "replay", runs[0]["id"].as_str().unwrap()]));
    assert_eq!((replayed.code, &*replayed.stdout), (Some(0), "[nan, 0.5]\n"), "{replayed:?}");
}
