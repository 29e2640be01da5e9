//! How a program ended, and what it said.

use std::time::Duration;

use thiserror::Error;

/// Everything known about a program that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// `Ok` if the program ran to its end.
    pub result: Result<(), Failure>,
    /// What it printed.
    pub stdout: Output,
    /// What it wrote to stderr.
    pub stderr: Output,
    /// Tool calls that gave a value.
    pub calls_completed: u64,
    /// From the moment the program was handed to a worker.
    pub duration: Duration,
}

/// Captured output, never longer than its limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The kept text.
    pub text: String,
    /// Whether more was printed than kept.
    pub truncated: bool,
}

/// Why a program did not run to its end. The display text is what its author reads.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Failure {
    /// An exception nobody caught, as the engine's language shows it.
    #[error("{traceback}")]
    Raised {
        /// The whole traceback.
        traceback: String,
    },
    /// It ran longer than allowed and was killed.
    #[error("TimeoutError: Execution exceeded {}s limit", limit.as_secs_f64())]
    TimedOut {
        /// The limit it ran into.
        limit: Duration,
    },
    /// It filled the workspace and was killed.
    #[error("OSError: the workspace is over its quota of {max_bytes} bytes")]
    WorkspaceFull {
        /// The quota.
        max_bytes: u64,
    },
    /// Its process died under it.
    #[error("{reason}")]
    WorkerDied {
        /// What is known about the death.
        reason: String,
    },
    /// No process could be had to run it in.
    #[error("the engine could not start: {reason}")]
    EngineUnavailable {
        /// What kept it from starting.
        reason: String,
    },
}
