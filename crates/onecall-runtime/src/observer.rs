//! Watching a program while it runs.

use std::sync::Arc;

use onecall_core::{BoxFuture, CallableName, Caller, Shown, ToolCall, ToolError, ToolValue};

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
    /// What the client calls itself that asked for the program.
    fn client(&self) -> String {
        String::new()
    }
    /// The program printed something.
    fn stdout(&self, _bytes: &[u8]) {}
    /// The program wrote something to stderr.
    fn stderr(&self, _bytes: &[u8]) {}
    /// The program showed something.
    fn shown(&self, _shown: &Shown) {}
    /// Ends if the program is not wanted any more. It is killed then, and what it has done
    /// so far is told as its outcome; nothing is told of a program whose future is dropped.
    fn called_off(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

/// An observer that does not care.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
