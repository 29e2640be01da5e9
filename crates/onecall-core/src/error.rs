//! Why a tool call gave no value.

use thiserror::Error;

use crate::CallableName;

/// What a program catches as `ToolError`; the message is this type's display text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ToolError {
    /// The tool, its server or the way there failed; the program goes on.
    #[error("'{name}' failed: {message}")]
    Failed {
        /// The tool as the program named it.
        name: CallableName,
        /// What happened, in the server's words or ours.
        message: String,
    },
    /// The call did not get as far as the tool: it is unknown where tools are executed, or
    /// does not take these arguments. Nothing was done; the program goes on.
    #[error("'{name}' failed: {message}")]
    NotUnderstood {
        /// The tool as the program named it.
        name: CallableName,
        /// What is wrong with the call.
        message: String,
    },
    /// The tool's server cannot be reached, and has not heard of the call.
    #[error("'{name}' failed: {message}")]
    NeverSent {
        /// The tool as the program named it.
        name: CallableName,
        /// Why not.
        message: String,
    },
    /// Policy keeps the tool away from programs.
    #[error("'{name}' is not available in execute_program")]
    NotAvailable {
        /// The tool as the program named it.
        name: CallableName,
    },
    /// The tool is not what its user agreed to.
    #[error("'{name}' is quarantined: {why}")]
    Quarantined {
        /// The tool as the program named it.
        name: CallableName,
        /// What is the matter with it, and what to do.
        why: String,
    },
    /// The program used up its calls; none of its later calls will work.
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
        Self::Failed { name: name.clone(), message: message.into() }
    }
}
