//! The values that labels can have. There are few, whatever programs do.

use onecall_core::{EngineChoice, Failure, ToolError};

/// How a program ended.
pub(crate) fn run_outcome(result: &Result<(), Failure>) -> &'static str {
    match result {
        Ok(()) => "success",
        Err(Failure::Raised { .. }) => "error",
        Err(Failure::Refused { .. }) => "refused",
        Err(Failure::TimedOut { .. }) => "timeout",
        Err(Failure::Cancelled) => CANCELLED,
        Err(Failure::WorkspaceFull { .. }) => "workspace_full",
        Err(Failure::WorkerDied { .. }) => "worker_died",
        Err(Failure::EngineUnavailable { .. }) => "engine_unavailable",
    }
}

/// How a call or a program ended that nobody waited for any more.
pub(crate) const CANCELLED: &str = "cancelled";

/// How a call ended that gave a value.
pub(crate) const SUCCESS: &str = "success";

/// How a call ended that gave none.
pub(crate) fn call_failure(error: &ToolError) -> &'static str {
    match error {
        ToolError::Failed { .. } => "error",
        ToolError::NeverSent { .. } => "unreachable",
        ToolError::NotUnderstood { .. }
        | ToolError::NotAvailable { .. }
        | ToolError::Quarantined { .. }
        | ToolError::QuotaExceeded { .. } => "refused",
    }
}

/// What ran a program; `auto` if it did not come to that.
pub(crate) fn engine(choice: EngineChoice) -> &'static str {
    match choice {
        EngineChoice::Auto => "auto",
        EngineChoice::Python => "python",
        EngineChoice::CPython => "cpython",
        EngineChoice::TypeScript => "typescript",
    }
}
