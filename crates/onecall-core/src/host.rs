//! The callback through which a program's tool calls leave its engine.

use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::{CallableName, ToolCall, ToolError, ToolSpec, ToolValue};

/// A future that can cross threads, as trait objects need it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Executes tools for a program.
///
/// Layers (policy, quota, …) implement it around another host; the innermost one
/// executes: the bridge to MCP servers, or whatever program embeds the runtime.
/// Calls arrive as a program makes them, many at once if it gathers them. Dropping
/// the future of [`call`](Self::call) cancels the call: the program has ended, or
/// does not wait for it any more.
///
/// `crates/onecall-runtime/examples/embed.rs` is a complete program around a host of
/// its own. The least that one has to do:
///
/// ```
/// use std::sync::Arc;
///
/// use onecall_core::{
///     BoxFuture, CallableName, Resolution, Resolving, ServerName, ToolAnnotations, ToolCall,
///     ToolError, ToolHost, ToolName, ToolSpec, ToolValue,
/// };
///
/// struct Greeter;
///
/// impl ToolHost for Greeter {
///     fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a> {
///         if name.as_str() != "greet" {
///             return Resolving::now(Resolution::Unknown { nearest: Vec::new() });
///         }
///         Resolving::now(Resolution::Callable(Arc::new(ToolSpec {
///             callable: name.clone(),
///             server: ServerName::new("greeter"),
///             tool: ToolName::new("greet"),
///             description: None,
///             input_schema: serde_json::json!({ "properties": { "name": { "type": "string" } } }),
///             output_schema: None,
///             annotations: ToolAnnotations::default(),
///         })))
///     }
///
///     fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
///         Box::pin(async move {
///             let arguments: serde_json::Value = serde_json::from_str(call.arguments.get())
///                 .map_err(|error| ToolError::failed(&call.name, error.to_string()))?;
///             match arguments["name"].as_str() {
///                 Some(name) => Ok(ToolValue::Text(format!("Hello, {name}"))),
///                 None => Err(ToolError::failed(&call.name, "whom?")),
///             }
///         })
///     }
/// }
/// ```
pub trait ToolHost: Send + Sync {
    /// Says what `name` means to a program. May wait for servers that are still
    /// connecting.
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a>;

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

/// A [`Resolution`] that is known, or will be. Nearly always it is, and costs nothing to
/// pass on.
pub enum Resolving<'a> {
    /// It is known.
    Now(Ready<Resolution>),
    /// It depends on something that is still under way.
    Later(BoxFuture<'a, Resolution>),
}

impl<'a> Resolving<'a> {
    /// What is known.
    #[must_use]
    pub fn now(resolution: Resolution) -> Self {
        Self::Now(ready(resolution))
    }

    /// What has to be waited for.
    pub fn later(resolution: impl Future<Output = Resolution> + Send + 'a) -> Self {
        Self::Later(Box::pin(resolution))
    }

    /// What is known; nothing if it has to be waited for.
    #[must_use]
    pub fn known(self) -> Option<Resolution> {
        match self {
            Self::Now(known) => Some(known.into_inner()),
            Self::Later(_) => None,
        }
    }

    /// The same, changed as soon as it is known.
    #[must_use]
    pub fn map(self, change: impl FnOnce(Resolution) -> Resolution + Send + 'a) -> Self {
        match self {
            Self::Now(known) => Self::now(change(known.into_inner())),
            Self::Later(resolution) => Self::later(async move { change(resolution.await) }),
        }
    }
}

impl Future for Resolving<'_> {
    type Output = Resolution;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Resolution> {
        match self.get_mut() {
            Self::Now(known) => Pin::new(known).poll(context),
            Self::Later(resolution) => resolution.as_mut().poll(context),
        }
    }
}
