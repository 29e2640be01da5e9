//! The values of metric labels. Their number is fixed, whatever programs do.

use onecall_core::{CallResult, Failure, ToolError};

/// The label for the outcome of a program.
pub(crate) fn run_outcome(result: &Result<(), Failure>) -> &'static str {
    match result {
        Ok(()) => SUCCESS,
        Err(Failure::Raised { .. }) => "error",
        Err(Failure::Refused { .. }) => "refused",
        Err(Failure::TimedOut { .. }) => "timeout",
        Err(Failure::Cancelled) => CANCELLED,
        Err(Failure::WorkspaceFull { .. }) => "workspace_full",
        Err(Failure::TooManyPrograms { .. }) => "too_many_programs",
        Err(Failure::WorkerDied { .. }) => "worker_died",
        Err(Failure::EngineUnavailable { .. }) => "engine_unavailable",
    }
}

/// The outcome of a program that ran to its end.
pub(crate) const SUCCESS: &str = "success";

/// The outcome of a program whose client stopped waiting for it.
pub(crate) const CANCELLED: &str = "cancelled";

/// The outcome of a run that this process gave up and that can be continued.
pub(crate) const SUSPENDED: &str = "suspended";

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallOutcome {
    /// The call returned a value.
    Success,
    /// The tool failed, or the transport to it.
    Error,
    /// The server could not be reached.
    Unreachable,
    /// The call was not made.
    Refused,
    /// The caller stopped waiting for the call.
    Cancelled,
}

impl CallOutcome {
    pub(crate) const ALL: [Self; 5] =
        [Self::Success, Self::Error, Self::Unreachable, Self::Refused, Self::Cancelled];

    pub(crate) fn of(result: &CallResult) -> Self {
        match result {
            Ok(_) => Self::Success,
            Err(ToolError::Failed { .. }) => Self::Error,
            Err(ToolError::NeverSent { .. }) => Self::Unreachable,
            Err(
                ToolError::InvalidCall { .. }
                | ToolError::NotAvailable { .. }
                | ToolError::Quarantined { .. }
                | ToolError::Forbidden { .. }
                | ToolError::Denied { .. }
                | ToolError::QuotaExceeded { .. },
            ) => Self::Refused,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Success => SUCCESS,
            Self::Error => "error",
            Self::Unreachable => "unreachable",
            Self::Refused => "refused",
            Self::Cancelled => CANCELLED,
        }
    }
}
