//! Why a tool of ours gave no answer. The display text is what the agent reads.

use onecall_core::ToolError;
use onecall_engine::EngineMismatch;
use onecall_gateway::NoSuchServer;
use onecall_runtime::SaveError;
use thiserror::Error;

use crate::definitions::SEARCH_TOOLS;

/// A request to one of our tools, or to an exposed one, that failed.
#[derive(Debug, Error)]
pub(crate) enum RequestError {
    /// The arguments cannot be used.
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    /// The program was to be kept as a file, and was neither kept nor run.
    #[error(transparent)]
    NotSaved(#[from] SaveError),
    /// The search is for tools of a server that does not exist.
    #[error("{SEARCH_TOOLS}: {0}")]
    NoSuchServer(#[from] NoSuchServer),
    /// The exposed tool could not be called, or failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The arguments for an exposed tool could not be written.
    #[error(transparent)]
    NotWritten(serde_json::Error),
    /// The exposed tool answered with something else than a result.
    #[error("'{name}' failed: its result is not valid MCP: {source}")]
    NotMcp {
        /// The tool as the client named it.
        name: String,
        /// What is wrong with the answer.
        source: serde_json::Error,
    },
}

/// Arguments of one of our tools that cannot be used.
#[derive(Debug, Error)]
pub(crate) enum ArgumentError {
    /// An argument that must be there is not.
    #[error("{tool}: '{name}' is missing")]
    Missing {
        /// The tool that was called.
        tool: String,
        /// The argument.
        name: String,
    },
    /// An argument has a value that it cannot have.
    #[error("{tool}: '{name}' must be {wanted}")]
    Invalid {
        /// The tool that was called.
        tool: String,
        /// The argument.
        name: String,
        /// What it can be.
        wanted: String,
    },
    /// The language and the engine do not go together.
    #[error(transparent)]
    Engine(#[from] EngineMismatch),
}
