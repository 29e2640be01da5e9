//! Runs that wait for a person belong to the user who has begun them. For every other user they do not
//! exist.

use serde_json::{Value, json};

use super::{PUBLIC_URL, bearer, personal_token};
use crate::approvals::files;
use crate::support::http_gateway::{Client, HttpGateway, call, stateless_request, text};

const DELETE: &str = "print(await mcp__files__delete(path='/a'))";

/// A gateway on which deleting needs an approval, with the tokens of two users.
fn gateway() -> (HttpGateway, tempfile::TempDir, [String; 2]) {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("received");
    let gateway = HttpGateway::with_settings(&json!({
        "users": { "public_url": PUBLIC_URL },
        "servers": [files(log.to_str().expect("text"))],
        "approvals": { "ask": ["mcp__files__delete"], "wait_seconds": 0 },
    }));
    let tokens = ["anna", "ben"].map(|user| bearer(&personal_token(&gateway, user, &[])));
    (gateway, folder, tokens)
}

/// How often something was deleted.
fn deletions(folder: &tempfile::TempDir) -> usize {
    let received = folder.path().join("received");
    crate::support::ReceivedMessages::in_file(received).calls("delete")
}

#[test]
fn the_waiting_run_of_another_user_is_not_found() {
    let (gateway, folder, [anna, ben]) = gateway();
    let (anna, ben) =
        (Client::open(gateway.address, &[&anna]), Client::open(gateway.address, &[&ben]));
    let waits = anna.run(1, DELETE);
    let run = waits.lines().find_map(|line| line.strip_prefix("run: ")).expect("a run");
    let resume = |client: &Client, run: &str| {
        let params = json!({ "name": "continue_program", "arguments": { "run": run } });
        let message =
            json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
        let answer = client.post(&message).message();
        (answer["result"]["isError"].clone(), text(&answer))
    };
    let unknown = "01nosuchrun000";
    let (is_error, refusal) = resume(&ben, run);
    assert_eq!(is_error, true);
    assert_eq!(refusal.replace(run, unknown), resume(&ben, unknown).1);
    assert_eq!(resume(&anna, run).1, waits);
    assert_eq!(deletions(&folder), 0);
}

#[test]
fn the_request_state_of_another_user_decides_nothing() {
    let (gateway, folder, [anna, ben]) = gateway();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
    });
    let send = |user: &str, more: &Value| {
        let mut message = call(1, DELETE, &meta);
        for (key, value) in more.as_object().into_iter().flatten() {
            message["params"][key] = value.clone();
        }
        let message = message.to_string();
        stateless_request(&message).header("Authorization", user).send(gateway.address).message()
    };
    let asked = send(&anna, &json!({}));
    let state = asked["result"]["requestState"].as_str().expect("a state");
    let approve = json!({ "action": "accept", "content": { "call_1": "approve" } });
    let reply = json!({ "requestState": state, "inputResponses": { "approval": approve } });
    let refused = send(&ben, &reply);
    let message = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("requestState is not valid"), "{refused}");
    assert_eq!(deletions(&folder), 0);
    assert_eq!(text(&send(&anna, &reply)), "[Script executed successfully]\ndeleted\n");
    assert_eq!(deletions(&folder), 1);
}
