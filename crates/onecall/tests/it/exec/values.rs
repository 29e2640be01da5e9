//! What becomes of answers and results: texts that are JSON, the variable `result`, and
//! coroutines named `async_…`. Each in both Python engines.

use serde_json::{Value, json};

use super::host::Host;

const ENGINES: [&str; 2] = ["python", "cpython"];

/// Answers a call with a string that is the text of an answer.
fn answer_text(host: &mut Host, call: &Value, text: &str) {
    let id = &call["tool_call_id"];
    host.send(&json!({
        "type": "tool_result", "tool_call_id": id, "observation": text, "is_text": true,
    }));
}

#[test]
fn a_text_is_parsed_unless_a_string_is_declared() {
    let mut host = Host::new();
    let with = |schema: Value| json!({ "tools": [{ "name": "f", "outputSchema": schema }] });
    let (rows, text) = (json!({ "type": "array" }), json!({ "type": "string" }));
    let maybe = json!({ "type": ["string", "null"] });
    // What it declares, whether the answer is a text, the answer, and what the program sees.
    let cases = [
        (json!({}), true, "[1, 2]", "[1, 2]"),
        (json!({}), true, "12", "12"),
        (json!({}), true, "words", "'words'"),
        (json!({}), false, "[1, 2]", "'[1, 2]'"),
        (with(rows.clone()), true, "[1, 2]", "[1, 2]"),
        (with(rows.clone()), false, "[1, 2]", "[1, 2]"),
        (with(rows), false, "words", "'words'"),
        (with(text.clone()), true, "[1, 2]", "'[1, 2]'"),
        (with(text), false, "12", "'12'"),
        (with(maybe), true, "null", "'null'"),
        (with(json!({})), true, "null", "None"),
    ];
    for engine in ENGINES {
        for (tools, is_text, answer, expected) in &cases {
            let mut more = tools.clone();
            more["engine"] = json!(engine);
            host.start("1", "print(repr(tools.f()))", more);
            let call = host.expect("tool_call");
            match is_text {
                true => answer_text(&mut host, &call, answer),
                false => host.answer(&call, json!(answer)),
            }
            let outcome = host.expect("outcome");
            assert_eq!(outcome["stdout"], format!("{expected}\n"), "{tools} {is_text} {answer}");
        }
    }
}

#[test]
fn in_typescript_a_text_is_parsed_too() {
    let mut host = Host::new();
    let code = "console.log(await tools.f(), await tools.async_f());";
    host.start("1", code, json!({ "language": "typescript" }));
    for text in ["[1, 2]", "words"] {
        let call = host.expect("tool_call");
        assert_eq!(call["tool_name"], "f");
        answer_text(&mut host, &call, text);
    }
    assert_eq!(host.expect("outcome")["stdout"], "[ 1, 2 ] words\n");
}

#[test]
fn the_variable_result_is_the_return_value() {
    let mut host = Host::new();
    for engine in ENGINES {
        let cases = [
            ("result = [1]", json!([1])),
            ("result = 1\nprint('x')", json!(1)),
            ("result = 1\n2", json!(2)),
            ("import asyncio\nawait asyncio.sleep(0)\nresult = {'a': 1}", json!({ "a": 1 })),
            ("try:\n    result: int = 3\nfinally:\n    pass", json!(3)),
            ("class C:\n    result = 1\n    def result(self): pass", json!(null)),
            ("f = lambda: (result := 1)\nf()\nNone", json!(null)),
            ("result = {1, 2}", json!(null)),
        ];
        for (code, expected) in cases {
            let outcome = host.run(code, json!({ "engine": engine }));
            assert_eq!((&outcome["return_value"], &outcome["error"]), (&expected, &json!(null)));
        }
    }
}

#[test]
fn a_session_gives_no_result_twice() {
    let mut host = Host::new();
    let session = json!({ "session": "s" });
    assert_eq!(host.run("result = 7", session.clone())["return_value"], 7);
    let second = host.run("kept = result", session.clone());
    assert_eq!((&second["return_value"], &second["error"]), (&json!(null), &json!(null)));
    assert_eq!(host.run("result = 7", session)["return_value"], 7);
}

#[test]
fn a_prefix_makes_a_coroutine_of_a_tool() {
    let mut host = Host::new();
    let code = "
        import asyncio
        calls = [tools.async_f(n=n) for n in range(2)]
        print(await asyncio.gather(*calls), tools.f(n=2))
        ";
    for engine in ENGINES {
        for tools in [json!(null), json!([{ "name": "f" }])] {
            host.start("1", code, json!({ "tools": tools, "engine": engine }));
            for _ in 0..3 {
                let call = host.expect("tool_call");
                assert_eq!(call["tool_name"], "f");
                host.answer(&call, call["args"]["n"].clone());
            }
            assert_eq!(host.expect("outcome")["stdout"], "[0, 1] 2\n");
        }
    }
}

#[test]
fn a_tool_whose_own_name_has_the_prefix_is_called_by_it() {
    let mut host = Host::new();
    let tools = json!({ "tools": [{ "name": "async_f" }, { "name": "f" }] });
    let code = "print(tools.async_f(), await tools.async_async_f())";
    host.start("1", code, tools.clone());
    for _ in 0..2 {
        let call = host.expect("tool_call");
        assert_eq!(call["tool_name"], "async_f");
        host.answer(&call, json!(1));
    }
    assert_eq!(host.expect("outcome")["stdout"], "1 1\n");
    let unknown = host.run("await tools.async_g()", tools);
    let said = "there is no tool 'async_g'. Did you mean: 'async_f'?";
    assert_eq!((&unknown["error"]["message"], &unknown["tool_calls"]), (&json!(said), &json!([])));
}

#[test]
fn a_coroutine_that_nobody_awaits_is_told() {
    let mut host = Host::new();
    let outcome = host.run("tools.async_f()\nprint('end')", json!({}));
    assert_eq!(outcome["error"]["message"], "f() was never awaited");
    // Its arguments are judged as those of the tool, and only when it is awaited.
    let schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let tools = json!({ "tools": [{ "name": "f", "inputSchema": schema }] });
    let code = "
        import asyncio
        found = await asyncio.gather(tools.async_f(n=1), return_exceptions=True)
        print(type(found[0]).__name__)
        ";
    let outcome = host.run(code, tools);
    assert_eq!(outcome["stdout"], "ToolError\n", "{}", outcome["error"]);
}
