//! The secrets that are sent to a server with every request. They are removed from error messages,
//! in case the server sends them back.

use std::sync::Arc;

use onecall_config::RemoteTransport;
use onecall_login::{Login, Token};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use thiserror::Error;

/// The shortest secret that is removed from text: a shorter one would match too much.
const MIN_SECRET: usize = 6;

/// The error for a configured header that is not a valid one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "one of 'headers' has a name or a value that HTTP does not allow; correct it in the server's entry"
)]
pub(crate) struct InvalidHeader;

/// The configured headers of a server, ready to be sent.
pub(crate) fn headers(transport: &RemoteTransport) -> Result<HeaderMap, InvalidHeader> {
    let mut headers = HeaderMap::new();
    for (name, secret) in &transport.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| InvalidHeader)?;
        let mut value = HeaderValue::from_str(secret.reveal()).map_err(|_| InvalidHeader)?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// The secrets that are sent to a server.
pub(crate) struct Secrets {
    configured: Vec<String>,
    /// The login, which has further secrets.
    login: Option<Arc<Login>>,
}

impl Secrets {
    /// Collects the secrets in requests of `client` to `url`.
    pub fn new(
        client: &Client,
        url: &Url,
        transport: &RemoteTransport,
        login: Option<Arc<Login>>,
    ) -> Self {
        let headers = transport.headers.values().map(|secret| secret.reveal().to_owned());
        let mut secrets: Vec<String> =
            url.password().map(str::to_owned).into_iter().chain(headers).collect();
        // A user name in the URL is sent as a header too.
        let example = client.get(url.clone()).build().ok();
        let implied = example.as_ref().and_then(|request| request.headers().get(AUTHORIZATION));
        secrets.extend(implied.and_then(|value| value.to_str().ok()).map(str::to_owned));
        // In `Bearer abc`, the second word alone is a secret too.
        let token = |secret: &String| Some(secret.split_once(' ')?.1.to_owned());
        secrets.extend(secrets.iter().filter_map(token).collect::<Vec<_>>());
        secrets.retain(|secret| secret.len() >= MIN_SECRET);
        Self { configured: secrets, login }
    }

    /// The text of a server with every secret removed.
    pub fn removed_from(&self, body: &[u8]) -> String {
        let mut text = String::from_utf8_lossy(body).into_owned();
        let tokens = self.login.as_ref().map(|login| login.secrets()).unwrap_or_default();
        let tokens = tokens.iter().map(Token::reveal).filter(|token| token.len() >= MIN_SECRET);
        for secret in self.configured.iter().map(String::as_str).chain(tokens) {
            text = text.replace(secret, "[secret]");
        }
        text
    }
}
