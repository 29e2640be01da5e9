//! Sessions belong to the user who has begun them. For every other user they do not exist.

use serde_json::json;

use super::{Team, bearer, personal_token};
use crate::support::http_gateway::Client;
use crate::support::raw_http::Request;

const UNKNOWN: &str = "0b1e7fb4-0000-4000-8000-000000000000";

#[test]
fn the_session_of_another_user_is_not_found() {
    let (team, key) = Team::new(|provider| provider.add_key("k", "EdDSA"));
    let address = team.gateway.address;
    let anna = bearer(&team.token("anna", &key));
    let ben = bearer(&personal_token(&team.gateway, "ben", &[]));
    let admin = bearer(&team.draft("root").claim("groups", json!(["admin"])).sign(&key));
    let client = Client::open(address, &[&anna]);
    assert_eq!(client.run(1, "print('mine')"), "[Script executed successfully]\nmine\n");
    let message = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list" }).to_string();
    let requests = || {
        [
            Request::message(&message),
            Request::new("GET", "/mcp").header("Accept", "text/event-stream"),
            Request::new("GET", "/mcp")
                .header("Accept", "text/event-stream")
                .header("Last-Event-ID", "0/1"),
            Request::new("DELETE", "/mcp"),
            Request::message("nonsense"),
        ]
    };
    for other in [&ben, &admin] {
        for (theirs, unknown) in requests().into_iter().zip(requests()) {
            let method = theirs.method;
            let [theirs, unknown] = [(theirs, client.session.as_str()), (unknown, UNKNOWN)].map(
                |(request, session)| {
                    let answer = request
                        .header("Authorization", other)
                        .header("Mcp-Session-Id", session)
                        .send(address);
                    let mut headers = answer.headers.clone();
                    headers.retain(|(name, _)| name != "date");
                    (answer.status, headers, answer.text())
                },
            );
            assert_eq!(theirs.0, 404, "{method}");
            assert_eq!(theirs, unknown, "{method}");
        }
    }
    // Without a token, not even that is said.
    let anonymous = Request::message(&message).header("Mcp-Session-Id", &client.session);
    assert_eq!(anonymous.send(address).status, 401);
    // The session is still there for its user.
    assert_eq!(
        client.run(2, "print('still mine')"),
        "[Script executed successfully]\nstill mine\n"
    );
    assert_eq!(client.send(Request::new("DELETE", "/mcp")).status, 204);
    assert_eq!(client.send(Request::message(&message)).status, 404);
}

#[test]
fn a_user_keeps_a_session_with_another_token_and_other_groups() {
    let (team, key) = Team::new(|provider| provider.add_key("k", "EdDSA"));
    let client = Client::open(team.gateway.address, &[&bearer(&team.token("anna", &key))]);
    let promoted = team.draft("anna").claim("groups", json!(["admin"])).sign(&key);
    let personal = personal_token(&team.gateway, "anna", &["dev"]);
    let message = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list" }).to_string();
    for token in [promoted, personal] {
        let request = Request::message(&message)
            .header("Authorization", &bearer(&token))
            .header("Mcp-Session-Id", &client.session);
        assert_eq!(request.send(team.gateway.address).status, 200);
    }
}
