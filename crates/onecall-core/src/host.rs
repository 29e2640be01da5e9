//! The callback through which a program's tool calls leave its engine.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::{CallableName, ToolCall, ToolError, ToolSpec, ToolValue};

/// A future that can cross threads, as trait objects need it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Executes tools for a program.
///
/// Layers (policy, quota, …) implement it around another host; the bridge to the
/// real servers is the innermost. Dropping the future of [`call`](Self::call)
/// cancels the call.
pub trait ToolHost: Send + Sync {
    /// Says what `name` means to a program. May wait for servers that are still
    /// connecting.
    fn resolve<'a>(&'a self, name: &'a CallableName) -> BoxFuture<'a, Resolution>;

    /// Executes one call.
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>>;
}

/// What a name means to a program.
#[derive(Clone, Debug)]
pub enum Resolution {
    /// It can be called.
    Callable(Arc<ToolSpec>),
    /// It exists, but policy keeps it away from programs.
    Blocked,
    /// Nothing has this name.
    Unknown {
        /// The callable names that look most like it, best first.
        nearest: Vec<CallableName>,
    },
}
