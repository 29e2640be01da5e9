//! A cache must not come between a server and the client that it reports to and asks.

use serde_json::{Value, json};
use testkit::mcp::Session;

use super::{PARENT, home, start};
use crate::support::{Home, printed, script};

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

#[test]
fn reports_and_traces_pass_a_cache() {
    for which in 0..3 {
        let (home, received) = home(|servers| with_and_without_cache(&servers)[which].clone());
        let mut session = Session::open(home.onecall_with_config(&["serve"]));
        let meta =
            json!({ "traceparent": PARENT, "tracestate": "vendor=1", "progressToken": "token" });
        let name = "mcp__fixture__countdown";
        let call = start(&mut session, name, &json!({ "steps": 3, "ms": 900 }), &meta);
        assert_eq!(session.finish_call(call).text, "liftoff");
        let reports = session.progress("token");
        let reported: Vec<_> =
            reports.iter().map(|it| json!([it["progress"], it["total"], it["message"]])).collect();
        // The last one comes with the answer, which may overtake it.
        let expected = [json!([1.0, 3.0, "step 1"]), json!([2.0, 3.0, "step 2"])];
        assert_eq!(reported.get(..2), Some(&expected[..]), "{which}: {reports:?}");
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
            let mut session = Session::open_with_capabilities(
                home.onecall_with_config(&["serve"]),
                &able,
                &answers,
            );
            let heard = |text: &str| serde_json::from_str::<Value>(text).unwrap()["result"].clone();
            let answer = session.call_tool("mcp__asking__ask", json!({}));
            assert_eq!(heard(&answer.text), reply, "{config}");
            let code = "import json\nprint(json.dumps(await mcp__asking__ask()))";
            let answer = session.call_tool("execute_program", json!({ "code": code }));
            assert_eq!(heard(&printed(&answer)), reply, "{config}");
            // An answer that the client had a part in is not kept, so it is asked again.
            let answer = session.call_tool("execute_program", json!({ "code": code }));
            assert_eq!(heard(&printed(&answer)), reply, "{config}");
            assert_eq!(session.client().server_requests().len(), 3, "{config}");
        }
    }
}
