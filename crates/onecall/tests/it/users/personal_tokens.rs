//! Personal tokens: made on the command line, stored as digests, refused once revoked or expired.

use serde_json::{Value, json};
use testkit::process::wait_until;

use super::{gateway_with_tokens, log_in, personal_token, refusal, unauthorized, users};
use crate::support::TIMEOUT;
use crate::support::http_gateway::{Client, HttpGateway};
use crate::support::raw_http::Request;

fn unknown() -> (u16, String) {
    unauthorized("the token is not known, was revoked or has expired")
}

#[test]
fn a_personal_token_lets_its_user_in_until_it_is_revoked() {
    let gateway = gateway_with_tokens();
    let token = personal_token(&gateway, "anna", &[]);
    let client = Client::open(gateway.address, &[&super::bearer(&token)]);
    assert_eq!(client.run(1, "print(6 * 7)"), "[Script executed successfully]\n42\n");
    let listed: Value = serde_json::from_str(&users(&gateway, &["tokens", "--json"])).unwrap();
    let id = listed[0]["id"].as_str().unwrap();
    users(&gateway, &["revoke", id]);
    assert!(wait_until(TIMEOUT, || log_in(&gateway, &token).status == 401));
    assert_eq!(refusal(&gateway, &token), unknown());
    // The session does not help any more.
    assert_eq!(client.send(Request::new("DELETE", "/mcp")).status, 401);
}

#[test]
fn an_expired_token_is_refused() {
    let gateway = gateway_with_tokens();
    users(&gateway, &["add", "anna"]);
    let token = users(&gateway, &["token", "anna", "--expires", "2s"]).trim().to_owned();
    assert_eq!(log_in(&gateway, &token).status, 200);
    assert!(wait_until(TIMEOUT, || log_in(&gateway, &token).status == 401));
    assert_eq!(refusal(&gateway, &token), unknown());
}

#[test]
fn tokens_that_were_never_made_are_refused() {
    let gateway = gateway_with_tokens();
    let token = personal_token(&gateway, "anna", &[]);
    for other in [
        "oc_".to_owned(),
        format!("oc_{}", "A".repeat(43)),
        token[..token.len() - 1].to_owned(),
        format!("{token}A"),
        "eyJhbGciOiJub25lIn0.e30.".to_owned(),
    ] {
        assert_eq!(refusal(&gateway, &other), unknown(), "{other}");
    }
    let long = format!("oc_{}", "A".repeat(17 * 1024));
    assert_eq!(refusal(&gateway, &long), unauthorized("the token is too long"));
}

#[test]
fn no_token_is_written_anywhere() {
    let gateway = gateway_with_tokens();
    let token = personal_token(&gateway, "anna", &[]);
    assert_eq!(log_in(&gateway, &token).status, 200);
    let secret = token.strip_prefix("oc_").unwrap().as_bytes();
    for file in gateway.home.state_files() {
        let content = std::fs::read(&file).unwrap_or_default();
        let is_there = content.windows(secret.len()).any(|part| part == secret);
        assert!(!is_there, "{}", file.display());
    }
    assert!(!gateway.stderr().contains(&token));
}

#[test]
fn the_use_of_a_token_is_noted() {
    let gateway = gateway_with_tokens();
    let token = personal_token(&gateway, "anna", &[]);
    let listed = || -> Value {
        serde_json::from_str(&users(&gateway, &["tokens", "anna", "--json"])).unwrap()
    };
    assert_eq!(listed()[0]["last_used"], Value::Null);
    assert_eq!(log_in(&gateway, &token).status, 200);
    assert!(wait_until(TIMEOUT, || listed()[0]["last_used"].is_string()));
}

#[test]
fn personal_tokens_can_be_turned_off() {
    let settings = json!({ "users": {
        "tokens": false,
        "oidc": { "issuer": "http://127.0.0.1:1", "audience": "https://onecall.example/mcp" },
    }});
    let gateway = HttpGateway::with_settings(&settings);
    let token = personal_token(&gateway, "anna", &[]);
    assert_eq!(refusal(&gateway, &token), unknown());
}

#[test]
fn the_groups_of_an_added_user_count() {
    let gateway = gateway_with_tokens();
    let admin = personal_token(&gateway, "root", &["admin"]);
    let user = personal_token(&gateway, "anna", &["dev"]);
    let metrics = |token: &str| {
        Request::new("GET", "/metrics")
            .header("Authorization", &super::bearer(token))
            .send(gateway.address)
            .status
    };
    assert_eq!((metrics(&admin), metrics(&user)), (200, 403));
    // A running gateway follows changes.
    users(&gateway, &["add", "anna", "--group", "admin"]);
    users(&gateway, &["add", "root"]);
    assert!(wait_until(TIMEOUT, || (metrics(&admin), metrics(&user)) == (403, 200)));
}
