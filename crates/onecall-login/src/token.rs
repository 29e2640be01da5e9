//! Tokens and the token endpoint, which exchanges a code or a refresh token for new tokens.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use onecall_core::text::one_line;
use reqwest::header::HeaderValue;
use reqwest::{StatusCode, Url};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::registration::{ClientAuthMethod, OAuthClient};
use crate::scope;
use crate::web::{LoginHttpClient, WebError, WebResponse};

/// How many seconds before its end a token is renewed; at most a fifth of its life.
const RENEWAL_MARGIN_SECONDS: u64 = 60;

/// The longest text of an authorization server that is shown, in characters.
const MAX_SHOWN_CHARS: usize = 200;

/// A token, a code or a secret. Its debug text is a placeholder.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(String);

impl Token {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text of the token, for the code that sends it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The token as an `Authorization` header; `None` if it contains invalid characters.
    #[must_use]
    pub fn bearer(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[secret]")
    }
}

/// An access token with its refresh token and its life.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Tokens {
    pub access: Token,
    /// The refresh token, if there is one.
    pub refresh: Option<Token>,
    /// When `access` expires and when it should be renewed, in seconds since 1970; `None` if
    /// unknown.
    pub life: Option<TokenLifetime>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TokenLifetime {
    renew_at: u64,
    ends_at: u64,
}

impl TokenLifetime {
    fn of(seconds: u64) -> Self {
        let ends_at = now().saturating_add(seconds);
        Self {
            renew_at: ends_at.saturating_sub(RENEWAL_MARGIN_SECONDS.min(seconds / 5).max(1)),
            ends_at,
        }
    }
}

impl Tokens {
    /// Whether the access token need not be renewed yet.
    pub fn are_fresh(&self) -> bool {
        self.life.is_none_or(|life| now() < life.renew_at)
    }

    /// Whether the access token has not expired.
    pub fn are_valid(&self) -> bool {
        self.life.is_none_or(|life| now() < life.ends_at)
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or(Duration::ZERO).as_secs()
}

/// Why no tokens were obtained. After any error except [`Refused`](Self::Refused) a retry may
/// succeed.
#[derive(Debug, Error)]
pub(crate) enum TokenError {
    /// The code, refresh token or client is invalid.
    #[error("{message}")]
    Refused { message: String },
    #[error("{message}")]
    NotIssued { message: String },
    #[error("it gave a token of a kind that onecall cannot use")]
    Unusable,
    #[error(transparent)]
    Unanswered(#[from] WebError),
}

/// A token endpoint with the client that uses it.
#[derive(Debug)]
pub(crate) struct TokenEndpoint<'a> {
    pub web: &'a LoginHttpClient,
    pub url: &'a Url,
    pub client: &'a OAuthClient,
    pub resource: &'a str,
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: Token,
    token_type: Option<String>,
    refresh_token: Option<Token>,
    /// A number, which some servers send as a string.
    expires_in: Option<Value>,
    scope: Option<String>,
}

#[derive(Deserialize)]
struct ErrorResponse {
    error: String,
    error_description: Option<String>,
}

impl TokenEndpoint<'_> {
    /// Exchanges a code for tokens. Also returns the granted scopes, if they are given.
    pub async fn exchange(
        &self,
        code: &Token,
        verifier: &Token,
        redirect: &str,
    ) -> Result<(Tokens, Option<Vec<String>>), TokenError> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.reveal()),
            ("code_verifier", verifier.reveal()),
            ("redirect_uri", redirect),
            ("resource", self.resource),
        ];
        self.request_tokens(&fields, &[code, verifier]).await
    }

    /// Exchanges a refresh token for new tokens. It is kept if the response contains no new one.
    pub async fn refresh(
        &self,
        refresh: &Token,
    ) -> Result<(Tokens, Option<Vec<String>>), TokenError> {
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.reveal()),
            ("resource", self.resource),
        ];
        let (mut tokens, scopes) = self.request_tokens(&fields, &[refresh]).await?;
        tokens.refresh.get_or_insert_with(|| refresh.clone());
        Ok((tokens, scopes))
    }

    /// Revokes a token. The URL must be that of the revocation endpoint.
    pub async fn revoke(&self, token: &Token, hint: &str) -> Result<(), TokenError> {
        let fields = [("token", token.reveal()), ("token_type_hint", hint)];
        let mut answer = self.post(&fields).await?;
        if answer.status == StatusCode::BAD_REQUEST
            && self.client.proof == ClientAuthMethod::Nothing
        {
            // Some servers require the field even for public clients.
            answer = self.post(&[&fields[..], &[("client_secret", "")]].concat()).await?;
        }
        if answer.status.is_success() {
            return Ok(());
        }
        Err(TokenError::NotIssued { message: self.error_text(&answer, &[token]) })
    }

    async fn request_tokens(
        &self,
        fields: &[(&str, &str)],
        secrets: &[&Token],
    ) -> Result<(Tokens, Option<Vec<String>>), TokenError> {
        let answer = self.post(fields).await?;
        let Some(given) = answer.json::<TokenResponse>().filter(|_| answer.status.is_success())
        else {
            let message = self.error_text(&answer, secrets);
            // Some servers send the error with a success status.
            let is_refusal = answer.json::<ErrorResponse>().is_some_and(|answer| {
                matches!(
                    answer.error.as_str(),
                    "invalid_grant" | "invalid_client" | "unauthorized_client"
                )
            });
            return Err(match is_refusal {
                true => TokenError::Refused { message },
                false => TokenError::NotIssued { message },
            });
        };
        let kind = given.token_type.as_deref().unwrap_or("Bearer");
        if !kind.eq_ignore_ascii_case("bearer") || given.access_token.bearer().is_none() {
            return Err(TokenError::Unusable);
        }
        let seconds = given.expires_in.and_then(|given| match given {
            Value::String(text) => text.parse().ok(),
            number => number.as_u64(),
        });
        let scopes = given.scope.map(|scopes| scope::parse(&scopes));
        let life = seconds.map(TokenLifetime::of);
        Ok((Tokens { access: given.access_token, refresh: given.refresh_token, life }, scopes))
    }

    async fn post(&self, fields: &[(&str, &str)]) -> Result<WebResponse, WebError> {
        let OAuthClient { id, secret, proof } = self.client;
        let secret = secret.as_ref().map(Token::reveal);
        let (more, user): (Vec<_>, _) = match (proof, secret) {
            (ClientAuthMethod::Header, Some(secret)) => (Vec::new(), Some((id.as_str(), secret))),
            (ClientAuthMethod::Field, Some(secret)) => {
                (vec![("client_id", id.as_str()), ("client_secret", secret)], None)
            }
            _ => (vec![("client_id", id.as_str())], None),
        };
        self.web.post_form(self.url, &[fields, &more].concat(), user).await
    }

    /// The text of an error response, with secrets removed.
    fn error_text(&self, answer: &WebResponse, secrets: &[&Token]) -> String {
        let mut message = match answer.json::<ErrorResponse>() {
            Some(ErrorResponse { error, error_description: Some(description) }) => {
                format!("{error}: {description}")
            }
            Some(ErrorResponse { error, .. }) => error,
            None => format!("it answered {}", answer.status),
        };
        for secret in secrets.iter().copied().chain(&self.client.secret) {
            message = message.replace(secret.reveal(), "[secret]");
        }
        one_line(&message, MAX_SHOWN_CHARS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_replaced_before_they_end() {
        let tokens = |seconds: Option<u64>| Tokens {
            access: Token::new("a"),
            refresh: None,
            life: seconds.map(TokenLifetime::of),
        };
        let state = |seconds| (tokens(seconds).are_fresh(), tokens(seconds).are_valid());
        assert_eq!(state(None), (true, true));
        assert_eq!(state(Some(3_600)), (true, true));
        assert_eq!(state(Some(1)), (false, true));
        assert_eq!(state(Some(0)), (false, false));
        let TokenLifetime { renew_at, ends_at } = TokenLifetime::of(3_600);
        assert_eq!(ends_at - renew_at, RENEWAL_MARGIN_SECONDS);
    }

    #[test]
    fn no_token_is_shown() {
        let life = None;
        let tokens = Tokens { access: Token::new("abc"), refresh: Some(Token::new("def")), life };
        let shown = "Tokens { access: [secret], refresh: Some([secret]), life: None }";
        assert_eq!(
            format!("{tokens:?} {:?}", Token::new("x").bearer()),
            format!("{shown} Some(Sensitive)")
        );
    }
}
