//! A client's trace in the headers of its request.

use serde_json::json;

use crate::support::http_gateway::{HttpGateway, call, stateless, stateless_request, text};
use crate::support::raw_http::Request;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const OTHER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
const CODE: &str = "print(await mcp__fixture__add(1, 2))";

#[test]
fn a_trace_in_the_headers_goes_on_to_the_server() {
    let (gateway, received) = HttpGateway::start(&[], |_| {});
    let client = gateway.client();
    let message = call(1, CODE, &json!({})).to_string();
    let request = Request::message(&message).header("traceparent", PARENT);
    let request = request.header("tracestate", "a=1").header("tracestate", "b=2");
    assert!(text(&client.send(request).message()).ends_with("\n3\n"));
    let meta = received.wait_for_call("add")["params"]["_meta"].clone();
    assert_eq!(meta, json!({ "traceparent": PARENT, "tracestate": "a=1,b=2" }));
}

/// It is closer to what the client meant than what was put around it on the way.
#[test]
fn a_trace_in_the_request_itself_counts_more() {
    let (gateway, received) = HttpGateway::start(&[], |_| {});
    let client = gateway.client();
    let message = call(1, CODE, &json!({ "traceparent": OTHER })).to_string();
    let request = Request::message(&message).header("traceparent", PARENT);
    assert!(text(&client.send(request).message()).ends_with("\n3\n"));
    let meta = received.wait_for_call("add")["params"]["_meta"].clone();
    assert_eq!(meta, json!({ "traceparent": OTHER }));
}

#[test]
fn two_traces_are_none() {
    let (gateway, received) = HttpGateway::start(&[], |_| {});
    let message = stateless(1, CODE);
    let request = stateless_request(&message).header("traceparent", PARENT);
    let answer = request.header("traceparent", OTHER).send(gateway.address);
    assert!(text(&answer.message()).ends_with("\n3\n"));
    assert_eq!(received.wait_for_call("add")["params"].get("_meta"), None);
}
