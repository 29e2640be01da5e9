//! Each client has its own session: its own answers, progress and cancellations.

use serde_json::{Value, json};

use crate::support::http_gateway::{Client, HttpGateway, call, text};
use crate::support::raw_http::Request;

#[test]
fn an_unknown_session_is_not_found() {
    let gateway = HttpGateway::new();
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    let unknown = "0b1e7fb4-0000-4000-8000-000000000000";
    let ask = |session: &str| Request::message(&message).header("Mcp-Session-Id", session);
    assert_eq!(ask(unknown).send(gateway.address).status, 404);
    let stream = Request::new("GET", "/mcp").header("Accept", "text/event-stream");
    assert_eq!(stream.header("Mcp-Session-Id", unknown).send(gateway.address).status, 404);

    let client = gateway.client();
    let twice = ask(&client.session).header("Mcp-Session-Id", unknown);
    assert_eq!(twice.send(gateway.address).status, 400);
    assert_eq!(client.send(Request::new("DELETE", "/mcp")).status, 204);
    assert_eq!(client.send(Request::message(&message)).status, 404);
}

#[test]
fn progress_goes_to_who_asked_for_it() {
    let gateway = HttpGateway::new();
    let clients = [gateway.client(), gateway.client()];
    // Both clients use equal ids and tokens: only the session distinguishes them.
    let code = |client: usize| {
        format!(
            "for n in range(3):\n    await mcp__fixture__sleep(ms=200)\nprint('client', {client})"
        )
    };
    let mut answers: Vec<_> =
        (0..2).map(|client| clients[client].start(1, &code(client), "same")).collect();
    for (client, answer) in answers.iter_mut().enumerate() {
        let mut counts = Vec::new();
        let message = loop {
            let event = answer.next_event().expect("the answer comes");
            match event.data["method"].as_str() {
                Some("notifications/progress") => {
                    assert_eq!(event.data["params"]["progressToken"], "same");
                    counts.push(event.data["params"]["progress"].as_f64().unwrap());
                }
                _ if event.data["id"] == 1 => break event.data,
                _ => {}
            }
        };
        assert_eq!(text(&message), format!("[Script executed successfully]\nclient {client}\n"));
        assert!(!counts.is_empty());
        assert!(counts.is_sorted() && counts.iter().all(|&count| count <= 3.0), "{counts:?}");
    }
}

#[test]
fn a_client_cancels_only_its_own_call() {
    let (gateway, received) = HttpGateway::start(&[], |_| {});
    let (mine, yours) = (gateway.client(), gateway.client());
    let my_answer = mine.start(1, "await mcp__fixture__hang()", "t");
    let hang = received.wait_for_call("hang");
    let your_answer = yours.start(1, "await mcp__fixture__sleep(ms=1000)\nprint('done')", "t");
    received.wait_for_call("sleep");
    let cancelled = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 },
    });
    mine.notify(&cancelled);
    received.wait_for_cancel(&hang);
    assert!(text(&your_answer.message()).contains("done"));
    drop(my_answer);
}

#[test]
fn nobody_reads_the_stream_of_another() {
    let (gateway, received) = HttpGateway::start(&[], |_| {});
    let (owner, thief) = (gateway.client(), gateway.client());
    let mut answer =
        owner.start(1, "await mcp__fixture__sleep(ms=1500)\nprint('for the owner')", "t");
    let first = answer.next_event().expect("the stream begins");
    received.wait_for_call("sleep");
    let stolen = thief.send(
        Request::new("GET", "/mcp")
            .header("Accept", "text/event-stream")
            .header("Last-Event-ID", &first.id),
    );
    assert_eq!((stolen.status, stolen.text().as_str()), (200, ""));
    assert!(text(&answer.message()).contains("for the owner"));
}

#[test]
fn variables_are_kept_for_the_client_they_belong_to() {
    let gateway = HttpGateway::new();
    let last_line = |message: &Value| text(message).lines().last().unwrap_or_default().to_owned();
    let (mine, yours) = (gateway.client(), gateway.client());
    let ask = |client: &Client, code: &str| {
        let mut message = call(1, code, &json!({}));
        message["params"]["arguments"]["session"] = json!("same");
        last_line(&client.send(Request::message(&message.to_string())).message())
    };
    assert_eq!(ask(&mine, "x = 1"), "(no output)");
    assert_eq!(ask(&mine, "print(x)"), "1");
    assert_eq!(ask(&yours, "print('x' in globals())"), "False");
}
