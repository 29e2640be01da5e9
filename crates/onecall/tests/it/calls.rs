//! The lines that generated code exchanges with `onecall calls`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};
use testkit::process::wait_until;

use crate::support::{Gateway, Home, TIMEOUT, fixture};

struct Calls {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    _home: Home,
}

impl Calls {
    fn open(config: &Value) -> Self {
        let home = Home::with_config(config);
        let mut command = home.onecall_with_config(&["calls"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("onecall starts");
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                _ = sender.send(line);
            }
        });
        Self { child, stdin, lines, _home: home }
    }

    fn send(&mut self, id: u64, tool: &str, arguments: &str) {
        let stdin = self.stdin.as_mut().expect("it is open");
        let line = format!("{{\"id\":{id},\"tool\":\"{tool}\",\"arguments\":{arguments}}}\n");
        stdin.write_all(line.as_bytes()).expect("it reads");
    }

    fn next(&self) -> String {
        self.lines.recv_timeout(TIMEOUT).expect("an answer")
    }

    fn answer(&mut self, tool: &str, arguments: &str) -> String {
        self.send(7, tool, arguments);
        self.next()
    }

    fn clear(&mut self, text: &str) -> String {
        let stdin = self.stdin.as_mut().expect("it is open");
        stdin
            .write_all(format!("{{\"id\":9,\"clear\":\"{text}\"}}\n").as_bytes())
            .expect("it reads");
        self.next()
    }

    fn has_ended(&mut self) -> bool {
        let mut code = None;
        wait_until(TIMEOUT, || {
            code = self.child.try_wait().expect("it is ours");
            code.is_some()
        });
        code.is_some_and(|code| code.success())
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn config() -> Value {
    json!({
        "servers": [fixture("fixture", &[])],
        "tools": { "block": ["mcp__fixture__env"] },
        "execution": { "timeout_seconds": 4 },
    })
}

#[test]
fn values_and_errors_are_those_of_a_program() {
    let mut calls = Calls::open(&config());
    let mut gateway = Gateway::with_config(&config());
    for (tool, arguments) in [
        ("bigint", "{}"),
        ("structured", "{}"),
        ("wrapped_list", "{}"),
        ("nothing", "{}"),
        ("mixed", "{}"),
        ("echo", r#"{"value": {"deep": [1, 2.5, "é \" \\ ", null, true]}}"#),
        ("echo", r#"{"value": "NaN"}"#),
        ("fail", r#"{"message": "on purpose"}"#),
        ("add", r#"{"a": 1}"#),
        ("rpc_error", "{}"),
    ] {
        let name = format!("mcp__fixture__{tool}");
        let answer: Value = serde_json::from_str(&calls.answer(&name, arguments)).expect("JSON");
        // Both as Python sees them, integers of any size included.
        let literal = json!(arguments).to_string();
        let program = format!(
            "import json\ntry:\n    value = await tools.aio.{name}(json.loads({literal}))\n\
             \x20   content = getattr(value, 'content', None)\n\
             \x20   print(json.dumps({{'value': value}} | ({{'content': content}} if content else {{}})))\n\
             except ToolError as error:\n    print(json.dumps({{'error': str(error)}}))\n"
        );
        let mut expected: Value = serde_json::from_str(&gateway.prints(&program)).expect("JSON");
        expected["id"] = json!(7);
        assert_eq!(answer, expected, "{tool}");
    }
    let blocked = r#"{"id":7,"error":"'mcp__fixture__env' is not available in execute_program"}"#;
    assert_eq!(calls.answer("mcp__fixture__env", r#"{"name":"PATH"}"#), blocked);
}

#[test]
fn integers_keep_their_digits_and_lines_stay_lines() {
    let mut calls = Calls::open(&config());
    let big = "123456789012345678901234567890";
    let answer = calls.answer("mcp__fixture__echo", &format!("{{\"value\":[{big},\"a\\nb\"]}}"));
    assert_eq!(answer, format!("{{\"id\":7,\"value\":[{big},\"a\\nb\"]}}"));
    let answer = calls.answer("mcp__fixture__bigint", "{}");
    assert_eq!(answer, format!("{{\"id\":7,\"value\":{{\"n\": {big}, \"f\": 0.1}}}}"));
}

#[test]
fn a_tool_is_found_by_the_names_that_servers_and_clients_give_it() {
    let mut calls = Calls::open(&config());
    for name in ["mcp__fixture__add", "mcp_fixture_add", "add"] {
        assert_eq!(calls.answer(name, r#"{"a":1,"b":2}"#), r#"{"id":7,"value":3}"#, "{name}");
    }
    assert_eq!(
        calls.answer("mcp_fixture_ad", "{}"),
        r#"{"id":7,"error":"'mcp_fixture_ad' failed: there is no such tool. Did you mean: mcp__fixture__add?"}"#
    );
    let blocked = r#"{"id":7,"error":"'mcp_fixture_env' is not available in execute_program"}"#;
    assert_eq!(calls.answer("mcp_fixture_env", r#"{"name":"PATH"}"#), blocked);
}

#[test]
fn kept_answers_are_forgotten_before_the_next_line_is_read() {
    let mut config = config();
    assert_eq!(Calls::open(&config).clear("add"), r#"{"id":9,"value":0}"#);
    config["cache"] = json!({});
    let mut calls = Calls::open(&config);
    for (text, forgotten) in [("add", 1), ("sub", 0), ("mcp_fixture_add", 1), ("", 1)] {
        assert_eq!(calls.answer("add", r#"{"a":1,"b":2}"#), r#"{"id":7,"value":3}"#);
        assert_eq!(calls.clear(text), format!("{{\"id\":9,\"value\":{forgotten}}}"), "{text}");
    }
}

#[test]
fn calls_run_side_by_side_and_none_forever() {
    let mut calls = Calls::open(&config());
    calls.send(1, "mcp__fixture__hang", "{}");
    calls.send(2, "mcp__fixture__counter", "{}");
    assert_eq!(calls.next(), r#"{"id":2,"value":1}"#);
    let late = r#"{"id":1,"error":"'mcp__fixture__hang' failed: no answer within 4s"}"#;
    assert_eq!(calls.next(), late);
}

#[test]
fn the_end_of_the_input_ends_it() {
    let mut calls = Calls::open(&config());
    assert_eq!(calls.answer("mcp__fixture__counter", "{}"), r#"{"id":7,"value":1}"#);
    calls.send(8, "mcp__fixture__hang", "{}");
    drop(calls.stdin.take());
    assert!(calls.has_ended());
}
