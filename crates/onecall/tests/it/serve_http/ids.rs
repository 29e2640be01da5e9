//! Two requests with the same id.

use serde_json::json;

use crate::support::http_gateway::{HttpGateway, call, text};
use crate::support::raw_http::Request;

const SLOW: &str = "await mcp__fixture__sleep(ms=1000)\nprint('first')";

#[test]
fn an_id_that_is_in_use_is_refused_and_its_request_is_answered() {
    let (gateway, received) = HttpGateway::start(&[], |_| {});
    let client = gateway.client();
    let first = client.start(1, SLOW, "t");
    received.wait_for_call("sleep");
    for _ in 0..2 {
        let second = call(1, "print('second')", &json!({})).to_string();
        let refused = client.send(Request::message(&second));
        assert_eq!(refused.status, 200);
        assert_eq!(
            refused.message(),
            json!({
                "jsonrpc": "2.0",
                "id": 1,
                "error": {
                    "code": -32600,
                    "message": "request id already in use: an earlier request with this id is \
                                not answered yet",
                },
            })
        );
    }
    // A text is another id than a number, and another client has ids of its own.
    let mut as_text = call(1, "print('text')", &json!({}));
    as_text["id"] = json!("1");
    let answer = client.send(Request::message(&as_text.to_string())).message();
    assert!(text(&answer).contains("text"), "{answer}");
    assert!(gateway.client().run(1, "print('other')").contains("other"));

    let answer = first.message();
    assert!(answer["id"] == 1 && text(&answer).contains("first"), "{answer}");
    assert!(client.run(1, "print('again')").contains("again"));
}

#[test]
fn a_request_that_is_cancelled_gives_its_id_back() {
    let (gateway, received) = HttpGateway::start(&[], |_| {});
    let client = gateway.client();
    let mut first = client.start(1, "await mcp__fixture__hang()", "t");
    let hang = received.wait_for_call("hang");
    let cancelled = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 },
    });
    client.notify(&cancelled);
    received.wait_for_cancel(&hang);
    while let Some(event) = first.next_event() {
        assert!(event.data.get("id").is_none(), "{event:?}");
    }
    assert!(client.run(1, "print('again')").contains("again"));
}

#[test]
fn requests_that_stand_for_themselves_may_have_the_same_id() {
    let (gateway, received) = HttpGateway::start(&[], |_| {});
    std::thread::scope(|scope| {
        let first = scope.spawn(|| gateway.start_stateless(1, SLOW).message());
        received.wait_for_call("sleep");
        let second = gateway.start_stateless(1, "print('second')").message();
        assert!(second["id"] == 1 && text(&second).contains("second"), "{second}");
        let first = first.join().unwrap();
        assert!(first["id"] == 1 && text(&first).contains("first"), "{first}");
    });
}
