//! Tokens of the identity provider: good ones of every algorithm, and forged ones of every kind.

use serde_json::{Value, json};
use testkit::identity_provider::{SigningKey, in_seconds};
use testkit::web;

use super::{AUDIENCE, PUBLIC_URL, Team, bearer, unauthorized};
use crate::support::http_gateway::{HttpGateway, initialize, stateless, stateless_request, text};
use crate::support::raw_http::Request;
use crate::support::{TIMEOUT, fixture};

const ALGORITHMS: [&str; 9] =
    ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];

#[test]
fn a_token_of_every_algorithm_is_accepted() {
    let (team, keys) = Team::new(|provider| ALGORITHMS.map(|it| provider.add_key(it, it)));
    for key in &keys {
        assert_eq!(team.status(&team.token("anna", key)), 200, "{}", key.algorithm());
    }
    // Keys of which the set does not say the algorithm.
    for key in keys.iter().filter(|key| ["RS256", "ES256"].contains(&key.algorithm())) {
        let mut public = key.public();
        public.as_object_mut().unwrap().remove("alg");
        let (other, ()) = Team::new(|provider| provider.set_keys(vec![public]));
        assert_eq!(other.status(&other.token("anna", key)), 200);
    }
}

#[test]
fn the_handler_gets_the_user_of_each_request() {
    let provider = testkit::identity_provider::IdentityProvider::start();
    let key = provider.add_key("k", "EdDSA");
    let settings = json!({
        "servers": [fixture("fixture", &[])],
        "users": { "oidc": { "issuer": provider.issuer(), "audience": AUDIENCE } },
    });
    let (gateway, _) = HttpGateway::serve("127.0.0.1:0", &[], &settings, |_| {});
    for user in ["anna", "ben"] {
        let draft = testkit::identity_provider::TokenDraft::new(&provider.issuer(), AUDIENCE, user);
        let message = stateless(1, "print(1 + 1)");
        let answer = stateless_request(&message)
            .header("Authorization", &bearer(&draft.sign(&key)))
            .send(gateway.address);
        assert_eq!(text(&answer.message()), "[Script executed successfully]\n2\n");
        let line = format!("user=\"{user}\"");
        assert!(testkit::process::wait_until(TIMEOUT, || gateway.stderr().contains(&line)));
        assert!(!gateway.stderr().contains("eyJ"), "a token is in the log");
    }
}

#[test]
fn forged_and_misused_tokens_are_refused() {
    let (team, [rsa, other]) =
        Team::new(|provider| ["RS256", "ES256"].map(|it| provider.add_key(it, it)));
    let good = || team.draft("anna");
    assert_eq!(team.status(&good().sign(&rsa)), 200);
    let stranger = SigningKey::new("RS256", "ES256");
    let unknown = SigningKey::new("of-a-stranger", "ES256");
    let algorithm = "the token is signed with an algorithm that is not accepted";
    let key_algorithm = "the key of the token is not used with this algorithm";
    let unknown_key = "the token is signed with a key that the issuer does not publish";
    let wrong_signature = "the signature of the token is wrong";
    let mut changed = good().sign(&other);
    let claims = good().claim("sub", "ben").sign(&other);
    let parts: Vec<&str> = claims.split('.').collect();
    let signature = changed.rsplit('.').next().unwrap().to_owned();
    changed = format!("{}.{}.{signature}", parts[0], parts[1]);
    let jwk = SigningKey::new("mine", "ES256");
    let rows: Vec<(&str, String, &str)> = vec![
        ("expired", good().claim("exp", in_seconds(-61)).sign(&rsa), "the token has expired"),
        (
            "without an end",
            good().claim("exp", Value::Null).sign(&rsa),
            "the claim 'exp' of the token is missing or cannot be used",
        ),
        (
            "not yet valid",
            good().claim("nbf", in_seconds(90)).sign(&rsa),
            "the token is not valid yet",
        ),
        (
            "of the future",
            good().claim("iat", in_seconds(90)).sign(&rsa),
            "the token is not valid yet",
        ),
        (
            "other audience",
            good().claim("aud", "https://other.example/mcp").sign(&rsa),
            "the token was made for another audience",
        ),
        (
            "no audience",
            good().claim("aud", Value::Null).sign(&rsa),
            "the claim 'aud' of the token is missing or cannot be used",
        ),
        (
            "other issuer",
            good().claim("iss", "https://other.example").sign(&rsa),
            "the token was made by another issuer",
        ),
        (
            "issuer with a slash",
            good().claim("iss", format!("{}/", team.provider.issuer())).sign(&rsa),
            "the token was made by another issuer",
        ),
        ("alg none", good().without_signature("none"), algorithm),
        ("alg NONE", good().without_signature("NONE"), algorithm),
        (
            "HMAC with the public key",
            good().sign_with_secret("RS256", &rsa.public_bytes()),
            algorithm,
        ),
        (
            "HMAC with the text of the key",
            good().sign_with_secret("RS256", rsa.public().to_string().as_bytes()),
            algorithm,
        ),
        ("HMAC with an empty key", good().sign_with_secret("", b""), algorithm),
        (
            "another algorithm of the same key",
            good().header("alg", "PS256").sign(&rsa),
            key_algorithm,
        ),
        ("a key of another kind", good().header("kid", "RS256").sign(&other), key_algorithm),
        ("a path as kid", good().header("kid", "../../../../dev/null").sign(&other), unknown_key),
        (
            "an address as kid",
            good().header("kid", "http://127.0.0.1:1/keys").sign(&other),
            unknown_key,
        ),
        ("a query as kid", good().header("kid", "x' OR '1'='1").sign(&other), unknown_key),
        (
            "no kid",
            good().header("kid", Value::Null).sign(&other),
            "the token does not name the key that it is signed with",
        ),
        ("the key of a stranger", good().sign(&unknown), unknown_key),
        (
            "a stranger with a known kid",
            good().header("kid", "ES256").sign(&stranger),
            wrong_signature,
        ),
        (
            "a key in the header",
            good().header("jwk", jwk.public()).header("kid", "ES256").sign(&jwk),
            wrong_signature,
        ),
        (
            "an unknown key in the header",
            good().header("jwk", jwk.public()).sign(&jwk),
            unknown_key,
        ),
        (
            "an address of keys in the header",
            good().header("jku", format!("{}/moved-keys", team.provider.issuer())).sign(&jwk),
            unknown_key,
        ),
        (
            "a critical extension",
            good().header("crit", json!(["exp"])).sign(&rsa),
            "the token has critical extensions, which are not supported",
        ),
        (
            "another type",
            good().header("typ", "logout+jwt").sign(&rsa),
            "this type of token is not accepted",
        ),
        ("changed claims", changed, wrong_signature),
        (
            "no name",
            good().claim("sub", Value::Null).sign(&rsa),
            "the claim 'sub' of the token is missing or cannot be used",
        ),
        (
            "the local user",
            good().claim("sub", "local").sign(&rsa),
            "the claim 'sub' of the token is missing or cannot be used",
        ),
        (
            "groups that are none",
            good().claim("groups", json!({ "admin": true })).sign(&rsa),
            "the claim 'groups' of the token is missing or cannot be used",
        ),
        (
            "too long",
            good().claim("filler", "x".repeat(16 * 1024)).sign(&rsa),
            "the token is too long",
        ),
        ("nonsense", "a.b.c".to_owned(), "the token is malformed"),
        ("one part", "nonsense".to_owned(), "the token is malformed"),
        ("four parts", format!("{}.x", good().sign(&rsa)), "the token is malformed"),
    ];
    for (what, token, why) in rows {
        assert_eq!(team.refusal(&token), unauthorized(why), "{what}");
    }
    assert_eq!(team.status(&good().sign(&rsa)), 200);
    // What tokens name was never requested.
    assert!(!team.provider.requests().contains(&"/moved-keys".to_owned()));
    let said = team.gateway.stderr();
    assert!(!said.contains("eyJ"), "a token is in the log: {said}");
}

#[test]
fn tokens_within_the_tolerance_of_clocks_are_accepted() {
    let (team, key) = Team::new(|provider| provider.add_key("k", "ES256"));
    let good = || team.draft("anna");
    for token in [
        good().claim("exp", in_seconds(-30)).sign(&key),
        good().claim("nbf", in_seconds(30)).sign(&key),
        good().claim("iat", in_seconds(30)).sign(&key),
        good().claim("aud", json!(["https://other.example", AUDIENCE])).sign(&key),
        good().header("typ", "JWT").sign(&key),
        good().header("typ", Value::Null).sign(&key),
        // With one key, a token need not name it.
        good().header("kid", Value::Null).sign(&key),
    ] {
        assert_eq!(team.status(&token), 200, "{token}");
    }
}

#[test]
fn get_and_delete_need_a_token_like_post() {
    let (team, key) = Team::new(|provider| provider.add_key("k", "EdDSA"));
    let token = bearer(&team.token("anna", &key));
    let message = initialize();
    for (method, target) in
        [("POST", "/mcp"), ("GET", "/mcp"), ("DELETE", "/mcp"), ("GET", "/metrics")]
    {
        let mut request = Request::message(&message);
        (request.method, request.target) = (method, target);
        assert_eq!(request.send(team.gateway.address).status, 401, "{method} {target}");
    }
    let health = Request::new("GET", "/health").send(team.gateway.address);
    assert_eq!((health.status, health.text()), (200, "ok".to_owned()));
    let metrics = |token: &str| {
        Request::new("GET", "/metrics").header("Authorization", token).send(team.gateway.address)
    };
    assert_eq!(metrics(&token).status, 403);
    let admin = team.draft("root").claim("groups", json!(["dev", "admin"])).sign(&key);
    assert_eq!(metrics(&bearer(&admin)).status, 200);
}

#[test]
fn a_client_finds_the_provider_and_comes_back_with_a_token() {
    let (team, key) = Team::new(|provider| provider.add_key("k", "ES256"));
    team.provider.log_in_with(&team.token("anna", &key));
    let refused = Request::message(&initialize()).send(team.gateway.address);
    let challenge = refused.header("www-authenticate").unwrap();
    let metadata = challenge.split('"').nth(1).unwrap().strip_prefix(PUBLIC_URL).unwrap();
    // The proxy in front would send the request here.
    let metadata = web::get(&format!("http://{}{metadata}", team.gateway.host())).body;
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let issuer = metadata["authorization_servers"][0].as_str().unwrap();
    let provider = web::get(&format!("{issuer}/.well-known/openid-configuration")).body;
    let provider: Value = serde_json::from_str(&provider).unwrap();
    // The example of RFC 7636.
    let (verifier, challenge) = (
        "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
        "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    );
    let login = format!(
        "{}?response_type=code&redirect_uri=http://localhost:1/back&state=s&code_challenge={challenge}",
        provider["authorization_endpoint"].as_str().unwrap()
    );
    let back = web::get(&login).location.unwrap();
    let code = back.strip_prefix("http://localhost:1/back?code=").unwrap();
    let code = code.strip_suffix("&state=s").unwrap();
    let endpoint = provider["token_endpoint"].as_str().unwrap();
    let exchange = |verifier: &str| {
        let form = format!("grant_type=authorization_code&code={code}&code_verifier={verifier}");
        web::send_request("POST", endpoint, &form).unwrap()
    };
    let granted: Value = serde_json::from_str(&exchange(verifier).body).unwrap();
    assert_eq!(team.status(granted["access_token"].as_str().unwrap()), 200);
    assert_eq!(exchange(verifier).status, 400);
}
