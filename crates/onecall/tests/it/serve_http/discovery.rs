//! Clients over HTTP can search tools and read their definitions.

use serde_json::{Value, json};

use crate::support::http_gateway::HttpGateway;
use crate::support::raw_http::Request;

fn message(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }).to_string()
}

#[test]
fn tools_are_searched_and_read_with_a_session() {
    let gateway = HttpGateway::new();
    let client = gateway.client();
    let ask = |method: &str, params: &Value| {
        client.send(Request::message(&message(method, params))).message()["result"].clone()
    };
    let search = json!({ "name": "search_tools", "arguments": { "query": "add numbers" } });
    let found = ask("tools/call", &search)["content"][0]["text"].clone();
    assert!(found.as_str().unwrap().starts_with("await mcp__fixture__add("), "{found}");
    let listed = ask("resources/list", &json!({}));
    assert_eq!(listed["resources"][0]["uri"], "onecall://servers");
    let read = ask("resources/read", &json!({ "uri": "onecall://servers/fixture/add.ts" }));
    let text = read["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains("function mcp__fixture__add("), "{text}");
}

#[test]
fn and_without_one() {
    let gateway = HttpGateway::new();
    let uri = "onecall://servers/fixture/add.pyi";
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let message = message("resources/read", &json!({ "uri": uri, "_meta": meta }));
    let answer = Request::message(&message)
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "resources/read")
        .header("Mcp-Name", uri)
        .send(gateway.address)
        .message();
    let text = answer["result"]["contents"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("async def mcp__fixture__add("), "{answer}");
}
