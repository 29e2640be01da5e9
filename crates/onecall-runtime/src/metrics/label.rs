//! The values that labels can have. There are few, whatever programs do.

use onecall_core::{CallResult, Failure, ToolError};

/// How a program ended.
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

/// How a program ended that ran to its end.
pub(crate) const SUCCESS: &str = "success";

/// How a program ended that nobody waited for any more.
pub(crate) const CANCELLED: &str = "cancelled";

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallOutcome {
    /// With a value.
    Success,
    /// The tool or the way there failed.
    Error,
    /// Its server could not be reached.
    Unreachable,
    /// It was not made.
    Refused,
    /// Nobody waited for it any more.
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
                ToolError::NotUnderstood { .. }
                | ToolError::NotAvailable { .. }
                | ToolError::Quarantined { .. }
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
