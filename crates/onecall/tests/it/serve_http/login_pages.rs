//! The login pages of a gateway with users, as a browser or an attacker without a link sees them.

use serde_json::json;

use crate::support::http_gateway::HttpGateway;
use crate::support::raw_http::Request;

#[test]
fn a_page_without_a_valid_link_shows_nothing() {
    let settings = json!({ "users": { "public_url": "https://onecall.example.com" } });
    let gateway = HttpGateway::with_settings(&settings);
    let forged = "/login/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    for (method, target, status) in [
        ("GET", forged, 404),
        ("GET", "/login/", 404),
        ("GET", "/login/callback?state=x&code=y", 400),
        ("POST", "/login/callback", 405),
        ("POST", forged, 403),
        ("DELETE", forged, 405),
    ] {
        let answer =
            Request::new(method, target).header("Content-Length", "0").send(gateway.address);
        let what = format!("{method} {target}");
        assert_eq!(answer.status, status, "{what}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{what}");
        assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{what}");
        let policy = answer.header("content-security-policy").unwrap_or_default();
        assert!(policy.starts_with("default-src 'none'; "), "{what}: {policy}");
        let text = answer.text();
        assert!(text.contains("<h1>Not logged in</h1>") && !text.contains("AAAA"), "{text}");
    }
    let foreign = Request::new("POST", forged).header("Origin", "https://evil.example");
    assert_eq!(foreign.header("Content-Length", "0").send(gateway.address).status, 403);

    let without_users = HttpGateway::new();
    let answer = Request::new("GET", forged).send(without_users.address);
    assert_eq!(answer.status, 404);
    let text = answer.text();
    assert!(text.contains("MCP is served at /mcp"), "{text}");
}
