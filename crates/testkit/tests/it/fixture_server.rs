//! The fixture server as its clients see it: every tool, slow calls, flags.

use serde_json::{Value, json};
use testkit::bins::fixture_command;
use testkit::mcp::{CallId, Session};
use testkit::rpc::BareClient;

fn open(flags: &[&str]) -> Session {
    Session::open(fixture_command(flags))
}

#[expect(clippy::expect_used, reason = "a helper of tests")]
fn parsed(session: &mut Session, tool: &str, arguments: Value) -> Value {
    let answer = session.call_tool(tool, arguments);
    assert!(!answer.is_error, "{tool}: {}", answer.text);
    serde_json::from_str(&answer.text).expect("the answer is JSON")
}

#[test]
fn every_listed_tool_exists() {
    let mut session = open(&["--tools", "3"]);
    for name in session.tool_names() {
        if !["crash", "hang", "rpc_error"].contains(&name.as_str()) {
            // Missing arguments are an answer too, only an unknown tool is not.
            session.try_call_tool(&name, json!({})).expect(&name);
        }
    }
    let unknown = session.try_call_tool("tool_00004", json!({}));
    assert_eq!(unknown.expect_err("there are three dummies").code, -32602);
}

#[test]
fn values_arrive_unchanged() {
    let mut session = open(&[]);
    let value = json!({ "text": "é🎉\n\"", "list": [1, 2.5, null, true], "empty": {} });
    assert_eq!(parsed(&mut session, "echo", json!({ "value": value })), value);
    assert_eq!(
        session.call_tool("add", json!({ "a": 2, "b": 3 })).raw["structuredContent"],
        json!({ "result": 5 })
    );
    assert_eq!(session.call_tool("add", json!({ "a": 0.5, "b": 3 })).text, "3.5");
    assert_eq!(session.call_tool("big", json!({ "bytes": 100_000 })).text.len(), 100_000);
    assert_eq!(session.call_tool("nothing", json!({})).raw, json!({ "content": [] }));
    let failed = session.call_tool("fail", json!({ "message": "no" }));
    assert_eq!((failed.text.as_str(), failed.is_error), ("no", true));
}

#[test]
fn twenty_thousand_rows_are_two_megabytes() {
    let mut session = open(&[]);
    let text = session.call_tool("rows", json!({ "count": 20_000 })).text;
    assert!((1_850_000..2_000_000).contains(&text.len()), "{} bytes", text.len());
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(rows.len(), 20_000);
    assert_eq!(
        rows[0],
        json!({ "id": 1, "region": "north", "product": "keyboard", "quantity": 1, "price": 10.1, "date": "2025-01-01" })
    );
}

#[test]
fn a_thousand_slow_calls_run_side_by_side() {
    let mut session = open(&[]);
    let calls: Vec<CallId> = (0..1000)
        .map(|_| session.start_call("in_flight", json!({ "ms": 60_000, "until": 1000 })))
        .collect();
    // A fast call is served meanwhile.
    assert_eq!(session.call_tool("counter", json!({})).text, "1");
    let most = calls.into_iter().map(|call| session.finish_call(call).text.parse().unwrap()).max();
    assert_eq!(most, Some(1000));
}

#[test]
fn a_cancelled_call_is_never_answered_and_progress_is_reported() {
    let mut session = open(&[]);
    let cancelled = session.start_call("sleep", json!({ "ms": 1500 }));
    session.cancel(cancelled);
    let countdown =
        session.start_call_with_progress("countdown", json!({ "steps": 3, "ms": 600 }), "token");
    assert_eq!(session.finish_call(countdown).text, "liftoff");
    let steps: Vec<Value> =
        session.progress("token").iter().map(|params| params["progress"].clone()).collect();
    assert_eq!(steps, [1, 2, 3]);
    assert!(session.finish_call_within(cancelled, std::time::Duration::ZERO).is_none());
}

#[test]
fn tools_come_in_pages() {
    let mut all = open(&["--tools", "25"]);
    let mut paged = open(&["--tools", "25", "--page-size", "7"]);
    assert_eq!(paged.list_tools(), all.list_tools());
    let first = paged.client().request("tools/list", json!({}));
    assert_eq!(first["tools"].as_array().map(Vec::len), Some(7));
    let wrong = paged.client().try_request("tools/list", json!({ "cursor": "x" }));
    assert_eq!(wrong.expect_err("no such cursor").code, -32602);
}

#[test]
fn the_bare_client_reads_one_line_per_line() {
    let mut client = BareClient::open(fixture_command(&[]));
    for number in 0..100 {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"echo","arguments":{{"value":[{number}]}}}}}}"#
        );
        let expected = format!(
            r#"{{"jsonrpc":"2.0","id":{number},"result":{{"content":[{{"type":"text","text":"[{number}]"}}]}}}}"#
        );
        assert_eq!(client.call_raw(&line), expected);
    }
}
