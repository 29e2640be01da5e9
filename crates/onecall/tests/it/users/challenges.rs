//! What clients without a good token are told, to the letter, and the metadata that lead them to the
//! identity provider.

use serde_json::{Value, json};

use super::{AUDIENCE, PUBLIC_URL, Team, bearer, gateway_with_tokens, personal_token};
use crate::support::http_gateway::{HttpGateway, initialize};
use crate::support::raw_http::Request;
use crate::support::{Home, finish};

const METADATA: &str =
    "resource_metadata=\"https://onecall.example/.well-known/oauth-protected-resource/mcp\"";

/// The status, the challenge and the text of the response to an `initialize` with these headers.
fn challenge(
    gateway: &HttpGateway,
    target: &str,
    headers: &[(&str, &str)],
) -> (u16, Option<String>, String) {
    let message = initialize();
    let mut request = Request::message(&message);
    request.target = target;
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let answer = request.send(gateway.address);
    let challenge = answer.header("www-authenticate").map(str::to_owned);
    (answer.status, challenge, answer.text())
}

#[test]
fn every_refusal_says_what_is_missing() {
    let oidc = json!({ "scopes": ["mcp:run", "mcp:list"] });
    let (team, key) = Team::with_oidc(&oidc, |provider| provider.add_key("k", "EdDSA"));
    let gateway = &team.gateway;
    let scope = "scope=\"mcp:run mcp:list\"";
    assert_eq!(
        challenge(gateway, "/mcp", &[]),
        (
            401,
            Some(format!("Bearer {METADATA}, {scope}")),
            "Unauthorized: send your token as 'Authorization: Bearer TOKEN'\n".to_owned()
        )
    );
    let expired = bearer(&team.draft("anna").claim("exp", 1).sign(&key));
    let error = "error=\"invalid_token\", error_description=\"the token has expired\"";
    assert_eq!(
        challenge(gateway, "/mcp", &[("Authorization", &expired)]),
        (
            401,
            Some(format!("Bearer {METADATA}, {scope}, {error}")),
            "Unauthorized: the token has expired\n".to_owned()
        )
    );
    let some = bearer(&team.draft("anna").claim("scope", "openid mcp:run").sign(&key));
    let error = "error=\"insufficient_scope\", error_description=\"the token does not have all \
                 scopes that are required\"";
    assert_eq!(
        challenge(gateway, "/mcp", &[("Authorization", &some)]),
        (
            403,
            Some(format!("Bearer {METADATA}, {scope}, {error}")),
            "Forbidden: the token does not have all scopes that are required: mcp:run mcp:list\n"
                .to_owned()
        )
    );
    let all = team.draft("anna").claim("scope", "mcp:list openid mcp:run").sign(&key);
    let all = bearer(&all);
    assert_eq!(challenge(gateway, "/mcp", &[("Authorization", &all)]).0, 200);
    let why = "send one token, in the header Authorization and not in the address";
    let error = format!("error=\"invalid_request\", error_description=\"{why}\"");
    let misplaced = (
        400,
        Some(format!("Bearer {METADATA}, {scope}, {error}")),
        format!("Bad Request: {why}\n"),
    );
    let twice = [("Authorization", all.as_str()), ("Authorization", all.as_str())];
    assert_eq!(challenge(gateway, "/mcp", &twice), misplaced);
    let mixed = [("Authorization", all.as_str()), ("authorization", "Basic YTpi")];
    assert_eq!(challenge(gateway, "/mcp", &mixed), misplaced);
    let token = all.strip_prefix("Bearer ").unwrap();
    let in_address = format!("/mcp?access_token={token}");
    assert_eq!(challenge(gateway, &in_address, &[]), misplaced);
    assert_eq!(challenge(gateway, &in_address, &[("Authorization", &all)]), misplaced);
}

#[test]
fn the_scheme_may_be_written_in_any_case_and_nothing_else() {
    let gateway = gateway_with_tokens();
    let token = personal_token(&gateway, "anna", &[]);
    let status = |value: &str| challenge(&gateway, "/mcp", &[("Authorization", value)]).0;
    assert_eq!(status(&format!("bearer {token}")), 200);
    assert_eq!(status(&format!("BEARER   {token}")), 200);
    for value in [
        token.clone(),
        format!("Basic {token}"),
        format!("Token {token}"),
        format!("Bearer {token}, Bearer {token}"),
        format!("Bearer {token} {token}"),
        format!("Bearer {token}x"),
        format!("Bearer {}", token.to_uppercase()),
        "Bearer".to_owned(),
    ] {
        assert_eq!(status(&value), 401, "{value}");
    }
    for name in ["X-Authorization", "Proxy-Authorization", "X-Forwarded-User", "Cookie"] {
        let value = bearer(&token);
        assert_eq!(challenge(&gateway, "/mcp", &[(name, &value)]).0, 401, "{name}");
    }
}

#[test]
fn metadata_name_the_resource_and_its_issuer() {
    let oidc = json!({ "scopes": ["mcp:run"] });
    let (team, ()) = Team::with_oidc(&oidc, |_| ());
    let expected = json!({
        "resource": AUDIENCE,
        "authorization_servers": [team.provider.issuer()],
        "scopes_supported": ["mcp:run"],
        "bearer_methods_supported": ["header"],
    });
    for path in
        ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"]
    {
        let answer = Request::new("GET", path)
            .header("Origin", "https://any.example")
            .send(team.gateway.address);
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let document: Value = serde_json::from_str(&answer.text()).unwrap();
        assert_eq!(document, expected);
        let asks = Request::new("OPTIONS", path)
            .header("Origin", "https://any.example")
            .header("Access-Control-Request-Method", "GET")
            .header("Access-Control-Request-Headers", "mcp-protocol-version")
            .send(team.gateway.address);
        assert_eq!(asks.status, 204);
        assert_eq!(asks.header("access-control-allow-origin"), Some("*"));
        assert_eq!(asks.header("access-control-allow-headers"), Some("mcp-protocol-version"));
        assert_eq!(Request::new("POST", path).send(team.gateway.address).status, 405);
        let foreign = Request::new("GET", path).header("Host", "evil.example");
        assert_eq!(foreign.send_unchanged(team.gateway.address).status, 403);
    }
    // Other pages cannot do more than that.
    let message = initialize();
    let page = Request::message(&message).header("Origin", "https://any.example");
    assert_eq!(page.send(team.gateway.address).status, 403);
    // Requests that come through a proxy name the public address.
    let proxied = Request::message(&message).header("Host", "onecall.example");
    assert_eq!(proxied.send_unchanged(team.gateway.address).status, 401);
}

#[test]
fn without_an_identity_provider_metadata_name_none() {
    let gateway = gateway_with_tokens();
    let path = "/.well-known/oauth-protected-resource/mcp";
    let answer = Request::new("GET", path).send(gateway.address);
    let document: Value = serde_json::from_str(&answer.text()).unwrap();
    let resource = format!("{PUBLIC_URL}/mcp");
    assert_eq!(document, json!({ "resource": resource, "bearer_methods_supported": ["header"] }));
    assert_eq!(challenge(&gateway, "/mcp", &[]).1, Some(format!("Bearer {METADATA}")));
}

#[test]
fn without_users_there_are_no_metadata() {
    let gateway = HttpGateway::new();
    let path = "/.well-known/oauth-protected-resource/mcp";
    assert_eq!(Request::new("GET", path).send(gateway.address).status, 404);
}

#[test]
fn without_a_public_address_the_request_names_it() {
    let gateway = HttpGateway::with_settings(&json!({ "users": {} }));
    let here = format!("http://{}", gateway.host());
    assert_eq!(
        challenge(&gateway, "/mcp", &[]).1,
        Some(format!(
            "Bearer resource_metadata=\"{here}/.well-known/oauth-protected-resource/mcp\""
        ))
    );
}

#[test]
fn a_token_for_everybody_and_users_exclude_each_other() {
    let home = Home::with_config(&json!({ "users": {} }));
    let mut command = home.onecall_with_config(&["serve", "--http", "127.0.0.1:0"]);
    command.env("ONECALL_TOKEN", "a-token-of-the-test");
    let ended = finish(command);
    assert_eq!(ended.code, Some(2));
    insta::assert_snapshot!(ended.stderr, @"error: the configuration has `users`, and a token for everybody is given (--token, --token-file or ONECALL_TOKEN): each user needs a token of their own, which `onecall users token NAME` makes; leave the token for everybody away, or remove `users`");
}
