//! Every revision of the protocol, and progress.

use serde_json::{Value, json};
use testkit::mcp::Session;
use testkit::rpc::Client;

use crate::support::{self, Gateway, Home, fixture, printed};

fn home() -> Home {
    Home::with_config(&json!({ "servers": [fixture("fixture", &[])] }))
}

#[test]
fn every_revision_with_a_handshake_is_spoken() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let home = home();
        let mut session = Session::new(Client::spawn(home.onecall_with_config(&["serve"])));
        let answer = session.initialize(version);
        assert_eq!(answer["protocolVersion"], version);
        assert_eq!(
            answer["serverInfo"],
            json!({ "name": "onecall", "version": env!("CARGO_PKG_VERSION") })
        );
        assert!(answer["capabilities"]["tools"].is_object(), "{answer}");
        assert!(answer["instructions"].as_str().is_some_and(|text| !text.is_empty()));
        let mut gateway = Gateway { session, home };
        assert_eq!(
            gateway.session.tool_names(),
            ["execute_program", "search_tools", "list_callable_tools", "inspect_tool", "proxy"]
        );
        assert_eq!(gateway.prints("print(await mcp__fixture__add(1, 2))"), "3\n");
    }
}

#[test]
fn a_revision_of_the_future_is_answered_with_one_that_we_speak() {
    let home = home();
    let mut session = Session::new(Client::spawn(home.onecall_with_config(&["serve"])));
    assert_eq!(session.initialize("2099-01-01")["protocolVersion"], "2025-11-25");
    let mut gateway = Gateway { session, home };
    assert_eq!(gateway.prints("print('hi')"), "hi\n");
}

#[test]
fn a_ping_is_answered_before_and_after_the_handshake() {
    let home = home();
    let mut session = Session::new(Client::spawn(home.onecall_with_config(&["serve"])));
    assert_eq!(session.client().request("ping", json!({})), json!({}));
    session.initialize("2025-11-25");
    assert_eq!(session.client().request("ping", json!({})), json!({}));
}

#[test]
fn nonsense_does_not_end_the_connection() {
    let mut gateway = Gateway::new();
    let client = gateway.session.client();
    for line in ["not json", "{}", "[]", "", "null", "{\"jsonrpc\":\"2.0\"}", "\u{0}"] {
        client.send_line(line);
    }
    client.notify("notifications/cancelled", json!({ "requestId": 999 }));
    client.notify("no/such/notification", json!({}));
    let error = client.try_request("no/such/method", json!({})).expect_err("unknown");
    assert_eq!(error.code, -32601);
    assert_eq!(gateway.prints("print('alive')"), "alive\n");
}

/// The parameters of a request in the revision that has no handshake.
fn stateless(mut params: Value, version: &str) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(version);
    params["_meta"]["io.modelcontextprotocol/clientInfo"] =
        json!({ "name": "testkit", "version": "1.0.0" });
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params
}

fn program(code: &str) -> Value {
    json!({ "name": "execute_program", "arguments": { "code": code } })
}

#[test]
fn the_revision_without_a_handshake_is_spoken() {
    let version = "2026-07-28";
    let home = home();
    let mut client = Client::spawn(home.onecall_with_config(&["serve"]));
    let listed = client.request("tools/list", stateless(json!({}), version));
    let names: Vec<&str> = listed["tools"]
        .as_array()
        .expect("a list of tools")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(
        names,
        ["execute_program", "search_tools", "list_callable_tools", "inspect_tool", "proxy"]
    );
    assert_eq!(listed["resultType"], "complete");

    let good = stateless(program("print(await mcp__fixture__add(1, 2))"), version);
    assert_eq!(
        client.request("tools/call", good),
        json!({
            "resultType": "complete",
            "content": [{ "type": "text", "text": "[Script executed successfully]\n3\n" }],
            "isError": false,
        })
    );
    let bad = stateless(program("raise SystemExit('no')"), version);
    assert_eq!(
        client.request("tools/call", bad),
        json!({
            "resultType": "complete",
            "content": [{ "type": "text", "text": "[Script execution failed]\nSystemExit: no" }],
            "isError": true,
        })
    );
    assert_eq!(client.unexpected_lines(), [""; 0]);
}

#[test]
fn a_call_may_be_the_first_request_without_a_handshake() {
    let home = home();
    let mut client = Client::spawn(home.onecall_with_config(&["serve"]));
    let mut params = stateless(program("print(await mcp__fixture__add(1, 2))"), "2026-07-28");
    params["_meta"]["progressToken"] = json!("first");
    let result = client.request("tools/call", params);
    assert_eq!(result["content"][0]["text"], "[Script executed successfully]\n3\n");
    assert_eq!(client.notifications().len(), 1);
}

#[test]
fn an_unknown_revision_without_a_handshake_is_refused() {
    let home = home();
    let mut client = Client::spawn(home.onecall_with_config(&["serve"]));
    let error =
        client.try_request("tools/list", stateless(json!({}), "2099-01-01")).expect_err("refused");
    assert_eq!(error.code, -32022);
    assert_eq!(error.data["requested"], "2099-01-01");
    // And the next request may do better.
    client.request("tools/list", stateless(json!({}), "2026-07-28"));
}

/// Eight calls, half of which take longer than the pause between two notices.
const STEPS: &str = "
    for n in range(4):
        await mcp__fixture__add(n, n)
        await mcp__fixture__sleep(ms=150)
    print('done')
";

#[test]
fn progress_is_told_to_who_asks() {
    let mut gateway = Gateway::new();
    let arguments = json!({ "code": support::dedent(STEPS) });
    let call = gateway.session.start_call_with_progress("execute_program", arguments, "token-1");
    assert_eq!(printed(&gateway.session.finish_call(call)), "done\n");
    let reports = gateway.session.progress("token-1");
    assert_eq!(reports.len(), gateway.session.client().notifications().len());
    assert!(reports.len() >= 4, "{reports:#?}");
    let mut last = 0.0;
    for notice in &reports {
        let progress = notice["progress"].as_f64().expect("a number");
        assert!(progress > last, "{reports:#?}");
        last = progress;
        let tool = if progress % 2.0 == 1.0 { "mcp__fixture__add" } else { "mcp__fixture__sleep" };
        let calls = if progress == 1.0 { "call" } else { "calls" };
        let message = format!("{progress} tool {calls} made, last: {tool}");
        assert_eq!(
            notice,
            &json!({ "progressToken": "token-1", "progress": progress, "message": message })
        );
    }
}

#[test]
fn progress_is_not_told_to_who_does_not_ask() {
    let mut gateway = Gateway::new();
    assert_eq!(gateway.prints(STEPS), "done\n");
    assert_eq!(gateway.session.client().notifications(), [] as [Value; 0]);
}

#[test]
fn two_programs_report_under_their_own_tokens() {
    let mut gateway = Gateway::new();
    let mut start = |tool: &str, token: &str| {
        let code = format!("for n in range(3): await mcp__fixture__{tool}(ms=120)");
        gateway.session.start_call_with_progress("execute_program", json!({ "code": code }), token)
    };
    let (one, two) = (start("sleep", "one"), start("in_flight", "two"));
    gateway.session.finish_call(one);
    gateway.session.finish_call(two);
    for (token, tool) in [("one", "mcp__fixture__sleep"), ("two", "mcp__fixture__in_flight")] {
        let reports = gateway.session.progress(token);
        assert!(!reports.is_empty());
        for notice in reports {
            let message = notice["message"].as_str().expect("a text");
            assert!(message.ends_with(&format!("last: {tool}")), "{message}");
        }
    }
}

#[test]
fn without_a_handshake_the_only_client_calls_its_sessions_by_name() {
    let home = home();
    let mut client = Client::spawn(home.onecall_with_config(&["serve"]));
    let mut ask = |code: &str| {
        let mut params = stateless(program(code), "2026-07-28");
        params["arguments"]["session"] = json!("mine");
        client.request("tools/call", params)["content"].take()
    };
    ask("x = 1");
    let text = "[Script executed successfully]\n1\n";
    assert_eq!(ask("print(x)"), json!([{ "type": "text", "text": text }]));
}
