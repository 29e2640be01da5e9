//! Tokens of the provider that are not for this gateway, or not valid any more.

use serde_json::{Value, json};
use testkit::web::percent_encode;

use super::{Team, provider};
use crate::support::browser::Browser;
use crate::support::free_port;
use crate::support::http_gateway::initialize;
use crate::support::raw_http::{HttpResponse, Request};

const REDIRECT: &str = "http://127.0.0.1:8719/callback";

/// A PKCE verifier and its challenge: the example of RFC 7636.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

#[test]
fn only_valid_tokens_for_this_gateway_are_accepted() {
    let port = free_port();
    let (own, other) = (format!("http://127.0.0.1:{port}/mcp"), "https://other.example/mcp");
    let Some(provider) = provider(&[&own, other]) else { return };
    let team = Team::with(provider, port, &[]);

    let accepted = log_in(&team, &token(&team, "anna", &own));
    assert_eq!(accepted.status, 200);

    let foreign = log_in(&team, &token(&team, "anna", other));
    assert_eq!(foreign.status, 401);
    assert_eq!(foreign.text(), "Unauthorized: the token was made for another audience\n");

    let expired = log_in(&team, &token(&team, "olga", &own));
    assert_eq!(expired.status, 401);
    assert_eq!(expired.text(), "Unauthorized: the token has expired\n");
}

fn log_in(team: &Team, token: &str) -> HttpResponse {
    let message = initialize();
    let authorization = format!("Bearer {token}");
    Request::message(&message).header("Authorization", &authorization).send(team.gateway.address)
}

/// An access token of this user for a resource, as a client gets it.
pub(super) fn token(team: &Team, user: &str, resource: &str) -> String {
    let client = json!({
        "redirect_uris": [REDIRECT],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    });
    let client = post(team, "/reg", "application/json", &client.to_string());
    let id = client["client_id"].as_str().unwrap_or_else(|| panic!("{client}"));
    let resource = percent_encode(resource);
    let redirect = percent_encode(REDIRECT);
    let url = format!(
        "{}/auth?response_type=code&client_id={id}&redirect_uri={redirect}&scope=tools\
         &resource={resource}&code_challenge={CHALLENGE}&code_challenge_method=S256",
        team.issuer()
    );
    let back = Browser::default().authorize(&url, user, REDIRECT);
    let (_, fields) = back.split_once('?').expect("an answer");
    let code = fields.split('&').find_map(|field| field.strip_prefix("code="));
    let code = code.unwrap_or_else(|| panic!("{back}"));
    let form = format!(
        "grant_type=authorization_code&code={code}&client_id={id}&redirect_uri={redirect}\
         &resource={resource}&code_verifier={VERIFIER}"
    );
    let granted = post(team, "/token", "application/x-www-form-urlencoded", &form);
    let token = granted["access_token"].as_str().unwrap_or_else(|| panic!("{granted}"));
    token.to_owned()
}

fn post(team: &Team, path: &str, kind: &str, body: &str) -> Value {
    let mut request = Request::new("POST", path);
    request.body = body.as_bytes();
    let address = ([127, 0, 0, 1], team.provider.port).into();
    let length = body.len().to_string();
    let request = request.header("Content-Type", kind).header("Content-Length", &length);
    serde_json::from_str(&request.send(address).text()).expect("JSON")
}
