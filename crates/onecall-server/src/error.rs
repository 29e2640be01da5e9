//! The errors of onecall's own tools. The display text is what the agent reads.

use onecall_core::ToolError;
use onecall_engine::EngineMismatch;
use onecall_gateway::{BeginError, NoSuchServer};
use onecall_runtime::SaveError;
use thiserror::Error;

use crate::approvals::WaitError;
use crate::definitions::SEARCH_TOOLS;

/// A request to one of onecall's own tools, or to an exposed one, that failed.
#[derive(Debug, Error)]
pub(crate) enum ToolRequestError {
    /// The arguments cannot be used.
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    /// The program should have been saved as a file. It was neither saved nor run.
    #[error(transparent)]
    NotSaved(#[from] SaveError),
    /// The search names a server that does not exist.
    #[error("{SEARCH_TOOLS}: {0}")]
    NoSuchServer(#[from] NoSuchServer),
    /// The exposed tool could not be called, or failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The arguments for an exposed tool could not be serialized.
    #[error(transparent)]
    NotSerialized(serde_json::Error),
    /// The run that may need an approval could not be begun.
    #[error(transparent)]
    NotBegun(#[from] BeginError),
    /// The state of the run is not available.
    #[error(transparent)]
    NoState(#[from] WaitError),
    /// The exposed tool returned something that is not a valid result.
    #[error("'{name}' failed: its result is not valid MCP: {source}")]
    NotMcp {
        /// The tool as the client named it.
        name: String,
        /// What is wrong with the answer.
        source: serde_json::Error,
    },
}

/// Arguments of one of onecall's own tools that cannot be used.
#[derive(Debug, Error)]
pub(crate) enum ArgumentError {
    /// A required argument is missing.
    #[error("{tool}: '{name}' is missing")]
    Missing {
        /// The tool that was called.
        tool: String,
        /// The name of the argument.
        name: String,
    },
    /// An argument has an invalid value.
    #[error("{tool}: '{name}' must be {wanted}")]
    Invalid {
        /// The tool that was called.
        tool: String,
        /// The name of the argument.
        name: String,
        /// Which values are valid.
        wanted: String,
    },
    /// The engine does not run programs in this language.
    #[error(transparent)]
    Engine(#[from] EngineMismatch),
}
