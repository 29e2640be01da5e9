//! What a host says that cannot be understood hurts nothing else.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::process::{Process, wait_until};

use super::host::Host;
use crate::support::{Home, TIMEOUT};

#[test]
fn every_mistake_is_named() {
    let mut host = Host::new();
    let object = "a line that is not a JSON object";
    let timeout = "execute: 'timeout' must be a number of seconds above 0 and at most 31536000";
    let execute = |more: &str| format!(r#"{{"type":"execute","id":"1","code":"1",{more}}}"#);
    let plain: Vec<(String, Option<&str>, &str)> = vec![
        ("hello".into(), None, object),
        ("[1]".into(), None, object),
        (
            "{\"type\":".into(),
            None,
            "a line that is not a JSON object: EOF while parsing a value at line 1 column 8",
        ),
        ("{}".into(), None, "'type' must be a string: execute, tool_result or cancel"),
        (
            r#"{"type":5,"id":"1"}"#.into(),
            Some("1"),
            "'type' must be a string: execute, tool_result or cancel",
        ),
        (
            r#"{"type":"exec","id":"1"}"#.into(),
            Some("1"),
            "unknown type 'exec': it must be execute, tool_result or cancel",
        ),
        (r#"{"type":"execute","code":"1"}"#.into(), None, "execute: 'id' is missing"),
        (r#"{"type":"execute","id":1,"code":"1"}"#.into(), None, "execute: 'id' must be a string"),
        (
            r#"{"type":"execute","id":"","code":"1"}"#.into(),
            Some(""),
            "execute: 'id' must have 1 to 256 characters",
        ),
        (r#"{"type":"execute","id":"1"}"#.into(), Some("1"), "execute: 'code' is missing"),
        (
            r#"{"type":"execute","id":"1","code":["1"]}"#.into(),
            Some("1"),
            "execute: 'code' must be a string",
        ),
        (
            execute(r#""tools":{}"#),
            Some("1"),
            "execute: 'tools' must be a list of tool definitions",
        ),
        (
            execute(r#""tools":[{"name":"a"},{}]"#),
            Some("1"),
            "execute: 'tools[1]' is not a tool definition: missing field `name` at line 1 column 2",
        ),
        (
            execute(r#""tools":[{"name":"a"},{"name":"a"}]"#),
            Some("1"),
            "execute: two of the 'tools' are named 'a'",
        ),
        (
            execute(r#""tools":[{"name":""}]"#),
            Some("1"),
            "execute: the name of 'tools[0]' must have 1 to 256 characters",
        ),
        (execute(r#""timeout":0"#), Some("1"), timeout),
        (execute(r#""timeout":-1"#), Some("1"), timeout),
        (execute(r#""timeout":1e10"#), Some("1"), timeout),
        (execute(r#""timeout":1e999"#), Some("1"), timeout),
        (execute(r#""timeout":"NaN""#), Some("1"), timeout),
        (execute(r#""timeout":true"#), Some("1"), timeout),
        (
            execute(r#""timeout":NaN"#),
            None,
            "a line that is not a JSON object: expected value at line 1 column 49",
        ),
        (execute(r#""session":5"#), Some("1"), "execute: 'session' must be a string"),
        (
            execute(r#""reset":true"#),
            Some("1"),
            "execute: 'reset' must be given together with 'session'",
        ),
        (execute(r#""engine":"perl""#), Some("1"), "execute: 'engine' must be one of "),
        (execute(r#""language":"perl""#), Some("1"), "execute: 'language' must be one of "),
        (
            execute(r#""time_out":1"#),
            Some("1"),
            "execute: unknown field `time_out`, expected one of ",
        ),
        (execute(r#""code":"2""#), Some("1"), "execute: duplicate field `code` at line 1 "),
        (r#"{"type":"tool_result"}"#.into(), None, "tool_result: 'tool_call_id' is missing"),
        (
            r#"{"type":"tool_result","tool_call_id":"call_1_1"}"#.into(),
            None,
            "no tool call 'call_1_1' waits for a result: the id is unknown, or the result has arrived already",
        ),
        (
            r#"{"type":"tool_result","tool_call_id":"x","has_error":"no"}"#.into(),
            None,
            "tool_result: 'has_error' must be true or false",
        ),
        (r#"{"type":"cancel"}"#.into(), None, "cancel: 'id' is missing"),
        (
            r#"{"type":"cancel","id":"9"}"#.into(),
            Some("9"),
            "no program with the id '9' is running",
        ),
    ];
    for (line, id, message) in plain {
        let error = host.error(&line);
        assert_eq!(error.get("id").and_then(Value::as_str), id, "{line}");
        let said = error["message"].as_str().unwrap();
        assert!(said.starts_with(message), "{line}\nsaid {said}\n not {message}");
    }
    host.still_works();
}

#[test]
fn an_id_is_free_again_after_its_outcome() {
    let mut host = Host::new();
    host.start("same", "tools.f()", json!({}));
    let call = host.expect("tool_call");
    host.start("same", "print(2)", json!({}));
    let error = host.expect("error");
    assert_eq!(
        [&error["id"], &error["message"]],
        ["same", "a program with the id 'same' is running already"]
    );
    host.answer(&call, json!(1));
    assert_eq!(host.expect("outcome")["return_value"], 1);
    host.start("same", "print(2)", json!({}));
    assert_eq!(host.expect("outcome")["stdout"], "2\n");
}

#[test]
fn a_second_answer_is_refused() {
    let mut host = Host::new();
    host.start("1", "tools.f()\ntools.g()", json!({}));
    let call = host.expect("tool_call");
    host.answer(&call, json!("first"));
    let next = host.expect("tool_call");
    host.answer(&call, json!("second"));
    host.expect("error");
    host.answer(&next, json!("third"));
    assert_eq!(host.expect("outcome")["tool_results"][0]["observation"], "first");
}

#[test]
fn a_late_answer_to_a_call_that_was_given_up_is_no_mistake() {
    let mut host = Host::new();
    host.start("1", "tools.f()", json!({ "timeout": 0.5 }));
    let call = host.expect("tool_call");
    let cancelled = host.expect("tool_cancelled");
    assert_eq!(cancelled["tool_call_id"], call["tool_call_id"]);
    assert_eq!(host.expect("outcome")["error"]["type"], "TimeoutError");
    host.answer(&call, json!(1));
    host.still_works();
}

#[test]
fn a_line_that_is_too_long_costs_no_memory_and_only_its_own_call() {
    let home = Home::with_config(&json!({}));
    let mut command: Command = home.onecall_with_config(&["exec"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    next();
    writeln!(stdin, "{}", json!({ "type": "execute", "id": "1", "code": "tools.f()" })).unwrap();
    let call = next();
    write!(
        stdin,
        r#"{{"type":"tool_result","tool_call_id":{},"observation":""#,
        call["tool_call_id"]
    )
    .unwrap();
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..400 {
        stdin.write_all(&chunk).unwrap();
    }
    stdin.write_all(b"\"}\n").unwrap();
    let answers = [next(), next()];
    let error = answers.iter().find(|it| it["type"] == "error").unwrap();
    assert_eq!(error["message"], "a line of more than 64 MiB");
    let outcome = answers.iter().find(|it| it["type"] == "outcome").unwrap();
    assert_eq!(outcome["error"]["message"], "'f' failed: a line of more than 64 MiB");
    let peak = Process::read(child.id()).unwrap().peak_bytes().unwrap();
    assert!(peak < 250 << 20, "{peak} bytes for a line of 400 MiB");
    drop(stdin);
    let mut status = None;
    wait_until(TIMEOUT, || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(0));
}
