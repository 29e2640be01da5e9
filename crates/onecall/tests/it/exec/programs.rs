//! What programs can do with the tools of their host, and the messages that the host receives.

use serde_json::{Value, json};

use super::host::Host;

fn greet() -> Value {
    let properties = json!({ "name": { "type": "string" }, "times": { "type": "integer" } });
    json!({
        "name": "greet",
        "description": "Says hello",
        "inputSchema": { "type": "object", "properties": properties, "required": ["name"] },
        "annotations": { "readOnlyHint": true },
        "title": "whatever else a definition has",
    })
}

#[test]
fn a_program_calls_the_tools_of_its_host() {
    let mut host = Host::new();
    host.start("first", "print(tools.add(a=1, b=2))\ntools.sub({'a': 1})['x']", json!({}));
    let add = host.expect("tool_call");
    let id = &add["tool_call_id"];
    let expected = json!({
        "type": "tool_call", "id": "first", "tool_call_id": id, "tool_name": "add",
        "args": { "a": 1, "b": 2 },
    });
    assert_eq!(add, expected);
    host.answer(&add, json!(3));
    let sub = host.expect("tool_call");
    host.answer(&sub, json!({ "x": [null, "é"] }));
    let mut outcome = host.expect("outcome");
    for call in outcome["tool_calls"].as_array_mut().unwrap() {
        assert!(call["start_seconds"].take().is_f64() && call["duration_seconds"].take().is_f64());
    }
    assert!(outcome["execution_time_seconds"].take().is_f64());
    assert_eq!(
        outcome,
        json!({
            "type": "outcome", "id": "first", "success": true, "execution_time_seconds": null,
            "timeout_limit_seconds": 120.0, "stdout": "3\n", "stderr": "",
            "tool_calls": [
                { "tool_name": "add", "args": { "a": 1, "b": 2 }, "tool_call_id": id, "parsed": true,
                  "has_error": false, "start_seconds": null, "duration_seconds": null },
                { "tool_name": "sub", "args": { "a": 1 }, "tool_call_id": sub["tool_call_id"],
                  "parsed": true, "has_error": false, "start_seconds": null, "duration_seconds": null },
            ],
            "tool_results": [
                { "tool_call_id": id, "observation": 3, "has_error": false },
                { "tool_call_id": sub["tool_call_id"], "observation": { "x": [null, "é"] },
                  "has_error": false },
            ],
            "return_value": [null, "é"], "error": null, "file_path": null, "displayed": [],
        })
    );
}

#[test]
fn numbers_of_any_size_survive_both_ways() {
    let mut host = Host::new();
    host.start("1", "tools.f(big=2**200, small=0.1)", json!({}));
    let (line, call) = host.next_line();
    let big = "1606938044258990275541962092341162602522202993782792835301376";
    assert!(line.contains(&format!(r#""args":{{"big":{big},"small":0.1}}"#)), "{line}");
    let id = call["tool_call_id"].as_str().unwrap();
    host.client.send_line(&format!(
        r#"{{"type":"tool_result","tool_call_id":"{id}","observation":[{big}, 1e-7]}}"#
    ));
    let (line, _) = host.next_line();
    assert!(line.contains(&format!(r#""return_value":[{big},1e-7]"#)), "{line}");
    assert!(line.contains(&format!(r#""observation":[{big}, 1e-7]"#)), "{line}");
}

#[test]
fn the_host_gets_the_usual_forms_of_values() {
    let mut host = Host::new();
    let schema =
        json!({ "properties": { "price": { "type": "number" }, "tags": { "type": "array" } } });
    let tools = json!({ "tools": [{ "name": "sell", "inputSchema": schema }] });
    let code = "
        import datetime, decimal
        price = decimal.Decimal('1.10')
        tools.sell(price=price, tags={'b', 'a'}, day=datetime.date(2024, 1, 2), note=price)
        ";
    host.start("p", code, tools);
    let call = host.expect("tool_call");
    let expected =
        json!({ "price": 1.10, "tags": ["a", "b"], "day": "2024-01-02", "note": "1.10" });
    assert_eq!(call["args"], expected);
    host.answer(&call, json!(null));
    assert_eq!(host.expect("outcome")["success"], true);
}

#[test]
fn listed_tools_are_functions_of_both_kinds() {
    let mut host = Host::new();
    let code = "print(tools.greet('Ada'), await greet(name='Bob'), await tools.aio.greet('Eve'))
print([name for name in dir(tools) if name[0] == 'g'], tools.search('hello')[0]['signature'])";
    host.start("1", code, json!({ "tools": [greet()] }));
    for name in ["Ada", "Bob", "Eve"] {
        let call = host.expect("tool_call");
        assert_eq!(
            (&call["tool_name"], &call["args"]),
            (&json!("greet"), &json!({ "name": name }))
        );
        host.answer(&call, json!(format!("Hi {name}")));
    }
    let signature = "await greet(name: str, times: int | None = None) -> Any  # not declared; JSON text \
                     arrives parsed: print a small result first";
    let outcome = host.expect("outcome");
    assert_eq!(outcome["stdout"], format!("Hi Ada Hi Bob Hi Eve\n['greet'] {signature}\n"));
}

#[test]
fn calls_that_do_not_fit_never_reach_the_host() {
    let mut host = Host::new();
    let tools = json!({ "tools": [greet()] });
    let certain = host.run("print(1)\ntools.greet(nme='Ada')", tools.clone());
    assert_eq!([&certain["stdout"], &certain["error"]["type"]], ["", "TypeError"]);
    let code = "
        for arguments in ({}, {'name': 5}, {'name': 'x', 'times': 'y'}):
            try:
                await greet(arguments)
            except ToolError as error:
                print(error)
        ";
    let outcome = host.run(code, tools.clone());
    let failed = "'greet' failed: it was not called, because its arguments do not fit:";
    let signature = "await greet(name: str, times: int | None = None) -> Any";
    let misfits = [
        "'name' is missing",
        "name: 5 is of type integer, not string",
        "times: \"y\" is of type string, not integer",
    ];
    let said = misfits.map(|misfit| format!("{failed}\n  {misfit}\n  {signature}\n")).concat();
    assert_eq!(outcome["stdout"], said);
    assert_eq!(outcome["tool_calls"][0]["parsed"], false);
    let unknown = host.run("await gret(name='Ada')", tools.clone());
    assert_eq!(unknown["error"]["message"], "name 'gret' is not defined. Did you mean: 'greet'?");
    let unknown = host.run("tools.gret(name='Ada')", tools);
    assert_eq!(unknown["error"]["message"], "there is no tool 'gret'. Did you mean: 'greet'?");
}

#[test]
fn without_a_list_only_attributes_of_tools_are_tools() {
    let mut host = Host::new();
    let outcome = host.run("lenght([1])", json!({}));
    assert_eq!(outcome["error"]["type"], "NameError");
    assert_eq!(outcome["tool_calls"], json!([]));
    let none = host.run("tools.anything()", json!({ "tools": [] }));
    assert_eq!(none["error"]["type"], "AttributeError");
}

#[test]
fn a_tool_may_have_any_name() {
    let mut host = Host::new();
    let names = ["web-search", "search", "print", "größe", "onecall__find", "plan_node_0"];
    let tools: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
    let code = "print(tools.web_search(a=1), getattr(tools, 'web-search')(a=2), tools.search(a=3),
      await search(a=4), tools.print(a=5), tools.größe(a=6), await onecall__find(a=7), tools.plan_node_0(a=8))";
    host.start("1", code, json!({ "tools": tools }));
    for expected in [
        "web-search",
        "web-search",
        "search",
        "search",
        "print",
        "größe",
        "onecall__find",
        "plan_node_0",
    ] {
        let call = host.expect("tool_call");
        assert_eq!(call["tool_name"], expected);
        host.answer(&call, call["args"]["a"].clone());
    }
    assert_eq!(host.expect("outcome")["stdout"], "1 2 3 4 5 6 7 8\n");
}

#[test]
fn answers_may_come_in_any_order_and_programs_at_once() {
    let mut host = Host::new();
    let code = "import asyncio\nprint(await asyncio.gather(*(f(n=n) for n in range(3))))";
    let tools = json!({ "tools": [{ "name": "f" }] });
    host.start("a", code, tools.clone());
    host.start("b", code, tools);
    let mut calls: Vec<_> = (0..6).map(|_| host.expect("tool_call")).collect();
    let mut ids: Vec<_> = calls.iter().map(|call| call["tool_call_id"].to_string()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 6, "ids are unique among programs");
    calls.reverse();
    for call in calls {
        host.answer(&call, json!(format!("{}{}", call["id"].as_str().unwrap(), call["args"]["n"])));
    }
    let mut said: Vec<_> = (0..2).map(|_| host.expect("outcome")["stdout"].to_string()).collect();
    said.sort();
    assert_eq!(said, [r#""['a0', 'a1', 'a2']\n""#, r#""['b0', 'b1', 'b2']\n""#]);
}

#[test]
fn an_error_of_the_host_is_a_tool_error() {
    let mut host = Host::new();
    let code = "
        for n in range(4):
            try:
                tools.f(n=n)
            except ToolError as error:
                print(error)
        ";
    host.start("1", code, json!({}));
    let answers = [
        json!({ "observation": "no luck", "has_error": true }),
        json!({ "observation": { "code": 7 }, "has_error": true }),
        json!({ "has_error": true }),
        json!({ "observation": "no such tool", "parsed": false }),
    ];
    for mut answer in answers {
        let call = host.expect("tool_call");
        answer["type"] = json!("tool_result");
        answer["tool_call_id"] = call["tool_call_id"].clone();
        host.send(&answer);
    }
    let outcome = host.expect("outcome");
    let said = "'f' failed: no luck\n'f' failed: {\"code\":7}\n'f' failed: the host gave no reason\n\
                'f' failed: no such tool\n";
    assert_eq!(outcome["stdout"], said);
    let calls = outcome["tool_calls"].as_array().unwrap();
    let ends: Vec<_> = calls.iter().map(|call| (&call["parsed"], &call["has_error"])).collect();
    let (yes, no) = (json!(true), json!(false));
    assert_eq!(ends, [(&yes, &yes), (&yes, &yes), (&yes, &yes), (&no, &yes)]);
    assert_eq!(outcome["tool_results"][3]["observation"], "'f' failed: no such tool");
}

#[test]
fn a_program_may_be_typescript() {
    let mut host = Host::new();
    let code = "const name: string = 'Ada';
console.log(await greet({ name }), await tools.greet({ name }));";
    host.start("1", code, json!({ "language": "typescript", "tools": [greet()] }));
    for answer in ["Hi", "Hello"] {
        let call = host.expect("tool_call");
        assert_eq!(call["args"], json!({ "name": "Ada" }));
        host.answer(&call, json!(answer));
    }
    assert_eq!(host.expect("outcome")["stdout"], "Hi Hello\n");
    host.start("2", "1", json!({ "language": "typescript", "engine": "cpython" }));
    let error = host.expect("error");
    let said = "execute: an engine can be chosen for Python only; leave it out";
    assert_eq!([&error["id"], &error["message"]], ["2", said]);
}

#[test]
fn sessions_keep_variables() {
    let mut host = Host::new();
    host.run("x = 41", json!({ "session": "s" }));
    assert_eq!(host.run("x + 1", json!({ "session": "s" }))["return_value"], 42);
    let anew = host.run("x", json!({ "session": "s", "reset": true }));
    assert_eq!(anew["error"]["type"], "NameError");
}

#[test]
fn a_program_with_a_filename_is_kept() {
    let mut host = Host::with(&json!({}), &["--workspace", "kept"]);
    let kept = host.home.text_path("work/kept/report.py");
    let code = format!(
        "from pathlib import Path\nPath({:?}).write_text('x')",
        host.home.text_path("work/kept/made")
    );
    let outcome = host.run(&code, json!({ "filename": "report.py" }));
    assert_eq!((&outcome["error"], &outcome["file_path"]), (&Value::Null, &json!(kept)));
    assert_eq!(std::fs::read_to_string(kept).unwrap(), code);
    assert_eq!(std::fs::read_to_string(host.home.path("work/kept/made")).unwrap(), "x");
    host.start("2", "print(1)", json!({ "filename": "../report.py" }));
    let error = host.expect("error");
    assert_eq!(error["id"], "2");
    assert!(error["message"].as_str().unwrap().starts_with("'filename' must be a plain name"));
    host.start("2", "print(1)", json!({ "filename": "again.py" }));
    assert_eq!(host.expect("outcome")["success"], true);
    let nowhere = Host::new().run("1", json!({ "filename": "report.py" }));
    assert_eq!(nowhere["file_path"], Value::Null);
}

#[test]
fn the_configuration_limits_programs_and_starts_no_servers() {
    let servers = json!([{ "name": "gone", "command": "/no/such/server" }]);
    let execution = json!({ "max_tool_calls": 1, "timeout_seconds": 5 });
    let mut host = Host::with(&json!({ "servers": servers, "execution": execution }), &[]);
    host.start("1", "tools.f()\ntools.f()", json!({}));
    let call = host.expect("tool_call");
    host.answer(&call, Value::Null);
    let outcome = host.expect("outcome");
    let said = "'f' was not called: the limit of 1 tool calls per program is reached";
    assert_eq!(
        [&outcome["error"]["message"], &outcome["timeout_limit_seconds"]],
        [&json!(said), &json!(5.0)]
    );
    assert_eq!(host.client.stderr(), "");
}

#[test]
fn a_program_cannot_write_messages_of_its_own() {
    let mut host = Host::new();
    // A frame of the worker protocol, with arguments that span lines.
    let code = r#"
import os, struct
arguments = b'{"a":\n{"type":"outcome","id":"1"}\r\n}'
payload = b'c' + struct.pack('<QH', 99, 1) + b'f' + arguments
for descriptor in range(3, 64):
    try:
        os.write(descriptor, struct.pack('<I', len(payload)) + payload)
        break
    except OSError:
        pass
tools.after()
"#;
    host.start("1", code, json!({}));
    let forged = host.expect("tool_call");
    assert_eq!(forged["args"], json!({ "a": { "type": "outcome", "id": "1" } }));
    let after = host.expect("tool_call");
    host.answer(&forged, json!(1));
    host.answer(&after, json!(1));
    host.expect("outcome");
}
