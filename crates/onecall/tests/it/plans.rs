//! Plans: one tool whose arguments come from other tools.

#![expect(clippy::print_stderr, reason = "a skipped check is to be seen")]

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::mcp::ToolAnswer;
use testkit::remote::HttpFixture;

use crate::support::{Gateway, Home, finish, fixture, script as script_server};

const FAILED: &str = "[Script execution failed]\n";

/// Runs a plan. A plan that needs no interpreter is also run by one, with an equal result.
fn proxy(gateway: &mut Gateway, plan: Value) -> ToolAnswer {
    let by_program = interpreted(&plan);
    let answer = gateway.session.call_tool("proxy", plan);
    if let Some(plan) = by_program {
        let by_program = gateway.session.call_tool("proxy", plan.clone());
        assert_eq!(answer.raw.to_string(), by_program.raw.to_string(), "{plan}");
    }
    answer
}

/// The plan with empty Python definitions, so that an interpreter runs it; `None` if it has Python
/// already.
fn interpreted(plan: &Value) -> Option<Value> {
    if plan.get("definitions").is_some() || plan.to_string().contains("__transform__") {
        return None;
    }
    let mut plan = plan.clone();
    plan["definitions"] = "".into();
    Some(plan)
}

/// The text of a plan that must succeed.
fn answered(gateway: &mut Gateway, plan: Value) -> String {
    let answer = proxy(gateway, plan);
    assert!(!answer.is_error, "{}", answer.text);
    answer.text
}

/// The reason in a plan that must fail.
fn failed(gateway: &mut Gateway, plan: Value) -> String {
    let answer = proxy(gateway, plan);
    assert!(answer.is_error, "{}", answer.text);
    answer.text.strip_prefix(FAILED).expect("a failure begins like one").to_owned()
}

/// A home with a database and the server of `tests/plans`; `None` without a Python.
fn charts() -> Option<Home> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/plans");
    let home = Home::new();
    let make = "import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute('create table orders (day integer, sales real)')
rows = [(1, 10), (2, 12), (3, 11), (4, 900), (5, 13), (6, 12)]
connection.executemany('insert into orders values (?, ?)', rows)
connection.commit()";
    let database = home.path("orders.db");
    let made = Command::new("python3").args(["-c", make]).arg(&database).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no python3 with SQLite here to run the server of the plans");
        return None;
    }
    let server = json!({
        "name": "charts", "command": "python3", "args": [folder.join("charts.py")],
        "env": { "CHARTS_LOG": home.path("calls") },
    });
    home.write("config.json", json!({ "servers": [server] }).to_string());
    Some(home)
}

/// A plan of `tests/plans`, for this home.
fn stored(home: &Home, name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/plans");
    let text = fs::read_to_string(folder.join(name)).unwrap();
    let text = text.replace("{{database}}", &home.text_path("orders.db"));
    serde_json::from_str(&text.replace("{{plot}}", &home.text_path("plot.png"))).unwrap()
}

fn is_png(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.ends_with(b"IEND\xaeB`\x82")
}

#[test]
fn one_query_feeds_both_axes() {
    let Some(home) = charts() else { return };
    let plan = stored(&home, "two_levels.json");
    let mut gateway = Gateway::in_home(home);
    let answer = proxy(&mut gateway, plan);
    let content = &answer.raw["content"];
    assert_eq!(content[0], json!({ "type": "text", "text": "sales: 6 points" }));
    assert_eq!(
        (&content[1]["type"], &content[1]["mimeType"]),
        (&"image".into(), &"image/png".into())
    );
    assert!(content[1]["data"].as_str().unwrap().starts_with("iVBORw0KGgo"));
    assert!(is_png(&fs::read(gateway.home.path("plot.png")).unwrap()));
    let calls = fs::read_to_string(gateway.home.path("calls")).unwrap();
    assert_eq!(calls, "query\nline_plot\n");
}

#[test]
fn results_pass_through_many_levels() {
    let Some(home) = charts() else { return };
    let plan = stored(&home, "many_levels.json");
    let mut gateway = Gateway::in_home(home);
    let answer = proxy(&mut gateway, plan);
    assert_eq!(answer.raw["content"][0]["text"], "plot: 5 points");
    assert!(is_png(&fs::read(gateway.home.path("plot.png")).unwrap()));
    let calls = fs::read_to_string(gateway.home.path("calls")).unwrap();
    assert_eq!(calls, "query\nwithout_outliers\nsmooth\nline_plot\n");
}

#[test]
fn the_order_of_execution_is_explained() {
    let Some(home) = charts() else { return };
    let plan = stored(&home, "many_levels.json");
    home.write("plan.json", plan.to_string());
    let plan = home.text_path("plan.json");
    let ended = finish(home.onecall_with_config(&["proxy", "--explain", &plan]));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert_snapshot!(ended.stdout, @r"
    4. mcp__charts__line_plot
    ├─ x: 2. mcp__charts__without_outliers as usual, then column('day')
    │  └─ rows: 1. mcp__charts__query
    └─ y: 3. mcp__charts__smooth
       └─ values: 2. mcp__charts__without_outliers as usual (the same call), then column('sales')
    ");
    assert!(!home.path("calls").exists(), "nothing was called");

    let run = finish(home.onecall_with_config(&["proxy", &plan]));
    assert_eq!(run.code, Some(0));
    assert!(run.stdout.starts_with("plot: 5 points\n{\"type\":\"image\""), "{}", run.stdout);
}

#[test]
fn fifty_megabytes_pass_between_two_tools() {
    let Some(home) = charts() else { return };
    let mut gateway = Gateway::in_home(home);
    assert_eq!(
        answered(&mut gateway, json!({ "target_tool": "length", "tool_args": { "text": "x" } })),
        "1"
    );
    let plan = json!({
        "target_tool": "length",
        "tool_args": { "text": { "__tool__": "text_of", "args": { "length": 50_000_000 } } },
    });
    assert_eq!(answered(&mut gateway, plan), "50000000");
    let status = fs::read_to_string(format!("/proc/{}/status", gateway.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
    let kilobytes: u64 = peak.trim_end_matches(" kB").parse().unwrap();
    eprintln!("the gateway used {} MB at most", kilobytes / 1024);
    // The server's line, the value and the frame to the worker; then these three on the way back.
    assert!(kilobytes < 6 * 50_000, "{kilobytes} kB");
}

#[test]
fn a_hundred_wide_and_fifty_deep() {
    let mut gateway = Gateway::new();
    let leaf = |number: u64| json!({ "__tool__": "add", "args": { "a": number, "b": 1 } });
    let wide = json!({ "target_tool": "echo", "tool_args": { "value": (0..100).map(leaf).collect::<Vec<_>>() } });
    let expected: Vec<u64> = (1..=100).collect();
    assert_eq!(serde_json::from_str::<Vec<u64>>(&answered(&mut gateway, wide)).unwrap(), expected);

    let deep = (0..49)
        .fold(leaf(0), |inner, _| json!({ "__tool__": "add", "args": { "a": inner, "b": 1 } }));
    let deep = json!({ "target_tool": "add", "tool_args": { "a": deep, "b": 1 } });
    assert_eq!(answered(&mut gateway, deep), "51");
}

#[test]
fn independent_calls_run_at_the_same_time() {
    let mut gateway = Gateway::new();
    let call = json!({ "__tool__": "in_flight", "args": { "ms": 60_000, "until": 8 } });
    let plan = json!({ "target_tool": "echo", "tool_args": { "value": vec![call; 8] } });
    for plan in [interpreted(&plan).unwrap(), plan] {
        let answer = gateway.session.call_tool("proxy", plan);
        let most: Vec<u64> = serde_json::from_str(&answer.text).unwrap();
        assert_eq!(most.iter().max(), Some(&8));
    }
}

#[test]
fn every_problem_is_listed_and_nothing_is_run() {
    let (mut gateway, received) = {
        let home = Home::new();
        let log = home.text_path("received");
        let servers = [fixture("fixture", &["--log", &log]), fixture("other", &[])];
        let tools = json!({ "block": ["mcp__fixture__crash"] });
        home.write("config.json", json!({ "servers": servers, "tools": tools }).to_string());
        (Gateway::in_home(home), log)
    };
    let plan = json!({
        "target_tool": "mcp__fixture__ad",
        "tool_args": {
            "unknown": { "__tool__": "mcp__fixture__ecko", "args": {} },
            "blocked": { "__tool__": "mcp__fixture__crash" },
            "ambiguous": { "__tool__": "echo", "args": { "value": 1 } },
            "twice": [
                { "__tool__": "mcp__fixture__nothing", "identifier": "a" },
                { "__tool__": "mcp__fixture__nothing", "identifier": "a" },
            ],
            "nowhere": { "deep": [{ "__ref__": "b" }] },
            "circle": {
                "__tool__": "mcp__fixture__echo", "identifier": "c",
                "args": { "value": { "__tool__": "mcp__fixture__echo", "args": { "value": { "__ref__": "c" } } } },
            },
            "both": { "__tool__": "mcp__fixture__echo", "__ref__": "a" },
            "neither": { "__transform__": "len" },
            "key": { "__ref__": "a", "tranform": "len" },
            "empty": { "__tool__": "", "args": [] },
            "misfit": { "__tool__": "mcp__fixture__add", "args": { "a": "1", "c": 1 } },
        },
        "server_config": { "fixture": {}, "other": {}, "nobody": {} },
        "definitions": 5,
        "surplus": true,
    });
    assert_snapshot!(failed(&mut gateway, plan), @r#"
    PlanError: the plan has 17 problems, and nothing of it was run:
    - surplus: is not a part of a plan; the parts are target_tool, tool_args, server_config, definitions
    - tool_args.both: has both '__tool__' and '__ref__'
    - tool_args.neither: has '__transform__', but neither '__tool__' nor '__ref__'
    - tool_args.key.tranform: is not a key here; the keys are __ref__, __transform__
    - tool_args.empty.__tool__: must be a text that is not empty
    - tool_args.empty.args: must be an object
    - definitions: must be Python source
    - server_config.nobody: there is no server 'nobody' in the configuration
    - tool_args.unknown: there is no tool 'mcp__fixture__ecko'; did you mean 'mcp__fixture__echo'?
    - tool_args.blocked: 'mcp__fixture__crash' is not available to programs
    - tool_args.ambiguous: several tools are named 'echo'; write one of 'mcp__fixture__echo', 'mcp__other__echo'
    - target_tool: there is no tool 'mcp__fixture__ad'; did you mean 'mcp__fixture__add'?
    - tool_args.twice[1].identifier: 'a' is the identifier of tool_args.twice[0] already
    - tool_args.misfit.args: 'b' is missing, and there is no parameter 'c': did you mean 'b'?; await mcp__fixture__add(a: float, b: float) -> float
    - tool_args.misfit.args.a: "1" is of type string, not number; await mcp__fixture__add(a: float, b: float) -> float
    - tool_args.nowhere.deep[0]: there is no identifier 'b'; the plan has a, c
    - tool_args.circle.args.value: waits for itself: tool_args.circle.args.value needs tool_args.circle needs tool_args.circle.args.value
    "#);
    let called = fs::read_to_string(received).unwrap_or_default();
    assert!(!called.contains("tools/call"), "{called}");
    let empty = failed(&mut gateway, json!({}));
    assert_eq!(
        empty,
        "PlanError: the plan has a problem, and nothing of it was run:\n- target_tool: is missing"
    );
}

#[test]
fn transforms_change_what_is_passed_on() {
    let mut gateway = Gateway::new();
    let echo = |value: Value| json!({ "target_tool": "echo", "tool_args": { "value": value } });
    let cases = [
        // Its own transform is its parent's; a reference sees the result as it was.
        (
            json!([
                { "__tool__": "add", "args": { "a": 1, "b": 2 }, "identifier": "three", "__transform__": "lambda r: r * 10" },
                { "__ref__": "three" },
                { "__ref__": "three", "__transform__": "str" },
            ]),
            json!([30, 3, "3"]),
        ),
        // What one transform does to its copy, no other sees.
        (
            json!([
                { "__tool__": "structured", "args": {}, "identifier": "data", "__transform__": "lambda r: r.clear() or r" },
                { "__ref__": "data", "__transform__": "lambda r: len(r) > 0" },
            ]),
            json!([{}, true]),
        ),
        (
            json!({ "__tool__": "add", "args": { "a": 4, "b": 5 }, "__transform__": " lambda r: [math.sqrt(r), json.dumps({'r': r})] " }),
            json!([3.0, "{\"r\": 9}"]),
        ),
        (
            json!({ "plain": { "args": 1, "identifier": 2 } }),
            json!({ "plain": { "args": 1, "identifier": 2 } }),
        ),
        (
            json!([null, true, 1.5, "\u{2028}\"'\\", [[]], {}]),
            json!([null, true, 1.5, "\u{2028}\"'\\", [[]], {}]),
        ),
    ];
    for (value, expected) in cases {
        let text = answered(&mut gateway, echo(value.clone()));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected, "{value}");
    }
}

#[test]
fn a_failure_names_the_node_and_what_was_done() {
    let mut gateway = Gateway::with_limits(&json!({ "timeout_seconds": 3, "max_tool_calls": 20 }));
    let add = |transform: &str| json!({ "__tool__": "add", "args": { "a": 1, "b": 2 }, "__transform__": transform });
    let with = |a: Value| json!({ "target_tool": "add", "tool_args": { "a": a, "b": 1 } });
    let definitions = |source: &str| json!({ "target_tool": "nothing", "definitions": source });
    let done = "\n[Nodes completed: tool_args.a (mcp__fixture__add)]";
    let cases = [
        (with(add("lambda r: r[0]")), format!("PlanError: the transform of tool_args.a failed: TypeError: 'int' object is not subscriptable\n    lambda r: r[0]{done}")),
        (with(add("lambda r: object()")), format!("PlanError: TypeError: argument 'a' is object, which JSON cannot carry; pass str, int, float, bool, None, list or dict\n    in target_tool{done}")),
        (with(add("lambda r:")), "PlanError: the transform of tool_args.a is not valid: SyntaxError: invalid syntax (<transform>, line 1)\n    lambda r:".to_owned()),
        (with(add("42")), "PlanError: the transform of tool_args.a is not a function\n    42".to_owned()),
        (with(add("nobody")), "PlanError: the transform of tool_args.a is not valid: NameError: name 'nobody' is not defined\n    nobody".to_owned()),
        (with(add("lambda r: mcp__fixture__add(1, 2)")), format!("PlanError: the transform of tool_args.a failed: NameError: name 'mcp__fixture__add' is not defined\n    lambda r: mcp__fixture__add(1, 2){done}")),
        (with(add("lambda r: asyncio.sleep(1)")), format!("PlanError: the transform of tool_args.a failed: TypeError: a transform cannot be asynchronous\n    lambda r: asyncio.sleep(1){done}")),
        (with(json!({ "__tool__": "fail", "args": { "message": "no" } })), "ToolError: 'mcp__fixture__fail' failed: no\n    in tool_args.a".to_owned()),
        (definitions("1 / 0"), "PlanError: definitions failed: ZeroDivisionError: division by zero".to_owned()),
        (with(add("lambda r: any(iter(int, 1))")), format!("TimeoutError: Execution exceeded 3s limit{done}")),
        (json!({ "target_tool": "fail", "tool_args": { "message": "last" } }), "ToolError: 'mcp__fixture__fail' failed: last\n    in target_tool".to_owned()),
    ];
    for (plan, expected) in cases {
        assert_eq!(failed(&mut gateway, plan.clone()), expected, "{plan}");
    }
    let many = json!({ "target_tool": "echo", "tool_args": { "value": vec![add("str"); 30] } });
    let reason = failed(&mut gateway, many);
    assert!(reason.starts_with("ToolError: 'mcp__fixture__add' was not called: the limit of 20 tool calls per program is reached\n    in tool_args.value["), "{reason}");
}

#[test]
fn arguments_may_have_any_name() {
    let (mut gateway, received) = Gateway::with_message_log(&json!({}));
    for name in ["node", "self", "arguments", "class", "__debug__", "a-b", "1st", "é", "ﬁ", ""] {
        let inner = json!({ "value": name, name: 1 });
        let plan = json!({
            "target_tool": "echo",
            "tool_args": { name: [2], "value": { "__tool__": "echo", "args": inner } },
        });
        assert_eq!(answered(&mut gateway, plan), json!(name).to_string());
        let sent = received.messages();
        let sent = sent.iter().filter(|message| message["params"]["name"] == "echo");
        let sent: Vec<&Value> = sent.map(|message| &message["params"]["arguments"]).collect();
        let target = json!({ name: [2], "value": name });
        let expected = [&inner, &target, &inner, &target];
        assert_eq!(sent[sent.len() - 4..], expected, "{name}");
    }
}

#[test]
fn a_transform_cannot_call_a_tool_by_the_back_door() {
    let (mut gateway, received) = Gateway::with_message_log(&json!({}));
    let forge = |send: &str| {
        format!(
            "import _onecall as wire\narguments = {{'value': 1, 'a': 1, 'b': 1}}\ndef forge(value):\n    {send}\n    return wire.wait(5)[0][1:]"
        )
    };
    let call = |name: &str| forge(&format!("wire.call(9999, '{name}', arguments, False)"));
    let plan = |definitions: String| {
        let first =
            json!({ "__tool__": "add", "args": { "a": 1, "b": 2 }, "__transform__": "forge" });
        json!({ "target_tool": "echo", "tool_args": { "value": first }, "definitions": definitions })
    };
    for name in ["mcp__fixture__counter", "mcp__fixture__add", "plan_node_0"] {
        let refused = answered(&mut gateway, plan(call(name)));
        assert!(refused.contains(&format!("'{name}' is not available")), "{refused}");
    }
    let again = answered(&mut gateway, plan(forge("wire.call_node(9999, 0, arguments)")));
    assert!(again.contains("this part of the plan has been run already"), "{again}");
    let beyond = answered(&mut gateway, plan(forge("wire.call_node(9999, 2, arguments)")));
    assert!(beyond.contains("is not available"), "{beyond}");
    let question = r#"wire.ask(9999, '{"find":{"name":"counter"}}')"#;
    let asked = answered(&mut gateway, plan(forge(question)));
    assert!(asked.contains("is not available"), "{asked}");
    assert_eq!((received.calls("counter"), received.calls("add")), (0, 6));
}

/// A server with three tools for each text, which answer with it as text, with an image, and as
/// structured content.
fn answering(texts: &[&str]) -> Value {
    let (mut tools, mut on) = (Vec::new(), serde_json::Map::new());
    for (number, text) in texts.iter().enumerate() {
        let block = json!({ "type": "text", "text": text });
        let image = json!({ "type": "image", "data": "AA==", "mimeType": "image/png" });
        let structured = format!(
            r#"{{"jsonrpc":"2.0","id":$id,"result":{{"content":[],"structuredContent":{{"x":{text}}}}}}}"#
        );
        let answers = [
            ("text", json!({ "answer": { "content": [block] } })),
            ("mixed", json!({ "answer": { "content": [block, image] } })),
            ("structured", json!({ "text": structured })),
        ];
        for (kind, answer) in answers {
            let mut tool =
                json!({ "name": format!("{kind}_{number}"), "inputSchema": { "type": "object" } });
            if kind == "structured" {
                tool["outputSchema"] = json!({ "type": "object" });
            }
            on.insert(format!("tools/call {kind}_{number}"), json!([answer]));
            tools.push(tool);
        }
    }
    script_server("odd", &json!({ "tools": tools, "on": on }))
}

#[test]
fn odd_values_pass_between_tools_as_through_a_program() {
    let deep = format!("{}{}", "[".repeat(950), "]".repeat(950));
    let texts = [
        "1.0",
        "1E5",
        "-0",
        "-0.0",
        "1e400",
        "1e-7",
        "1e16",
        "0.1",
        "12345678901234567890123456789",
        "NaN",
        "[1, -Infinity]",
        r#"{"a":1,"b":2,"a":3}"#,
        r#""\u00e9\b\/\u2028""#,
        r#""\ud800""#,
        "null",
        "true",
        " [ 1 ]",
        "no JSON",
        "",
        "[1",
        &deep,
    ];
    let home = Home::new();
    let log = home.text_path("received");
    let servers = [answering(&texts), fixture("fixture", &["--log", &log])];
    home.write("config.json", json!({ "servers": servers }).to_string());
    let mut gateway = Gateway::in_home(home);
    let received = || fs::read_to_string(&log).unwrap_or_default();
    let mut passed = 0;
    for (number, text) in texts.iter().enumerate() {
        for kind in ["text", "mixed", "structured"] {
            let first = json!({ "__tool__": format!("{kind}_{number}"), "identifier": "it" });
            let second = json!({ "literals": [1.0, 1e16, -0.0, 5, "\u{7f}\u{1}"], "it": { "__ref__": "it" } });
            let arguments = json!({ "a": first, "b": second });
            let before = received().len();
            proxy(&mut gateway, json!({ "target_tool": "raw_arguments", "tool_args": arguments }));
            // What the server has received is the same, too, but for the ids.
            let received = received()[before..].to_owned();
            let calls = received.lines().filter(|line| line.contains("raw_arguments"));
            let sent: Vec<&str> =
                calls.map(|line| &line[line.find("\"arguments\":").unwrap()..]).collect();
            let is_same = sent.is_empty() || sent.len() == 2 && sent[0] == sent[1];
            assert!(is_same, "{kind} {text}: {sent:?}");
            passed += sent.len() / 2;
        }
    }
    assert!(passed > texts.len(), "only {passed} values came as far as the target");
}

#[test]
fn a_plan_holds_no_more_than_its_memory() {
    let limits = json!({ "memory_mb": 32, "timeout_seconds": 60, "max_output_bytes": 1000 });
    let mut gateway = Gateway::with_limits(&limits);
    let big = |bytes: u64| json!({ "__tool__": "big", "args": { "bytes": bytes } });
    let plan =
        |values: Vec<Value>| json!({ "target_tool": "echo", "tool_args": { "value": values } });
    let fits = gateway.session.call_tool("proxy", plan(vec![big(5_000_000); 2]));
    assert!(!fits.is_error, "{}", fits.text);
    let held = gateway.session.call_tool("proxy", plan(vec![big(8_000_000); 5]));
    let shared = json!([{ "__tool__": "big", "args": { "bytes": 5_000_000 }, "identifier": "it" }]);
    let mut uses = shared.as_array().unwrap().clone();
    uses.extend(vec![json!({ "__ref__": "it" }); 9]);
    let assembled = gateway.session.call_tool("proxy", plan(uses));
    // Small values take more memory than their text.
    let rows = json!({ "__tool__": "rows", "args": { "count": 100_000 } });
    let small = gateway.session.call_tool("proxy", plan(vec![rows]));
    for (case, answer) in [("held", held), ("assembled", assembled), ("small", small)] {
        assert!(answer.is_error, "{case}");
        let expected = "[Script execution failed]\nMemoryError: the results and arguments of the plan \
                        need more than its 32 MB";
        assert!(answer.text.starts_with(expected), "{case}: {}", answer.text);
    }
}

#[test]
fn a_plan_without_python_has_the_time_of_a_program() {
    let mut gateway = Gateway::with_limits(&json!({ "timeout_seconds": 1 }));
    let first = json!({ "__tool__": "add", "args": { "a": 1, "b": 2 } });
    let never = json!({ "__tool__": "hang", "args": {} });
    let plan = json!({ "target_tool": "echo", "tool_args": { "value": [first, never] } });
    assert_eq!(
        failed(&mut gateway, plan),
        "TimeoutError: Execution exceeded 1s limit\n[Nodes completed: tool_args.value[0] (mcp__fixture__add)]"
    );
}

#[test]
fn the_answer_is_the_targets_own() {
    let mut gateway = Gateway::with_limits(&json!({ "max_output_bytes": 1000 }));
    let target =
        |tool: &str, arguments: Value| json!({ "target_tool": tool, "tool_args": arguments });
    let mut direct = testkit::mcp::Session::open(testkit::bins::fixture_command(&[]));
    for tool in ["image", "mixed", "structured", "wrapped_list", "nothing"] {
        let expected = direct.call_tool(tool, json!({}));
        let answer = proxy(&mut gateway, target(tool, json!({})));
        assert_eq!(answer.raw["content"], expected.raw["content"], "{tool}");
        assert_eq!(answer.raw["structuredContent"], expected.raw["structuredContent"], "{tool}");
    }
    let long = answered(&mut gateway, target("big", json!({ "bytes": 5_000 })));
    assert!(long.ends_with("\n... (truncated)") && long.len() == 1000 + "\n... (truncated)".len());
}

#[test]
fn a_plan_is_restricted_to_the_servers_it_names() {
    let servers = [fixture("one", &[]), fixture("two", &[])];
    let mut gateway = Gateway::with_config(&json!({ "servers": servers }));
    let plan = |tool: &str, servers: Value| json!({ "target_tool": tool, "tool_args": { "a": 1, "b": 2 }, "server_config": servers });
    // With one server left, the tool's own name is enough.
    assert_eq!(answered(&mut gateway, plan("add", json!({ "two": {} }))), "3");
    assert_eq!(answered(&mut gateway, plan("add", json!(["one"]))), "3");
    let outside = failed(&mut gateway, plan("mcp__one__add", json!({ "two": {} })));
    assert!(
        outside.ends_with("- target_tool: 'mcp__one__add' is on no server of server_config"),
        "{outside}"
    );
    let strange =
        failed(&mut gateway, plan("add", json!({ "three": { "host": "localhost", "port": 80 } })));
    assert!(strange.contains("server_config.three: is not in the configuration; plans may bring servers along only with `proxy: { dynamic_servers: true }`"), "{strange}");
}

#[test]
fn a_plan_brings_servers_along_where_it_may() {
    let remote = HttpFixture::start(&[]);
    let address: SocketAddr = remote.address().parse().unwrap();
    let url = remote.url("/mcp");
    let config = |hosts: &[&str]| {
        json!({
            "servers": [fixture("home", &[])],
            "proxy": { "dynamic_servers": true, "allowed_hosts": hosts },
        })
    };
    let mut gateway = Gateway::with_config(&config(&[remote.address()]));
    let plan = |entry: Value| {
        let there = json!({ "__tool__": "mcp__guest__add", "args": { "a": 1, "b": 2 } });
        json!({
            "target_tool": "mcp__home__add", "tool_args": { "a": there, "b": 10 },
            "server_config": { "guest": entry, "home": {} },
        })
    };
    let host = json!({ "host": "127.0.0.1", "port": address.port() });
    assert_eq!(answered(&mut gateway, plan(host)), "13");
    assert_eq!(answered(&mut gateway, plan(json!({ "url": url }))), "13");
    let names = gateway.callable_tools();
    assert!(!names.iter().any(|name| name.contains("guest")), "it stayed: {names:?}");

    let far = failed(&mut gateway, plan(json!({ "url": "http://192.0.2.1/mcp" })));
    let refused = "- server_config.guest: '192.0.2.1:80' is not in `allowed_hosts` of `proxy`; if \
                   plans may go there, add it";
    assert!(far.contains(refused), "{far}");
    drop(remote);
    let gone = failed(&mut gateway, plan(json!({ "url": url })));
    assert!(gone.contains("- server_config.guest: "), "{gone}");
}

#[test]
fn servers_are_given_as_clients_configure_them() {
    let faces = [&[][..], &["--face", "events"], &["--face", "legacy"], &["--face", "stateless"]];
    let servers: Vec<HttpFixture> = faces.into_iter().map(HttpFixture::start).collect();
    let hosts: Vec<&str> = servers.iter().map(HttpFixture::address).collect();
    let config = json!({ "proxy": { "dynamic_servers": true, "allowed_hosts": hosts } });
    let mut gateway = Gateway::with_config(&config);
    let address = |server: &HttpFixture| -> SocketAddr { server.address().parse().unwrap() };
    for server in &servers {
        let entry = json!({ "host": "127.0.0.1", "port": address(server).port() });
        // The tool's own name is enough where only one server has it.
        let plan = json!({
            "target_tool": "add",
            "tool_args": {
                "a": { "__tool__": "add", "args": { "a": 1, "b": 2 }, "identifier": "sum" },
                "b": { "__ref__": "sum", "__transform__": "lambda sum: sum * 10" },
            },
            "server_config": { "mcpServers": { "Adder": entry } },
        });
        assert_eq!(answered(&mut gateway, plan), "33", "{entry}");
    }
    let entries: serde_json::Map<String, Value> = servers
        .iter()
        .enumerate()
        .map(|(number, server)| {
            let at = address(server);
            (
                format!("Server{number}"),
                json!({ "host": at.ip().to_string(), "port": at.port().to_string() }),
            )
        })
        .collect();
    let plan = |servers: Value| {
        let there = |server: &str| json!({ "__tool__": format!("mcp__{server}__add"), "args": { "a": 1, "b": 1 } });
        json!({
            "target_tool": "mcp__Server0__add",
            "tool_args": { "a": there("Server2"), "b": there("Server3") },
            "server_config": servers,
        })
    };
    assert_eq!(answered(&mut gateway, plan(json!({ "mcpServers": entries }))), "4");
    let both = json!({ "mcpServers": {}, "Server1": {} });
    let both = failed(&mut gateway, plan(both));
    let problem = "- server_config: has servers in 'mcpServers' and beside it; keep one";
    assert!(both.lines().any(|line| line == problem), "{both}");
}

#[test]
fn what_is_no_plan_is_explained() {
    let home = Home::with_config(&json!({}));
    let run = |text: &str| {
        home.write("plan.json", text);
        let ended = finish(home.onecall_with_config(&["proxy", &home.text_path("plan.json")]));
        (ended.code, ended.stderr)
    };
    assert_eq!(
        run("{"),
        (
            Some(2),
            "error: the plan is not valid JSON: EOF while parsing an object at line 1 column 1\n"
                .to_owned()
        )
    );
    assert_eq!(run("[]"), (Some(2), "error: the plan is not a JSON object\n".to_owned()));
    let (code, reason) = run(r#"{"target_tool": "x"}"#);
    assert_eq!(code, Some(1));
    assert_eq!(
        reason,
        "[Script execution failed]\nPlanError: the plan has a problem, and nothing of it was run:\n- target_tool: there is no tool 'x'\n"
    );
}
