//! Features where they meet: a cache must not come between a server and the client that it reports
//! to and asks, and calls that clients make themselves are recorded as those of programs are.

use serde_json::{Value, json};
use testkit::mcp::{CallId, Session};
use testkit::process::wait_until;

use crate::support::{Home, PATIENCE, Received, finish, fixture, printed, script};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// The configurations that must make no difference to what passes between a server and its client.
fn with_and_without_cache(servers: &Value) -> [Value; 3] {
    [json!(null), json!({}), json!({ "scope": "run" })].map(|cache| {
        let mut config = json!({ "servers": servers, "expose_tools": ["mcp__*"] });
        if !cache.is_null() {
            config["cache"] = cache;
        }
        config
    })
}

/// A fixture server behind a gateway, and what the server received.
fn home(config: impl FnOnce(Value) -> Value) -> (Home, Received) {
    let home = Home::new();
    let servers = json!([fixture("fixture", &["--log", &home.text_path("received")])]);
    home.write("config.json", config(servers).to_string());
    let received = Received::at(home.path("received"));
    (home, received)
}

/// Calls a tool of ours with something beside its arguments.
fn start(session: &mut Session, name: &str, arguments: &Value, meta: &Value) -> CallId {
    let params = json!({ "name": name, "arguments": arguments, "_meta": meta });
    CallId(session.client().start("tools/call", params))
}

#[test]
fn reports_and_traces_pass_a_cache() {
    for which in 0..3 {
        let (home, received) = home(|servers| with_and_without_cache(&servers)[which].clone());
        let mut session = Session::open(home.configured(&["serve"]));
        let meta =
            json!({ "traceparent": PARENT, "tracestate": "vendor=1", "progressToken": "token" });
        let name = "mcp__fixture__countdown";
        let call = start(&mut session, name, &json!({ "steps": 3, "ms": 900 }), &meta);
        assert_eq!(session.finish_call(call).text, "liftoff");
        let reports = session.progress("token");
        let told: Vec<_> =
            reports.iter().map(|it| json!([it["progress"], it["total"], it["message"]])).collect();
        // The last one comes with the answer, which may overtake it.
        let expected = [json!([1.0, 3.0, "step 1"]), json!([2.0, 3.0, "step 2"])];
        assert_eq!(told.get(..2), Some(&expected[..]), "{which}: {reports:?}");
        let sent = received.wait_for_call("countdown")["params"]["_meta"].clone();
        assert_eq!(
            (&sent["traceparent"], &sent["tracestate"]),
            (&json!(PARENT), &json!("vendor=1"))
        );

        let code = json!({ "code": "print(await mcp__fixture__add(1, 2))" });
        let call = start(&mut session, "execute_program", &code, &meta);
        assert_eq!(printed(&session.finish_call(call)), "3\n");
        let sent = received.wait_for_call("add")["params"]["_meta"].clone();
        assert_eq!(sent["traceparent"], json!(PARENT), "{which}");
        assert!(sent["progressToken"].is_u64(), "{which}: {sent}");
    }
}

/// A server whose tool puts a request to its client, and answers with what comes back.
fn asking(method: &str, params: &Value) -> Value {
    let ask = json!({ "jsonrpc": "2.0", "id": "q", "method": method, "params": params });
    let answer = json!({ "content": [{ "type": "text", "text": "$answer_text" }] });
    let annotations = json!({ "readOnlyHint": true });
    let tool =
        json!({ "name": "ask", "inputSchema": { "type": "object" }, "annotations": annotations });
    let on = json!({ "tools/call ask": [{ "say": ask }, { "await": "q" }, { "answer": answer }] });
    script("asking", &json!({ "tools": [tool], "on": on }))
}

#[test]
fn questions_pass_a_cache() {
    let form = json!({ "message": "Your name?", "requestedSchema": { "type": "object", "properties": {} } });
    let accepted = json!({ "action": "accept", "content": {} });
    let message =
        json!({ "role": "assistant", "content": { "type": "text", "text": "hi" }, "model": "m" });
    for (method, params, reply, able) in [
        ("elicitation/create", form, accepted, json!({ "elicitation": {} })),
        (
            "sampling/createMessage",
            json!({ "messages": [], "maxTokens": 7 }),
            message,
            json!({ "sampling": {} }),
        ),
    ] {
        for config in with_and_without_cache(&json!([asking(method, &params)])) {
            let home = Home::with_config(&config);
            let answers = [(method, reply.clone())];
            let mut session = Session::open_able(home.configured(&["serve"]), &able, &answers);
            let heard = |text: &str| serde_json::from_str::<Value>(text).unwrap()["result"].clone();
            let answer = session.call_tool("mcp__asking__ask", json!({}));
            assert_eq!(heard(&answer.text), reply, "{config}");
            let code = "import json\nprint(json.dumps(await mcp__asking__ask()))";
            let answer = session.call_tool("execute_program", json!({ "code": code }));
            assert_eq!(heard(&printed(&answer)), reply, "{config}");
            // An answer that the client had a part in is not kept, so it is asked again.
            let answer = session.call_tool("execute_program", json!({ "code": code }));
            assert_eq!(heard(&printed(&answer)), reply, "{config}");
            assert_eq!(session.client().asked().len(), 3, "{config}");
        }
    }
}

fn runs(home: &Home, count: usize) -> Vec<Value> {
    let mut runs = Vec::new();
    let there = wait_until(PATIENCE, || {
        let ended = finish(home.configured(&["runs", "--json"]));
        runs = serde_json::from_str::<Value>(&ended.stdout).unwrap().as_array().unwrap().clone();
        runs.len() >= count
    });
    assert!(there, "{runs:#?}");
    runs.reverse();
    runs
}

#[test]
fn a_tool_that_the_client_calls_itself_is_a_run() {
    let (home, _received) = home(
        |servers| json!({ "servers": servers, "expose_tools": ["mcp__*"], "records": "full", "cache": {} }),
    );
    let mut session = Session::open(home.configured(&["serve"]));
    assert_eq!(session.call_tool("mcp__fixture__add", json!({ "a": 1, "b": 2 })).text, "3");
    let refused = session.call_tool("mcp__fixture__fail", json!({ "message": "not today" }));
    assert!(refused.is_error, "{refused:?}");
    let runs = runs(&home, 2);
    let facts: Vec<Value> = runs
        .iter()
        .map(|run| json!([run["kind"], run["engine"], run["outcome"], run["calls"], run["tokens"]]))
        .collect();
    // A tool that says that it failed has answered: what passes is between client and server.
    assert_eq!(facts[0], json!(["tool", "none", "ok", 1, null]), "{runs:#?}");
    assert_eq!(facts[1], json!(["tool", "none", "ok", 1, null]), "{runs:#?}");
    let id = runs[0]["id"].as_str().unwrap();
    let shown = finish(home.configured(&["runs", "show", id, "--json"]));
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["tool_calls"][0]["name"], "mcp__fixture__add");
    let replayed = finish(home.configured(&["runs", "replay", id]));
    assert!(
        replayed.stderr.contains("was a single call; only programs can be replayed"),
        "{replayed:?}"
    );

    assert_eq!(finish(home.configured(&["call", "mcp__fixture__add", "a=1", "b=2"])).code, Some(0));
    let runs = self::runs(&home, 3);
    let called = &runs[2];
    assert_eq!((&called["kind"], &called["client"]), (&json!("call"), &json!("command line")));
    // None of this has saved an agent any tokens.
    let stats = finish(home.configured(&["stats"])).stdout;
    assert!(stats.contains("3 runs") && !stats.contains("tokens saved of"), "{stats}");
}
