//! What servers ask of the client: it gets there where the client can answer, and is
//! refused politely where it cannot (attack 35).

use serde_json::{Value, json};
use testkit::mcp::Session;

use crate::support::{Home, dedent, printed, script};

/// A server whose tool `ask` puts this request to its client, and answers with what
/// comes back.
fn asking(method: &str, params: &Value) -> Value {
    let ask = json!({ "jsonrpc": "2.0", "id": "q", "method": method, "params": params });
    script(
        "asking",
        &json!({
            "tools": [{ "name": "ask", "inputSchema": { "type": "object" } }],
            "on": { "tools/call ask": [
                { "say": ask },
                { "await": "q" },
                { "answer": { "content": [{ "type": "text", "text": "$answer_text" }] } },
            ]},
        }),
    )
}

struct Agent {
    session: Session,
    _home: Home,
}

impl Agent {
    fn new(servers: &[Value], capabilities: &Value, answers: &[(&str, Value)]) -> Self {
        let home = Home::with_config(&json!({ "servers": servers }));
        let session = Session::open_with_capabilities(
            home.onecall_with_config(&["serve"]),
            capabilities,
            answers,
        );
        Self { session, _home: home }
    }

    fn prints(&mut self, code: &str) -> String {
        let answer = self.session.call_tool("execute_program", json!({ "code": dedent(code) }));
        printed(&answer)
    }

    /// The result or the error that answered the server's request.
    fn asks(&mut self) -> Value {
        let printed = self.prints("import json\nprint(json.dumps(await mcp__asking__ask()))");
        let mut answer: Value = serde_json::from_str(&printed).expect("JSON");
        let answer = answer.as_object_mut().expect("an answer");
        answer.remove("jsonrpc");
        answer.remove("id");
        Value::Object(answer.clone())
    }

    /// The parameters of what the client was asked, without what belongs to the way.
    fn asked(&mut self) -> Vec<Value> {
        let mut asked: Vec<Value> =
            self.session.client().server_requests().iter().map(|it| it["params"].clone()).collect();
        for params in &mut asked {
            if let Some(params) = params.as_object_mut() {
                params.remove("_meta");
            }
        }
        asked
    }
}

fn sampling() -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": "hi" } });
    json!({ "messages": [message], "maxTokens": 7, "extra": { "kept": true } })
}

#[test]
fn sampling_reaches_a_client_that_can_sample() {
    let content = json!({ "type": "text", "text": "hello" });
    let result =
        json!({ "role": "assistant", "content": content, "model": "m", "stopReason": "endTurn" });
    let servers = [asking("sampling/createMessage", &sampling())];
    let answers = [("sampling/createMessage", result.clone())];
    let mut agent = Agent::new(&servers, &json!({ "sampling": {} }), &answers);
    assert_eq!(agent.asks(), json!({ "result": result }));
    assert_eq!(agent.asked(), [sampling()]);
}

#[test]
fn a_form_says_which_server_asks() {
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    let params = json!({ "message": "Your \u{1b}[31mname?\nPlease", "requestedSchema": schema });
    let servers = [asking("elicitation/create", &params)];
    let result = json!({ "action": "accept", "content": { "name": "Ada" } });
    let answers = [("elicitation/create", result.clone())];
    let mut agent = Agent::new(&servers, &json!({ "elicitation": {} }), &answers);
    assert_eq!(agent.asks(), json!({ "result": result }));
    assert_eq!(
        agent.asked(),
        [json!({
            "message": "The MCP server 'asking' asks: Your name?\nPlease",
            "requestedSchema": schema,
        })]
    );
}

#[test]
fn an_address_goes_only_to_a_client_that_opens_addresses() {
    let params = json!({
        "mode": "url", "message": "Log in", "url": "https://example.com", "elicitationId": "e1",
    });
    let answers = [("elicitation/create", json!({ "action": "accept" }))];
    let servers = [asking("elicitation/create", &params)];
    let both = json!({ "elicitation": { "form": {}, "url": {} } });
    let mut agent = Agent::new(&servers, &both, &answers);
    assert_eq!(agent.asks(), json!({ "result": { "action": "accept" } }));
    assert_eq!(agent.asked()[0]["url"], "https://example.com");

    let mut agent = Agent::new(&servers, &json!({ "elicitation": {} }), &answers);
    assert_eq!(agent.asks()["error"]["code"], -32601);
    assert_eq!(agent.asked(), [json!(null); 0]);
}

#[test]
fn what_the_client_cannot_do_is_refused_politely() {
    for method in ["sampling/createMessage", "elicitation/create", "roots/list", "tasks/list"] {
        let mut agent = Agent::new(&[asking(method, &json!({}))], &json!({}), &[]);
        let answer = agent.asks();
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
        assert_eq!(agent.asked(), [json!(null); 0], "{method}");
    }
}

#[test]
fn the_clients_own_refusal_is_passed_on() {
    let servers = [asking("sampling/createMessage", &sampling())];
    let mut agent = Agent::new(&servers, &json!({ "sampling": {} }), &[]);
    let expected = json!({ "code": -32601, "message": "the test client cannot do this" });
    assert_eq!(agent.asks(), json!({ "error": expected }));
}

/// A server that sends a request to its client although no call runs; its tool returns the answer.
fn asking_at_once(method: &str) -> Value {
    let ask = json!({ "jsonrpc": "2.0", "id": "q", "method": method, "params": {} });
    let text = json!({ "content": [{ "type": "text", "text": "$answer_text" }] });
    script(
        "asking",
        &json!({
            "tools": [{ "name": "ask", "inputSchema": { "type": "object" } }],
            "on": {
                "notifications/initialized": [{ "say": ask }],
                "tools/call ask": [{ "await": "q" }, { "answer": text }],
            },
        }),
    )
}

#[test]
fn folders_may_be_asked_for_at_any_time() {
    let roots = json!({ "roots": [{ "uri": "file:///work", "name": "work" }] });
    let answers = [("roots/list", roots.clone())];
    let able = json!({ "roots": { "listChanged": true } });
    let mut agent = Agent::new(&[asking_at_once("roots/list")], &able, &answers);
    assert_eq!(agent.asks(), json!({ "result": roots }));
}

#[test]
fn nothing_else_is_asked_while_no_call_is_under_way() {
    let able = json!({ "sampling": {}, "elicitation": {} });
    let answers = [("elicitation/create", json!({ "action": "accept" }))];
    let mut agent = Agent::new(&[asking_at_once("elicitation/create")], &able, &answers);
    assert_eq!(agent.asks(), json!({ "result": { "action": "cancel" } }));
    let mut agent = Agent::new(&[asking_at_once("sampling/createMessage")], &able, &answers);
    assert_eq!(agent.asks()["error"]["code"], -32000);
    assert_eq!(agent.asked(), [json!(null); 0]);
}

/// A server receives the capabilities of its client in `initialize`.
#[test]
fn servers_are_told_what_their_client_can_do() {
    let home = Home::new();
    let mut server = asking("ping", &json!({}));
    let log = home.text_path("received");
    server["args"].as_array_mut().unwrap().extend([json!("--log"), json!(log)]);
    home.write("config.json", json!({ "servers": [server] }).to_string());
    let able = json!({ "roots": { "listChanged": true }, "experimental": { "x": {} } });
    let session = Session::open_with_capabilities(home.onecall_with_config(&["serve"]), &able, &[]);
    let mut agent = Agent { session, _home: home };
    agent.prints("await mcp__asking__ask()");
    let received = std::fs::read_to_string(log).unwrap();
    let hello: Value = serde_json::from_str(received.lines().next().unwrap()).unwrap();
    assert_eq!(hello["params"]["capabilities"], json!({ "roots": { "listChanged": true } }));

    agent.session.client().notify("notifications/roots/list_changed", json!({}));
    agent.prints("await mcp__asking__ask()");
    let received = std::fs::read_to_string(agent._home.path("received")).unwrap();
    assert!(received.contains("notifications/roots/list_changed"), "{received}");
}

#[test]
fn a_question_that_is_withdrawn_is_withdrawn_from_the_client_too() {
    let ask =
        json!({ "jsonrpc": "2.0", "id": "q", "method": "sampling/createMessage", "params": {} });
    let withdraw = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "q" },
    });
    let server = script(
        "asking",
        &json!({
            "tools": [{ "name": "ask", "inputSchema": { "type": "object" } }],
            "on": { "tools/call ask": [
                { "say": ask }, { "sleep": { "ms": 1500 } }, { "say": withdraw },
                { "sleep": { "ms": 300 } },
                { "answer": { "content": [{ "type": "text", "text": "{}" }] } },
            ]},
        }),
    );
    // A client that is asked and never answers.
    let home = Home::with_config(&json!({ "servers": [server] }));
    let mut session = Session::open_with_capabilities(
        home.onecall_with_config(&["serve"]),
        &json!({ "sampling": {} }),
        &[],
    );
    session.client().ignore_requests("sampling/createMessage");
    let code = "await mcp__asking__ask()";
    let answer = session.call_tool("execute_program", json!({ "code": code }));
    assert!(!answer.is_error, "{}", answer.text);
    let cancelled = session.client().wait_notification("notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], session.client().server_requests()[0]["id"]);
}

/// In revision 2026-07-28 a call is answered with questions and made again.
#[test]
fn a_call_that_needs_input_is_made_again_with_it() {
    let question = json!({ "method": "elicitation/create", "params": { "message": "Sure?" } });
    let required = json!({
        "resultType": "input_required", "inputRequests": { "k": question }, "requestState": "s1",
    });
    let discovered = json!({
        "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} },
    });
    let refused = json!({
        "jsonrpc": "2.0", "id": "$id", "error": { "code": -32022, "message": "too old" },
    });
    let home = Home::new();
    let log = home.text_path("received");
    let text = json!({ "type": "text", "text": "$params_text" });
    let mut server = script(
        "asking",
        &json!({
            "tools": [
                { "name": "ask", "inputSchema": { "type": "object" } },
                { "name": "shed", "inputSchema": { "type": "object" } },
            ],
            "on": {
                "initialize": [{ "say": refused }],
                "server/discover": [{ "answer": discovered }],
                "tools/call ask": [{ "answer_once": required },
                    { "answer_later": { "resultType": "complete", "content": [text] } }],
                "tools/call shed": [{ "answer": { "resultType": "input_required", "requestState": "x" } }],
            },
        }),
    );
    server["args"].as_array_mut().unwrap().extend([json!("--log"), json!(log)]);
    home.write("config.json", json!({ "servers": [server] }).to_string());
    let answers = [("elicitation/create", json!({ "action": "decline" }))];
    let able = json!({ "elicitation": {} });
    let session =
        Session::open_with_capabilities(home.onecall_with_config(&["serve"]), &able, &answers);
    let mut agent = Agent { session, _home: home };
    let code = "
        import json
        params = await mcp__asking__ask(n=1)
        params.pop('_meta')
        print(json.dumps(params))
        try:
            await mcp__asking__shed()
        except ToolError as error:
            print(error)
    ";
    let expected = json!({
        "name": "ask", "arguments": { "n": 1 },
        "inputResponses": { "k": { "action": "decline" } }, "requestState": "s1",
    });
    let printed = agent.prints(code);
    let (params, shed) = printed.split_once('\n').unwrap();
    assert_eq!(serde_json::from_str::<Value>(params).unwrap(), expected);
    assert_eq!(
        shed.trim(),
        "'mcp__asking__shed' failed: the tool asked for input more than 10 times"
    );
    assert_eq!(agent.asked()[0]["message"], "The MCP server 'asking' asks: Sure?");
    let received = std::fs::read_to_string(agent._home.path("received")).unwrap();
    let call = received.lines().find(|line| line.contains("tools/call")).unwrap();
    assert!(call.contains(r#""io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}"#));
}
