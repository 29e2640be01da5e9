//! Watching a program while it runs.

use std::sync::Arc;

use onecall_core::{CallableName, Caller, Shown, ToolCall, ToolError, ToolValue};

/// Hears of a program's steps as they happen.
pub trait Observer: Send + Sync {
    /// A tool call begins.
    fn call_started(&self, _call: &ToolCall) {}
    /// A tool call ended.
    fn call_ended(&self, _name: &CallableName, _result: &Result<ToolValue, ToolError>) {}
    /// Who may be told and asked things by the servers that execute the calls.
    fn caller(&self) -> Option<Arc<dyn Caller>> {
        None
    }
    /// The program printed something.
    fn stdout(&self, _bytes: &[u8]) {}
    /// The program wrote something to stderr.
    fn stderr(&self, _bytes: &[u8]) {}
    /// The program showed something.
    fn shown(&self, _shown: &Shown) {}
}

/// An observer that does not care.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
