//! A gateway with users: who is let in over HTTP, as whom, and what everybody else gets.

mod approvals;
mod challenges;
mod command;
mod exposed;
mod isolation;
mod keys;
pub mod logins;
mod personal_tokens;
mod policy;
mod provider_tokens;
mod removal;
mod sessions;
mod similar_names;

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::identity_provider::{IdentityProvider, SigningKey, TokenDraft};

use crate::support::finish;
use crate::support::http_gateway::{HttpGateway, initialize};
use crate::support::raw_http::{HttpResponse, Request};

const PUBLIC_URL: &str = "https://onecall.example";
const AUDIENCE: &str = "https://onecall.example/mcp";

/// A gateway whose users have tokens of an identity provider, or personal tokens.
struct Team {
    gateway: HttpGateway,
    provider: IdentityProvider,
}

impl Team {
    /// Starts both; `prepare` gives the provider its keys.
    fn new<T>(prepare: impl FnOnce(&IdentityProvider) -> T) -> (Self, T) {
        Self::with_oidc(&json!({}), prepare)
    }

    /// Starts both, with more settings of `oidc`.
    fn with_oidc<T>(oidc: &Value, prepare: impl FnOnce(&IdentityProvider) -> T) -> (Self, T) {
        let provider = IdentityProvider::start();
        let prepared = prepare(&provider);
        let mut settings = json!({ "issuer": provider.issuer() });
        for (name, value) in oidc.as_object().unwrap() {
            settings[name] = value.clone();
        }
        let users = json!({ "public_url": PUBLIC_URL, "oidc": settings });
        let gateway = HttpGateway::with_settings(&json!({ "users": users }));
        (Self { gateway, provider }, prepared)
    }

    /// A valid token of this user, to be changed and signed.
    fn draft(&self, user: &str) -> TokenDraft {
        TokenDraft::new(&self.provider.issuer(), AUDIENCE, user)
    }

    /// A valid token of this user.
    fn token(&self, user: &str, key: &SigningKey) -> String {
        self.draft(user).sign(key)
    }

    fn status(&self, token: &str) -> u16 {
        log_in(&self.gateway, token).status
    }

    fn refusal(&self, token: &str) -> (u16, String) {
        refusal(&self.gateway, token)
    }
}

/// A gateway with personal tokens only.
fn gateway_with_tokens() -> HttpGateway {
    HttpGateway::with_settings(&json!({ "users": { "public_url": PUBLIC_URL } }))
}

/// Runs `onecall users` beside the gateway; returns what it prints.
fn users(gateway: &HttpGateway, arguments: &[&str]) -> String {
    let arguments = [&["users"], arguments].concat();
    let ended = finish(gateway.home.onecall_with_config(&arguments));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.stdout
}

/// Stores a secret of a user.
fn set_secret(gateway: &HttpGateway, user: &str, name: &str, value: &str) {
    let mut set = gateway.home.onecall_with_config(&["secrets", "set", name, "--user", user]);
    set.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut set = set.spawn().expect("onecall starts");
    set.stdin.take().expect("a pipe").write_all(value.as_bytes()).expect("it reads");
    assert!(set.wait().expect("it ends").success());
}

/// Adds a user and makes a token.
pub(crate) fn personal_token(gateway: &HttpGateway, user: &str, groups: &[&str]) -> String {
    let mut arguments = vec!["add", user];
    groups.iter().for_each(|group| arguments.extend(["--group", group]));
    users(gateway, &arguments);
    users(gateway, &["token", user]).trim().to_owned()
}

pub(crate) fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// Sends an `initialize` with this token.
fn log_in(gateway: &HttpGateway, token: &str) -> HttpResponse {
    let message = initialize();
    Request::message(&message).header("Authorization", &bearer(token)).send(gateway.address)
}

/// The status and the text of the refusal of a token.
fn refusal(gateway: &HttpGateway, token: &str) -> (u16, String) {
    let answer = log_in(gateway, token);
    assert!(
        (400..600).contains(&answer.status),
        "the token is accepted with status {}",
        answer.status
    );
    (answer.status, answer.text())
}

/// The refusal of a token that will never be accepted.
fn unauthorized(why: &str) -> (u16, String) {
    (401, format!("Unauthorized: {why}\n"))
}
