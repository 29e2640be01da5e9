//! The traits of components that look tools up and execute calls. The bridge to MCP servers
//! implements them, and so can a program that embeds the runtime.

use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::{
    CallResult, CallableName, NodeCall, ProgramQuestion, ResolvedCall, ToolCall, ToolError,
    ToolSpec, ToolValue,
};

/// A boxed future that can be sent between threads, for use in trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Looks callable names up, so that programs can call them.
pub trait ToolResolver: Send + Sync {
    /// Looks a name up for a program. May wait for servers that are still connecting.
    fn resolve<'a>(&'a self, name: &'a CallableName) -> ResolutionFuture<'a>;

    /// A number that changes whenever the lookup of a name may give another result. A resolution
    /// stays valid as long as the number is the same.
    fn revision(&self) -> u64;
}

/// Executes calls, or passes them on to another handler, as a layer does.
///
/// Calls arrive as a program makes them, many at once if it gathers them. Dropping the future
/// cancels the call: the program has ended, or does not wait for it any more.
pub trait CallHandler: Send + Sync {
    /// Executes one call.
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult>;
}

impl<T: CallHandler + ?Sized> CallHandler for &T {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        (**self).call(call)
    }
}

impl<T: CallHandler + ?Sized> CallHandler for Arc<T> {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        (**self).call(call)
    }
}

/// Looks up tools and executes their calls.
///
/// `crates/onecall-runtime/examples/embed.rs` is a complete program around a host of
/// its own. The least that one has to do:
///
/// ```
/// use std::sync::Arc;
///
/// use onecall_core::{
///     Answer, BoxFuture, CallHandler, CallResult, CallableName, Resolution, ResolvedCall, ResolutionFuture,
///     ServerName, ToolAnnotations, ToolError, ToolName, ToolResolver, ToolSpec, ToolValue,
/// };
///
/// struct Greeter;
///
/// impl ToolResolver for Greeter {
///     fn resolve<'a>(&'a self, name: &'a CallableName) -> ResolutionFuture<'a> {
///         if name.as_str() != "greet" {
///             return ResolutionFuture::ready(Resolution::unknown(Vec::new()));
///         }
///         ResolutionFuture::ready(Resolution::Callable(Arc::new(ToolSpec {
///             callable: name.clone(),
///             server: ServerName::new("greeter"),
///             tool: ToolName::new("greet"),
///             description: None,
///             input_schema: serde_json::json!({ "properties": { "name": { "type": "string" } } }).into(),
///             output_schema: None,
///             annotations: ToolAnnotations::default(),
///         })))
///     }
///
///     fn revision(&self) -> u64 {
///         0
///     }
/// }
///
/// impl CallHandler for Greeter {
///     fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
///         Box::pin(async move {
///             let arguments: serde_json::Value = serde_json::from_str(call.arguments.get())
///                 .map_err(|error| ToolError::failed(&call.name, error.to_string()))?;
///             match arguments["name"].as_str() {
///                 Some(name) => Ok(Answer::live(ToolValue::Text(format!("Hello, {name}")))),
///                 None => Err(ToolError::failed(&call.name, "whom?")),
///             }
///         })
///     }
/// }
/// ```
pub trait ToolHost: ToolResolver + CallHandler {}

impl<T: ToolResolver + CallHandler + ?Sized> ToolHost for T {}

/// Answers the requests of a running program: lookups, tool calls and questions.
pub trait ProgramHost: Send + Sync {
    /// Looks up a name that the program uses and does not define.
    fn resolve<'a>(&'a self, name: &'a CallableName) -> ResolutionFuture<'a>;

    /// Executes a call of the program. Dropping the future cancels the call.
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>>;

    /// Executes a node of the plan that the program executes. Dropping the future cancels the call.
    fn call_node(&self, call: NodeCall) -> BoxFuture<'_, Result<ToolValue, ToolError>>;

    /// Answers a question of the program; `id` distinguishes it from its calls and other questions.
    fn ask(
        &self,
        id: u64,
        question: ProgramQuestion,
    ) -> BoxFuture<'_, Result<ToolValue, ToolError>>;
}

/// The result of looking a name up for a program.
#[derive(Clone, Debug)]
pub enum Resolution {
    /// The name is a tool that can be called.
    Callable(Arc<ToolSpec>),
    /// The name can be called as an attribute of `tools`, but is not defined as a global.
    Attribute(Arc<ToolSpec>),
    /// The name is a tool, and for now every call of it fails with this error.
    Unavailable {
        /// The definition of the tool, as far as it is known.
        spec: Arc<ToolSpec>,
        /// The error that each call gets.
        error: ToolError,
        /// What is known of the tool.
        known_by: KnownBy,
    },
    /// The tool exists, but the configuration excludes it from programs.
    Blocked,
    /// No tool has this name.
    Unknown {
        /// The most similar callable names, best first.
        nearest: Vec<CallableName>,
        /// The error text of calls of the name, if there is more to say than that it is unknown.
        reason: Option<String>,
    },
}

/// What is known of a tool that cannot be called at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownBy {
    /// The definition, or as much of it as policies decide by.
    Definition,
    /// Only the name: the server lists its tools after the user has given it credentials. No policy can
    /// decide about the tool before, and the error says how the user gets access.
    Name,
}

impl Resolution {
    /// A resolution for an unknown name, with the most similar callable names, best first.
    #[must_use]
    pub fn unknown(nearest: Vec<CallableName>) -> Self {
        Self::Unknown { nearest, reason: None }
    }

    /// The tool that the name stands for in a program, whether or not it can be called at present.
    #[must_use]
    pub fn spec(&self) -> Option<&Arc<ToolSpec>> {
        match self {
            Self::Callable(spec) | Self::Unavailable { spec, .. } => Some(spec),
            Self::Attribute(_) | Self::Blocked | Self::Unknown { .. } => None,
        }
    }

    /// The tool that a call of `name` goes to, or the error that the call gets.
    pub fn target(self, name: &CallableName) -> Result<Arc<ToolSpec>, ToolError> {
        match self {
            Self::Callable(spec) | Self::Attribute(spec) => Ok(spec),
            Self::Unavailable { error, .. } => Err(error),
            Self::Blocked => Err(ToolError::NotAvailable { name: name.clone() }),
            Self::Unknown { reason, .. } => {
                let message = reason.unwrap_or_else(|| "there is no such tool".to_owned());
                Err(ToolError::NeverSent { name: name.clone(), message })
            }
        }
    }
}

/// A [`Resolution`] that is available now or later. In most cases it is available at once, and then
/// it costs no allocation.
pub enum ResolutionFuture<'a> {
    /// The resolution is available.
    Ready(Ready<Resolution>),
    /// The resolution depends on something that is still under way, such as a connecting server.
    Pending(BoxFuture<'a, Resolution>),
}

impl<'a> ResolutionFuture<'a> {
    /// A resolution that is available at once.
    #[must_use]
    pub fn ready(resolution: Resolution) -> Self {
        Self::Ready(ready(resolution))
    }

    /// A resolution that has to be awaited.
    pub fn pending(resolution: impl Future<Output = Resolution> + Send + 'a) -> Self {
        Self::Pending(Box::pin(resolution))
    }

    /// The resolution if it is available at once; `None` if it has to be awaited.
    #[must_use]
    pub fn if_ready(self) -> Option<Resolution> {
        match self {
            Self::Ready(known) => Some(known.into_inner()),
            Self::Pending(_) => None,
        }
    }

    /// Applies `change` to the resolution as soon as it is available.
    #[must_use]
    pub fn map(self, change: impl FnOnce(Resolution) -> Resolution + Send + 'a) -> Self {
        match self {
            Self::Ready(known) => Self::ready(change(known.into_inner())),
            Self::Pending(resolution) => Self::pending(async move { change(resolution.await) }),
        }
    }
}

impl Future for ResolutionFuture<'_> {
    type Output = Resolution;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Resolution> {
        match self.get_mut() {
            Self::Ready(known) => Pin::new(known).poll(context),
            Self::Pending(resolution) => resolution.as_mut().poll(context),
        }
    }
}
