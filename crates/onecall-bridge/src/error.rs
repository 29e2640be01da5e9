//! Errors of starting a server and of single requests to it. The display texts are shown to users
//! and programs.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use onecall_core::ServerRefusal;
use onecall_login::AccessError;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use thiserror::Error;

use crate::protocol::request::STATELESS_VERSION;
use crate::supervision::status::FailureKind;
use crate::transport::http::HttpError;

/// The JSON-RPC error code for an unknown method.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;

/// The error code for a protocol revision that the server does not support.
const UNSUPPORTED_VERSION: i64 = -32022;

/// Why a server could not be started. The display text is the `reason` in its status.
#[derive(Debug, Error)]
pub(crate) enum StartError {
    #[error(
        "command '{command}' was not found; check that it is installed and on PATH, \
         or give its full path"
    )]
    CommandNotFound { command: String },
    #[error(
        "command '{command}' was not found; 'command' is the program alone: write \
         'command: {program}' and move the rest to 'args'"
    )]
    CommandLine { command: String, program: String },
    #[error("command '{command}' is a folder; give the path of a program in it")]
    Folder { command: String },
    #[error("command '{command}' may not be executed; check its permissions")]
    NotExecutable { command: String },
    #[error("its working directory '{}' does not exist; check 'cwd'", path.display())]
    NoWorkingDirectory { path: PathBuf },
    #[error("cannot start command '{command}': {source}")]
    NotStarted { command: String, source: io::Error },
    #[error("cannot set up the HTTP client: {detail}")]
    NoClient { detail: String },
    #[error("{first}; tried as an older HTTP+SSE server: {second}")]
    NeitherTransport { first: Box<StartError>, second: Box<StartError> },
    #[error("no MCP server was found. {}: {first}. {}: {second}", urls[0], urls[1])]
    NeitherAddress { urls: [String; 2], first: Box<StartError>, second: Box<StartError> },
    #[error("did not answer within {}s", limit.as_secs_f64())]
    TimedOut { limit: Duration, stderr_tail: String },
    #[error("{ending} during the handshake")]
    Ended { ending: String, stderr_tail: String },
    #[error("'{method}' failed: {source}")]
    Request { method: &'static str, source: RequestError },
    #[error("its answer to '{method}' is not valid: {source}")]
    InvalidAnswer { method: &'static str, source: AnswerError },
}

impl StartError {
    /// The last output of the server besides answers, to be appended to the error.
    pub fn stderr_tail(&self) -> &str {
        match self {
            Self::Ended { stderr_tail, .. } | Self::TimedOut { stderr_tail, .. } => stderr_tail,
            _ => "",
        }
    }

    /// The kind of problem, for the status of the server.
    pub fn failure_kind(&self) -> FailureKind {
        match self {
            Self::CommandNotFound { .. } | Self::CommandLine { .. } => FailureKind::NoCommand,
            Self::NotExecutable { .. } | Self::Folder { .. } => FailureKind::NotExecutable,
            Self::NoWorkingDirectory { .. } => FailureKind::NoDirectory,
            Self::TimedOut { .. } => FailureKind::TooSlow,
            Self::Ended { .. } => FailureKind::Ended,
            _ if self.advises_login() => FailureKind::LoggedOut,
            Self::Request { source: RequestError::Http(error), .. } => match error {
                HttpError::Refused { status, .. } if matches!(status.as_u16(), 401 | 403) => {
                    FailureKind::Unauthorized
                }
                HttpError::Unreachable { .. } => FailureKind::Unreachable,
                _ => FailureKind::Other,
            },
            _ => FailureKind::Other,
        }
    }

    /// Whether the server rejected the handshake in a way that a server of a revision without a
    /// handshake would.
    pub fn may_be_stateless(&self) -> bool {
        matches!(
            self,
            Self::Request {
                source: RequestError::Refused { .. }
                    | RequestError::Http(HttpError::Refused { code: Some(_), .. }),
                ..
            }
        )
    }

    /// Whether the server refused the protocol revision, and names one that onecall can use without a
    /// handshake.
    pub fn is_other_version(&self) -> bool {
        let refusal = match self {
            Self::Request { source, .. } => source.refusal(),
            _ => None,
        };
        let names_ours = |refusal: &ServerRefusal| {
            let supported = refusal.data.as_ref().and_then(|data| data["supported"].as_array());
            supported.is_some_and(|all| all.iter().any(|version| version == STATELESS_VERSION))
        };
        refusal.is_some_and(|it| it.code == UNSUPPORTED_VERSION && names_ours(&it))
    }

    /// Whether the server requires a login and no login exists.
    pub fn needs_login(&self) -> bool {
        match self {
            Self::Request { source: RequestError::Http(error), .. } => {
                matches!(error, HttpError::Access(AccessError::NeedsLogin { .. }))
            }
            Self::NeitherTransport { second, .. } => second.needs_login(),
            _ => false,
        }
    }

    /// Whether the remedy is to log in, for the first time or with more rights.
    pub fn advises_login(&self) -> bool {
        let lacks_scope = match self {
            Self::Request { source: RequestError::Http(HttpError::Access(error)), .. } => {
                matches!(error, AccessError::NeedsScope { .. } | AccessError::UserNeedsScope { .. })
            }
            _ => false,
        };
        lacks_scope || self.needs_login()
    }

    /// Whether the first message was answered by something that is not MCP, so that the server may
    /// be at another address of the same host and port.
    pub fn may_be_other_address(&self) -> bool {
        match self {
            Self::Request { source: RequestError::Http(error), .. } => error.is_not_mcp(),
            _ => false,
        }
    }

    /// Whether the server rejected the first message as a server with the older HTTP transport
    /// does.
    pub fn may_be_older_transport(&self) -> bool {
        match self {
            Self::Request { source: RequestError::Http(error), .. } => {
                error.may_be_older_transport()
            }
            _ => false,
        }
    }
}

/// The problem with the answer to one of the first requests.
#[derive(Debug, Error)]
pub(crate) enum AnswerError {
    #[error("it is not an object")]
    NoObject,
    #[error(transparent)]
    Unreadable(#[from] serde_json::Error),
    #[error("it supports no protocol revision that onecall knows")]
    UnknownRevisions,
}

impl AnswerError {
    /// Deserializes an object. Serde alone would also accept an array with the fields in order.
    pub fn read_object<'a, T: Deserialize<'a>>(json: &'a RawValue) -> Result<T, Self> {
        if !json.get().starts_with('{') {
            return Err(Self::NoObject);
        }
        Ok(serde_json::from_str(json.get())?)
    }
}

/// Why a single request failed. The connection stays open, except for [`Closed`](Self::Closed) and
/// [`ClosedBeforeSending`](Self::ClosedBeforeSending).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum RequestError {
    #[error("{message}")]
    Refused { code: i64, message: String, data: Option<Box<Value>> },
    #[error("no answer within {}s", limit.as_secs_f64())]
    NoAnswer { limit: Duration },
    #[error("the answer is larger than {} MiB", limit_bytes / (1024 * 1024))]
    TooLarge { limit_bytes: usize },
    #[error("the server cancelled the request")]
    Cancelled,
    #[error("the answer is not valid JSON: {detail}")]
    NotJson { detail: String },
    #[error("{0}")]
    Http(#[from] HttpError),
    #[error("the request was not sent: {0}")]
    NotSent(#[from] SendError),
    /// The connection closed while the request was waiting; the server may have acted on it.
    #[error("{reason}")]
    Closed { reason: Arc<str> },
    /// The connection had closed before the request was sent.
    #[error("{reason}")]
    ClosedBeforeSending { reason: Arc<str> },
}

impl RequestError {
    /// The error response of the server, if it refused the request.
    pub fn refusal(&self) -> Option<Box<ServerRefusal>> {
        let (code, message, data) = match self {
            Self::Refused { code, message, data } => (*code, message.clone(), data),
            Self::Http(HttpError::Refused { code: Some(code), server_text, data, .. }) => {
                (*code, server_text.clone().into_text(), data)
            }
            _ => return None,
        };
        Some(Box::new(ServerRefusal { code, message, data: data.as_deref().cloned() }))
    }
}

/// Why a message could not be sent to a server. No part of it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum SendError {
    #[error(
        "the server does not read its input, and {} MiB already wait for it, which is the limit",
        limit_bytes / (1024 * 1024)
    )]
    Backlog { limit_bytes: usize },
    #[error("onecall already has too many unsent answers to the server")]
    Busy,
    #[error("the server has closed its input")]
    Closed,
}
