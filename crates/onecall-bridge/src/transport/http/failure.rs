//! Errors of HTTP exchanges with a server, each in one line. Text of the server is shortened, and
//! no secret appears in them.

use std::fmt;
use std::time::Duration;

use onecall_core::text::one_line;
use onecall_login::AccessError;
use onecall_login::http::cause;
use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

/// The longest text of a server that is shown, in characters.
const MAX_SHOWN_CHARS: usize = 200;

/// Why one HTTP exchange failed. Other exchanges are not affected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum HttpError {
    #[error("could not reach {origin}: {detail}")]
    Unreachable { origin: String, detail: String },
    /// The connection broke after at least a part of the request was sent.
    #[error(
        "the connection to {origin} broke ({detail}); the server may have executed the request"
    )]
    Broken { origin: String, detail: String },
    #[error("the server answered {status}{}{server_text}", advice(*status))]
    Refused {
        status: StatusCode,
        /// The code of the JSON-RPC error in the body, if there is one.
        code: Option<i64>,
        server_text: ServerText,
        /// Further information of the JSON-RPC error, if there is any.
        data: Option<Box<Value>>,
    },
    #[error(
        "the server redirects to {target}, which is not followed; if that is the right address, \
         change 'url'"
    )]
    Redirected { target: String },
    #[error(
        "the server answered with {found}, not with JSON or an event stream; check 'url'{server_text}"
    )]
    NotMcp { found: String, server_text: ServerText },
    #[error("the server accepted the request without answering it")]
    NotAnswered,
    #[error("the server did not accept the request within {}s", limit.as_secs_f64())]
    NotAccepted { limit: Duration },
    #[error("the server answered with something that is not MCP{server_text}")]
    UnexpectedAnswer { server_text: ServerText },
    #[error("the server ended its answer too early; it may have executed the request")]
    Unfinished,
    #[error("the server ended the session")]
    SessionLost,
    #[error("the server ended the session, and onecall could not open a new one: {reason}")]
    NoNewSession { reason: String },
    #[error("the server closed its event stream; it may have executed the request")]
    StreamClosed,
    #[error("the server named an address for messages that is not its own: {target}")]
    ForeignEndpoint { target: String },
    #[error("the server opened an event stream and did not say where messages go")]
    NoEndpoint,
    #[error(transparent)]
    Access(#[from] AccessError),
}

impl HttpError {
    /// Whether a server that only supports the older transport could have answered like this.
    pub fn may_be_older_transport(&self) -> bool {
        match self {
            Self::Refused { status, code: None, .. } => matches!(
                *status,
                StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
            ),
            _ => false,
        }
    }

    /// Whether the response came from something that is not an MCP server.
    pub fn is_not_mcp(&self) -> bool {
        matches!(
            self,
            Self::Refused { code: None, .. }
                | Self::Redirected { .. }
                | Self::NotMcp { .. }
                | Self::NotAnswered
                | Self::UnexpectedAnswer { .. }
        )
    }

    /// Converts an error of the HTTP client; `origin` is the server's address.
    pub fn from_client(error: &reqwest::Error, origin: &str) -> Self {
        let (origin, detail) = (origin.to_owned(), cause(error));
        if error.is_connect() || error.is_builder() {
            Self::Unreachable { origin, detail }
        } else {
            Self::Broken { origin, detail }
        }
    }

    /// Converts an error response.
    pub fn refused(status: StatusCode, body: &str) -> Self {
        match serde_json::from_str::<ErrorBody>(body) {
            Ok(ErrorBody { error }) => Self::Refused {
                status,
                code: Some(error.code),
                server_text: ServerText::new(&error.message),
                data: error.data,
            },
            Err(_) => {
                Self::Refused { status, code: None, server_text: ServerText::new(body), data: None }
            }
        }
    }
}

#[derive(Deserialize)]
struct ErrorBody {
    error: ErrorObject,
}

#[derive(Deserialize)]
struct ErrorObject {
    code: i64,
    message: String,
    data: Option<Box<Value>>,
}

/// The text of a server about a failure, for the end of an error message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerText(String);

impl ServerText {
    /// Shortens the text to one line that is safe to show.
    pub fn new(text: &str) -> Self {
        let mut joined = String::new();
        for word in text.split_whitespace() {
            if joined.len() > 4 * MAX_SHOWN_CHARS {
                break;
            }
            joined.push_str(if joined.is_empty() { "" } else { " " });
            joined.push_str(word);
        }
        Self(one_line(&joined, MAX_SHOWN_CHARS))
    }

    /// The text itself.
    pub fn into_text(self) -> String {
        self.0
    }

    /// Whether the text contains `word`, which must be in lower case.
    pub fn contains_word(&self, word: &str) -> bool {
        self.0.to_ascii_lowercase().contains(word)
    }
}

impl fmt::Display for ServerText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(formatter, ": {}", self.0) }
    }
}

fn advice(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "; check the token in 'headers'",
        StatusCode::FORBIDDEN => "; the credentials in 'headers' do not allow this",
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => "; check 'url'",
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => "; the proxy wants a user and a password",
        StatusCode::TOO_MANY_REQUESTS => "; try again later",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_short_and_safe() {
        let page = format!("<html>\n  <h1>Oops\u{1b}[31m</h1>{}", "x ".repeat(5_000));
        let shown = HttpError::refused(StatusCode::BAD_GATEWAY, &page).to_string();
        assert!(shown.starts_with("the server answered 502 Bad Gateway: <html> <h1>Oops</h1>x x"));
        assert!(shown.ends_with('…') && shown.chars().count() < 250, "{shown}");
    }

    #[test]
    fn a_json_rpc_error_speaks_for_itself() {
        let body = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"No session"},"id":null}"#;
        let error = HttpError::refused(StatusCode::BAD_REQUEST, body);
        assert_eq!(error.to_string(), "the server answered 400 Bad Request: No session");
        assert!(!error.may_be_older_transport());
        let error = HttpError::refused(StatusCode::NOT_FOUND, "");
        assert_eq!(error.to_string(), "the server answered 404 Not Found; check 'url'");
        assert!(error.may_be_older_transport());
    }
}
