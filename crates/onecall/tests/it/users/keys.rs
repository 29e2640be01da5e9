//! The keys of the identity provider: rotation, and a provider that is down, slow or lies.

use std::net::TcpListener;
use std::thread;

use serde_json::json;
use testkit::identity_provider::{IdentityProvider, KeyAnswer, TokenDraft};
use testkit::process::wait_until;

use super::{AUDIENCE, Team, personal_token, refusal, unauthorized};
use crate::support::TIMEOUT;
use crate::support::http_gateway::HttpGateway;

fn unavailable() -> (u16, String) {
    let why = "the identity provider cannot be reached, so the token cannot be checked; try again";
    (503, format!("Service Unavailable: {why}\n"))
}

fn unknown_key() -> (u16, String) {
    unauthorized("the token is signed with a key that the issuer does not publish")
}

#[test]
fn a_new_key_is_used_at_once_and_fetched_once() {
    let (team, old) = Team::new(|provider| provider.add_key("old", "ES256"));
    assert_eq!(team.status(&team.token("anna", &old)), 200);
    let before = team.provider.key_requests();
    let new = team.provider.add_key("new", "RS256");
    assert_eq!(team.status(&team.token("anna", &new)), 200);
    assert_eq!(team.status(&team.token("anna", &old)), 200);
    assert_eq!(team.provider.key_requests(), before + 1);
    // Unknown keys do not make the gateway ask again and again.
    for number in 0..20 {
        let token = team.draft("anna").header("kid", format!("k{number}")).sign(&new);
        assert_eq!(team.refusal(&token), unknown_key());
    }
    assert_eq!(team.provider.key_requests(), before + 1);
}

#[test]
fn a_withdrawn_key_ends_with_the_next_fetch() {
    let (team, old) = Team::new(|provider| provider.add_key("old", "ES256"));
    assert_eq!(team.status(&team.token("anna", &old)), 200);
    team.provider.set_keys(Vec::new());
    let new = team.provider.add_key("new", "ES256");
    assert_eq!(team.status(&team.token("anna", &new)), 200);
    assert_eq!(team.refusal(&team.token("anna", &old)), unknown_key());
}

#[test]
fn a_provider_that_fails_locks_out_nobody_whose_key_is_known() {
    for answer in [
        KeyAnswer::Failing,
        KeyAnswer::Large(10 * 1024 * 1024),
        KeyAnswer::Redirect,
        KeyAnswer::Text("<html>maintenance</html>".to_owned()),
        KeyAnswer::Text("{\"keys\": \"all\"}".to_owned()),
    ] {
        let (team, known) = Team::new(|provider| provider.add_key("known", "EdDSA"));
        assert_eq!(team.status(&team.token("anna", &known)), 200);
        team.provider.answer(answer.clone());
        let new = team.provider.add_key("new", "EdDSA");
        assert_eq!(team.refusal(&team.token("ben", &new)), unavailable(), "{answer:?}");
        assert_eq!(team.status(&team.token("anna", &known)), 200, "{answer:?}");
        assert_eq!(team.status(&team.token("clara", &known)), 200, "{answer:?}");
    }
}

#[test]
fn others_do_not_wait_for_a_slow_provider() {
    let (team, known) = Team::new(|provider| provider.add_key("known", "ES384"));
    let personal = personal_token(&team.gateway, "ben", &[]);
    assert_eq!(team.status(&team.token("anna", &known)), 200);
    let before = team.provider.key_requests();
    team.provider.answer(KeyAnswer::Silent);
    let new = team.provider.add_key("new", "ES384");
    let token = team.token("clara", &new);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| team.status(&token));
        assert!(wait_until(TIMEOUT, || team.provider.key_requests() > before));
        for _ in 0..5 {
            assert_eq!(team.status(&team.token("anna", &known)), 200);
            assert_eq!(team.status(&personal), 200);
        }
        assert!(!waiting.is_finished(), "the slow login is still under way");
        team.provider.answer(KeyAnswer::Good);
        assert_eq!(waiting.join().unwrap(), 200);
    });
}

#[test]
fn a_provider_that_is_down_at_the_start_lets_users_in_when_it_is_up() {
    // A port that is free for the moment.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let issuer = format!("http://{address}");
    let oidc = json!({ "issuer": issuer, "audience": AUDIENCE });
    let gateway = HttpGateway::with_settings(&json!({ "users": { "oidc": oidc } }));
    let key = testkit::identity_provider::SigningKey::new("k", "EdDSA");
    let token = TokenDraft::new(&issuer, AUDIENCE, "anna").sign(&key);
    assert_eq!(refusal(&gateway, &token), unavailable());
    let personal = personal_token(&gateway, "ben", &[]);
    assert_eq!(super::log_in(&gateway, &personal).status, 200);
    assert!(gateway.stderr().contains("nobody can log in with its tokens"), "{}", gateway.stderr());
    let provider = IdentityProvider::start_at(&address);
    provider.set_keys(vec![key.public()]);
    assert!(wait_until(TIMEOUT * 2, || super::log_in(&gateway, &token).status == 200));
}

#[test]
fn metadata_of_another_issuer_or_an_unsafe_address_are_not_used() {
    let impostor = "https://accounts.example";
    let (team, key) = Team::new(|provider| {
        provider.pretend_to_be(impostor);
        provider.add_key("k", "EdDSA")
    });
    assert_eq!(team.refusal(&team.token("anna", &key)), unavailable());
    let said = team.gateway.stderr();
    assert!(said.contains("contains the metadata of 'https://accounts.example'"), "{said}");
    let (team, key) = Team::new(|provider| {
        provider.move_keys("http://keys.example/jwks");
        provider.add_key("k", "EdDSA")
    });
    assert_eq!(team.refusal(&team.token("anna", &key)), unavailable());
    let said = team.gateway.stderr();
    assert!(said.contains("'http://keys.example/jwks', is not an https:// address"), "{said}");
}

#[test]
fn metadata_of_an_authorization_server_are_enough() {
    let (team, key) = Team::new(|provider| {
        provider.publish_oauth_metadata_only();
        provider.add_key("k", "PS256")
    });
    assert_eq!(team.status(&team.token("anna", &key)), 200);
}

#[test]
fn keys_that_are_no_good_are_left_out() {
    let (team, key) = Team::new(|provider| {
        let key = provider.add_key("good", "ES256");
        let mut for_encryption = key.public();
        for_encryption["kid"] = "encryption".into();
        for_encryption["use"] = "enc".into();
        provider.set_keys(vec![
            json!({ "kty": "oct", "kid": "secret", "alg": "HS256", "k": "c2VjcmV0" }),
            json!({ "kty": "RSA", "kid": "short", "n": "c2hvcnQ", "e": "AQAB" }),
            json!("nonsense"),
            for_encryption,
            key.public(),
        ]);
        key
    });
    assert_eq!(team.status(&team.token("anna", &key)), 200);
    let misused = team.draft("anna").header("kid", "encryption").sign(&key);
    assert_eq!(team.refusal(&misused), unknown_key());
    let hmac = team.draft("anna").sign_with_secret("secret", b"secret");
    let why = "the token is signed with an algorithm that is not accepted";
    assert_eq!(team.refusal(&hmac), unauthorized(why));
}
