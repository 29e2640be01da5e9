//! Questions of exposed servers reach the client in the way that the client understands.

use serde_json::{Value, json};
use testkit::mcp::Session;
use testkit::rpc::Client;

use super::{HANDSHAKE, STATELESS, exposing, stateless};
use crate::support::Home;

fn named(name: &str) -> Value {
    json!({ "action": "accept", "content": { "name": name, "context": name } })
}

#[test]
fn a_client_with_a_handshake_is_asked_by_servers_of_both_revisions() {
    let able = json!({ "elicitation": {}, "sampling": {} });
    let said = json!({ "role": "assistant", "content": { "type": "text", "text": "Paris" }, "model": "m" });
    for (revision, tool, expected) in [
        (HANDSHAKE, "test_elicitation", "Ada"),
        (HANDSHAKE, "test_sampling", "Paris"),
        (STATELESS, "test_input_required_result_elicitation", "Ada"),
        (STATELESS, "test_input_required_result_sampling", "Paris"),
    ] {
        let home = Home::with_config(&exposing(revision));
        let answers =
            [("elicitation/create", named("Ada")), ("sampling/createMessage", said.clone())];
        let command = home.onecall_with_config(&["serve"]);
        let mut session = Session::open_with_capabilities(command, &able, &answers);
        let arguments = json!({ "message": "Your name?", "prompt": "A capital?" });
        let answer = session.call_tool(tool, arguments);
        assert!(answer.text.contains(expected), "{tool}: {}", answer.text);
        assert!(!session.client().server_requests().is_empty(), "{tool}");
    }
    // A prompt may ask, too.
    let home = Home::with_config(&exposing(STATELESS));
    let answers = [("elicitation/create", named("Ada"))];
    let command = home.onecall_with_config(&["serve"]);
    let mut session = Session::open_with_capabilities(command, &able, &answers);
    let params = json!({ "name": "test_input_required_result_prompt" });
    let got = session.client().request("prompts/get", params);
    assert_eq!(got["messages"][0]["content"]["text"], "The context is Ada.");
    let code = "print(await get_prompt('reference', 'test_input_required_result_prompt'))";
    let answer = session.call_tool("execute_program", json!({ "code": code }));
    assert!(answer.text.contains("The context is Ada."), "{}", answer.text);
}

#[test]
fn a_client_without_a_handshake_repeats_its_request_with_the_answers() {
    let home = Home::with_config(&exposing(STATELESS));
    let mut client = Client::spawn(home.onecall_with_config(&["serve"]));
    let able = json!({ "elicitation": {} });
    let tool = "test_input_required_result_multi_round";
    let mut params = json!({ "name": tool, "arguments": {} });
    let mut states = Vec::new();
    for step in ["step1", "step2"] {
        let asked = client.request("tools/call", stateless(params.clone(), &able));
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let message = asked["inputRequests"][step]["params"]["message"].as_str().unwrap();
        assert!(message.starts_with("The MCP server 'reference' asks: Step"), "{message}");
        params["inputResponses"] = json!({ step: named("Ada") });
        params["requestState"] = asked["requestState"].clone();
        states.push(asked["requestState"].clone());
    }
    assert_ne!(states[0], states[1]);
    let done = client.request("tools/call", stateless(params.clone(), &able));
    assert_eq!(done["content"][0]["text"], "both steps are done");
    params["requestState"] = json!("made up");
    let refused = client.try_request("tools/call", stateless(params, &able)).unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (-32602, "the requestState is not valid"));

    let mut params = json!({ "name": "test_input_required_result_prompt" });
    let asked = client.request("prompts/get", stateless(params.clone(), &able));
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    params["inputResponses"] = json!({ "user_context": named("Ada") });
    let got = client.request("prompts/get", stateless(params, &able));
    assert_eq!(got["messages"][0]["content"]["text"], "The context is Ada.");
}

#[test]
fn a_server_learns_what_the_client_can_be_asked() {
    let home = Home::with_config(&exposing(STATELESS));
    let mut client = Client::spawn(home.onecall_with_config(&["serve"]));
    let call = json!({ "name": "test_missing_capability" });
    let refused = client.try_request("tools/call", stateless(call.clone(), &json!({})));
    let refused = refused.unwrap_err();
    assert_eq!(refused.code, -32021);
    assert_eq!(refused.data, json!({ "requiredCapabilities": { "sampling": {} } }));
    let done = client.request("tools/call", stateless(call, &json!({ "sampling": {} })));
    assert_eq!(done["content"][0]["text"], "the client has the capability");
}

#[test]
fn a_server_with_a_handshake_cannot_ask_a_client_without_one() {
    let home = Home::with_config(&exposing(HANDSHAKE));
    let mut client = Client::spawn(home.onecall_with_config(&["serve"]));
    let call = json!({ "name": "test_elicitation", "arguments": { "message": "Your name?" } });
    let refused = client.try_request("tools/call", stateless(call, &json!({ "elicitation": {} })));
    assert!(refused.unwrap_err().message.contains("no connected client supports"));
    assert_eq!(client.server_requests(), [Value::Null; 0]);
}
