//! The callback through which a program's tool calls leave its engine.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

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
///     BoxFuture, CallableName, Resolution, ServerName, ToolAnnotations, ToolCall, ToolError,
///     ToolHost, ToolName, ToolSpec, ToolValue,
/// };
///
/// struct Greeter;
///
/// impl ToolHost for Greeter {
///     fn resolve<'a>(&'a self, name: &'a CallableName) -> BoxFuture<'a, Resolution> {
///         Box::pin(async move {
///             if name.as_str() != "greet" {
///                 return Resolution::Unknown { nearest: Vec::new() };
///             }
///             Resolution::Callable(Arc::new(ToolSpec {
///                 callable: name.clone(),
///                 server: ServerName::new("greeter"),
///                 tool: ToolName::new("greet"),
///                 description: None,
///                 input_schema: serde_json::json!({ "properties": { "name": { "type": "string" } } }),
///                 output_schema: None,
///                 annotations: ToolAnnotations::default(),
///             }))
///         })
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
