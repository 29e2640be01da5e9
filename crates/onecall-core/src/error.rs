//! The errors of tool calls. A program can catch each of them and continue.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::CallableName;

/// An error of a tool call, which a program catches as `ToolError`; the message is the display
/// text. Journals keep it in its serialized form.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(tag = "error", rename_all = "snake_case")]
pub enum ToolError {
    /// The tool, its server or the connection failed; the program continues.
    #[error("'{name}' failed: {message}")]
    Failed {
        /// The tool as the program named it.
        name: CallableName,
        /// The reason, in the words of the server or of the gateway.
        message: String,
        /// The error response of the server, if it refused the request instead of answering it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refusal: Option<Box<ServerRefusal>>,
    },
    /// The call did not reach the tool: the tool is unknown where tools are executed, or it does
    /// not accept these arguments. Nothing was done; the program continues.
    #[error("'{name}' failed: {message}")]
    InvalidCall {
        /// The tool as the program named it.
        name: CallableName,
        /// The problem with the call.
        message: String,
    },
    /// The call was not sent, because no server has the tool or its server cannot be reached.
    #[error("'{name}' failed: {message}")]
    NeverSent {
        /// The tool as the program named it.
        name: CallableName,
        /// The reason.
        message: String,
    },
    /// The configuration excludes the tool from programs.
    #[error("'{name}' is not available in execute_program")]
    NotAvailable {
        /// The tool as the program named it.
        name: CallableName,
    },
    /// The definition of the tool is not the one that the user approved.
    #[error("'{name}' is quarantined: {why}")]
    Quarantined {
        /// The tool as the program named it.
        name: CallableName,
        /// Why the tool is quarantined, and what the user can do.
        why: String,
    },
    /// The policy does not let the user make this call. The call was not made.
    #[error("'{name}' is not permitted: {rule}")]
    Forbidden {
        /// The tool as the program named it.
        name: CallableName,
        /// The rule that decided, with its reason if it gives one.
        rule: String,
    },
    /// A person denied the call, or nobody approved it in time. The call was not made.
    #[error("'{name}' was denied: {reason}")]
    Denied {
        /// The tool as the program named it.
        name: CallableName,
        /// The reason that the person gave.
        reason: String,
        /// Who denied the call.
        by: String,
    },
    /// The program has used up its calls; all its later calls fail too.
    #[error("'{name}' was not called: the limit of {limit} tool calls per program is reached")]
    QuotaExceeded {
        /// The tool as the program named it.
        name: CallableName,
        /// The limit that was reached.
        limit: u64,
    },
}

impl ToolError {
    /// The call to `name` failed for the reason in `message`.
    pub fn failed(name: &CallableName, message: impl Into<String>) -> Self {
        Self::Failed { name: name.clone(), message: message.into(), refusal: None }
    }

    /// The error response of a server that refused the request, if this is one.
    #[must_use]
    pub fn refusal(&self) -> Option<&ServerRefusal> {
        match self {
            Self::Failed { refusal, .. } => refusal.as_deref(),
            _ => None,
        }
    }
}

/// The error response of a server to a request, as the protocol writes it. A client that uses the
/// server through the gateway gets it unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRefusal {
    /// The error code.
    pub code: i64,
    /// The message of the server.
    pub message: String,
    /// Further information, if the server sent any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}
