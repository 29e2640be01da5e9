//! The client behind a run. While a server works on a call of the run, it can report progress to
//! that client and send requests to it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::{BoxFuture, CallableName, LogLevel, ServerName, TraceContext};

/// The client behind a run, as each call of the run carries it: its identity, the requests it can
/// answer, and the channels that lead to it. It is plain data, so a layer that replaces one field
/// keeps all the others.
#[derive(Clone)]
pub struct Caller {
    /// Distinguishes the calls of different clients.
    pub client: ClientId,
    /// The kinds of requests that the client can answer.
    pub capabilities: CallerCapabilities,
    /// The trace that the client's request is part of.
    pub trace: Option<Arc<TraceContext>>,
    /// Receives the progress reports of servers. Without it, servers are not asked for progress.
    pub progress: Option<ProgressChannel>,
    /// Receives the requests that servers make of the client.
    pub questions: ServerQuestionChannel,
    /// Receives the log messages of servers, if the client wants any.
    pub log: Option<LogChannel>,
    /// The input that the client's request brings, if the client is one that answers the questions of
    /// a server by repeating its request (revision 2026-07-28). Servers are then not kept waiting:
    /// their questions are part of the answer.
    pub input: Option<Arc<ClientInput>>,
}

/// Answers to the questions of a server, which a client sends with its repeated request. Both are JSON
/// as the client wrote it.
#[derive(Clone, Debug, Default)]
pub struct ClientInput {
    /// The answers, by the keys of the questions.
    pub responses: Option<Box<RawValue>>,
    /// The state that the server sent with its questions.
    pub state: Option<Box<RawValue>>,
}

/// Passes log messages of servers on to the client.
#[derive(Clone)]
pub struct LogChannel {
    /// The least severe messages that the client wants.
    pub level: LogLevel,
    /// Sends the parameters of a log notification, as the server wrote them. It must not block.
    pub send: Arc<dyn Fn(&RawValue) + Send + Sync>,
}

/// Passes a server's progress report on to the client. It must not block.
pub type ProgressChannel = Arc<dyn Fn(ProgressReport<'_>) + Send + Sync>;

/// Puts a server's question to the client. The answer comes at the latest with the end of the
/// program whose call the question is about.
pub type ServerQuestionChannel = Arc<
    dyn Fn(ServerQuestion) -> BoxFuture<'static, Result<Box<RawValue>, ServerQuestionError>>
        + Send
        + Sync,
>;

/// A progress report of a server about one call.
#[derive(Clone, Copy, Debug)]
pub struct ProgressReport<'a> {
    /// The tool that was called.
    pub name: &'a CallableName,
    /// The message of the report.
    pub message: &'a str,
    /// The parameters of the notification, as the server wrote them.
    pub params: &'a RawValue,
}

impl Caller {
    /// A client that answers no requests and receives no progress reports.
    #[must_use]
    pub fn silent(client: ClientId) -> Self {
        Self {
            client,
            capabilities: CallerCapabilities::default(),
            trace: None,
            progress: None,
            questions: Arc::new(|question| {
                let refusal = ServerQuestionError::Unsupported(question.kind.method());
                Box::pin(std::future::ready(Err(refusal)))
            }),
            log: None,
            input: None,
        }
    }

    /// Sends a question to the client, whether or not the client declares that it can answer it.
    #[must_use]
    pub fn ask(
        &self,
        question: ServerQuestion,
    ) -> BoxFuture<'static, Result<Box<RawValue>, ServerQuestionError>> {
        (self.questions)(question)
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Caller").field(&self.client).finish()
    }
}

/// Identifies one of the connected clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientId(pub u64);

/// A request that a server makes of a client.
#[derive(Clone, Debug)]
pub struct ServerQuestion {
    /// The server that asks.
    pub server: ServerName,
    /// The kind of request.
    pub kind: ServerQuestionKind,
    /// The parameters of the request, as the server wrote them: a JSON object.
    pub params: Box<RawValue>,
}

impl ServerQuestion {
    /// The longest time that a question waits for its answer. The call that caused the question has
    /// a timeout of its own, which is nearly always shorter.
    pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(600);
}

/// The kinds of requests that a server may make of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerQuestionKind {
    /// Completing a text with the client's model.
    Sampling,
    /// Having the user fill in a form or open a URL.
    Elicitation,
    /// Listing the folders that the client works in.
    Roots,
}

impl ServerQuestionKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Sampling, Self::Elicitation, Self::Roots];

    /// The protocol method of this kind of request.
    #[must_use]
    pub fn method(self) -> &'static str {
        match self {
            Self::Sampling => "sampling/createMessage",
            Self::Elicitation => "elicitation/create",
            Self::Roots => "roots/list",
        }
    }

    /// The name of the client capability that allows this kind of request.
    #[must_use]
    pub fn capability(self) -> &'static str {
        match self {
            Self::Sampling => "sampling",
            Self::Elicitation => "elicitation",
            Self::Roots => "roots",
        }
    }

    /// The kind of request that `method` makes; `None` for any other method.
    #[must_use]
    pub fn from_method(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.method() == method)
    }
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ServerQuestionError {
    /// The client does not support this kind of request.
    #[error("no connected client supports '{0}'")]
    Unsupported(&'static str),
    /// No client is connected, or it is unclear which of several clients is meant.
    #[error("{0}")]
    Unanswerable(&'static str),
    /// The client answered with an error.
    #[error("{message}")]
    Refused {
        /// The error code of the client.
        code: i64,
        /// The error message of the client.
        message: String,
    },
    /// The client did not answer in time.
    #[error("the client did not answer in time")]
    TimedOut,
}

/// The kinds of requests that a client can answer, as the protocol writes capabilities: an object
/// with an entry for each kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallerCapabilities(Arc<Map<String, Value>>);

impl CallerCapabilities {
    /// Selects the relevant entries from the capabilities that a client declares.
    #[must_use]
    pub fn of(capabilities: &Value) -> Self {
        let capabilities = ServerQuestionKind::ALL.into_iter().filter_map(|kind| {
            let capability = capabilities.get(kind.capability()).filter(|it| it.is_object())?;
            Some((kind.capability().to_owned(), capability.clone()))
        });
        Self(Arc::new(capabilities.collect()))
    }

    /// The capabilities of a client that answers every kind of request.
    #[must_use]
    pub fn all() -> Self {
        Self::of(&serde_json::json!({
            "sampling": {},
            "elicitation": { "form": {}, "url": {} },
            "roots": { "listChanged": true },
        }))
    }

    /// The capabilities as JSON, as the protocol writes them.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(&*self.0).unwrap_or_default()
    }

    /// Whether a client with these capabilities can answer this request.
    #[must_use]
    pub fn permit(&self, kind: ServerQuestionKind, params: &RawValue) -> bool {
        let Some(capability) = self.0.get(kind.capability()) else { return false };
        if kind != ServerQuestionKind::Elicitation {
            return true;
        }
        let params: Value = serde_json::from_str(params.get()).unwrap_or_default();
        if params.get("mode").and_then(Value::as_str) == Some("url") {
            return capability.get("url").is_some();
        }
        // Before the protocol had modes, clients supported forms without declaring them.
        capability.get("form").is_some() || capability.get("url").is_none()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn permits(capabilities: &Value, kind: ServerQuestionKind, params: &Value) -> bool {
        let params = RawValue::from_string(params.to_string()).unwrap_or_default();
        CallerCapabilities::of(capabilities).permit(kind, &params)
    }

    #[test]
    fn a_mode_is_permitted_only_where_it_is_known() {
        let (form, url) = (json!({}), json!({ "mode": "url" }));
        let cases = [
            (json!({ "elicitation": {} }), true, false),
            (json!({ "elicitation": { "form": {} } }), true, false),
            (json!({ "elicitation": { "url": {} } }), false, true),
            (json!({ "elicitation": { "form": {}, "url": {} } }), true, true),
            (json!({ "sampling": {}, "elicitation": 5 }), false, false),
        ];
        for (capabilities, with_form, with_url) in cases {
            assert_eq!(permits(&capabilities, ServerQuestionKind::Elicitation, &form), with_form);
            assert_eq!(permits(&capabilities, ServerQuestionKind::Elicitation, &url), with_url);
        }
    }

    #[test]
    fn only_what_can_be_asked_counts() {
        let capabilities =
            CallerCapabilities::of(&json!({ "roots": {}, "experimental": { "x": {} } }));
        assert_eq!(capabilities.to_json(), r#"{"roots":{}}"#);
    }
}
