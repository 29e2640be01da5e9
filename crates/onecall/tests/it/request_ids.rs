//! Two requests with the same id on the standard streams.

use serde_json::{Value, json};
use testkit::mcp::{PROTOCOL, Session};
use testkit::rpc::Client;

use crate::support::{self, Home, ReceivedMessages, fixture};

fn serving(home: &Home) -> (Client, ReceivedMessages) {
    let server = fixture("fixture", &["--log", &home.text_path("received")]);
    home.write("config.json", json!({ "servers": [server] }).to_string());
    (
        Client::spawn(home.onecall_with_config(&["serve"])),
        ReceivedMessages::in_file(home.path("received")),
    )
}

fn program(id: &Value, code: &str, meta: &Value) -> String {
    let params = json!({
        "name": "execute_program", "arguments": { "code": code }, "_meta": meta,
    });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

fn received(client: &mut Client) -> Value {
    let line = client.receive_line().expect("a line");
    serde_json::from_str(&line).expect("a message")
}

/// What a message says: the text of a program's answer, or an error.
fn id_and_text(message: &Value) -> (Value, String) {
    let text = &message["result"]["content"][0]["text"];
    let text = text.as_str().or_else(|| message["error"]["message"].as_str());
    (message["id"].clone(), text.unwrap_or_default().to_owned())
}

/// Sends a second request with the id of one that is not answered yet.
fn use_an_id_twice(client: &mut Client, server: &ReceivedMessages, meta: &Value) {
    let in_use = "request id already in use: an earlier request with this id is not answered yet";
    for id in [json!(7), json!("seven")] {
        let calls = server.calls("sleep");
        let slow = "await mcp__fixture__sleep(ms=1000)\nprint('first')";
        client.send_line(&program(&id, slow, meta));
        assert!(testkit::process::wait_until(support::TIMEOUT, || {
            server.calls("sleep") > calls
        }));
        client.send_line(&program(&id, "print('second')", meta));
        let refused = received(client);
        assert_eq!(id_and_text(&refused), (id.clone(), in_use.to_owned()));
        assert_eq!(refused["error"]["code"], -32600);
        let ok = |word: &str| (id.clone(), format!("[Script executed successfully]\n{word}\n"));
        assert_eq!(id_and_text(&received(client)), ok("first"));
        // It is answered: another request may have its id.
        client.send_line(&program(&id, "print('third')", meta));
        assert_eq!(id_and_text(&received(client)), ok("third"));
    }
}

#[test]
fn an_id_that_is_in_use_is_refused_and_its_request_is_answered() {
    let home = Home::new();
    let (client, server) = serving(&home);
    let mut session = Session::new(client);
    session.initialize(PROTOCOL);
    use_an_id_twice(session.client(), &server, &json!({}));
}

#[test]
fn without_a_handshake_too() {
    let home = Home::new();
    let (mut client, server) = serving(&home);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    use_an_id_twice(&mut client, &server, &meta);
}

#[test]
fn a_request_that_is_cancelled_gives_its_id_back() {
    let home = Home::new();
    let (client, server) = serving(&home);
    let mut session = Session::new(client);
    session.initialize(PROTOCOL);
    let client = session.client();
    client.send_line(&program(&json!(7), "await mcp__fixture__hang()", &json!({})));
    let hang = server.wait_for_call("hang");
    client.notify("notifications/cancelled", json!({ "requestId": 7 }));
    server.wait_for_cancel(&hang);
    client.send_line(&program(&json!(7), "print('again')", &json!({})));
    let expected = "[Script executed successfully]\nagain\n".to_owned();
    assert_eq!(id_and_text(&received(client)), (json!(7), expected));
}
