//! Who knows tools and who executes them: the bridge to MCP servers, or a program that embeds the
//! runtime.

use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::{
    CallResult, CallableName, NodeCall, ProgramQuestion, ResolvedCall, ToolCall, ToolError,
    ToolSpec, ToolValue,
};

/// A future that can cross threads, as trait objects need it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Looks callable names up.
pub trait ToolResolver: Send + Sync {
    /// Looks a name up for a program. May wait for servers that are still connecting.
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a>;

    /// A number that changes whenever a name may mean something else than before. What was
    /// resolved holds as long as it is the same.
    fn revision(&self) -> u64;
}

/// Executes calls, or passes them on to another handler: a layer.
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

/// Knows tools and executes them.
///
/// `crates/onecall-runtime/examples/embed.rs` is a complete program around a host of
/// its own. The least that one has to do:
///
/// ```
/// use std::sync::Arc;
///
/// use onecall_core::{
///     Answer, BoxFuture, CallHandler, CallResult, CallableName, Resolution, ResolvedCall, Resolving,
///     ServerName, ToolAnnotations, ToolError, ToolName, ToolResolver, ToolSpec, ToolValue,
/// };
///
/// struct Greeter;
///
/// impl ToolResolver for Greeter {
///     fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a> {
///         if name.as_str() != "greet" {
///             return Resolving::now(Resolution::unknown(Vec::new()));
///         }
///         Resolving::now(Resolution::Callable(Arc::new(ToolSpec {
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

/// Answers what a program asks while it runs.
pub trait ProgramHost: Send + Sync {
    /// Looks up what a name means that the program uses and has not defined.
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a>;

    /// Executes a call of the program. Dropping the future cancels the call.
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>>;

    /// Executes a node of the plan that the program carries out. Dropping the future cancels the
    /// call.
    fn call_node(&self, call: NodeCall) -> BoxFuture<'_, Result<ToolValue, ToolError>>;

    /// Answers a question of the program.
    fn ask(&self, question: ProgramQuestion) -> BoxFuture<'_, Result<ToolValue, ToolError>>;
}

/// What a name means to a program.
#[derive(Clone, Debug)]
pub enum Resolution {
    /// It can be called.
    Callable(Arc<ToolSpec>),
    /// It can be called as an attribute of `tools`, but is not defined by itself.
    Attribute(Arc<ToolSpec>),
    /// It is a tool, and for now every call of it fails with this error.
    Unavailable {
        /// The tool, as far as it is known.
        spec: Arc<ToolSpec>,
        /// What calls of it get.
        error: ToolError,
    },
    /// It exists, but policy keeps it away from programs.
    Blocked,
    /// Nothing has this name.
    Unknown {
        /// The callable names that look most like it, best first.
        nearest: Vec<CallableName>,
        /// What calls of the name get, if there is more to say than that.
        reason: Option<String>,
    },
}

impl Resolution {
    /// Nothing has this name; these are the callable names that look most like it, best first.
    #[must_use]
    pub fn unknown(nearest: Vec<CallableName>) -> Self {
        Self::Unknown { nearest, reason: None }
    }

    /// The tool that the name stands for in a program, whether or not it can be called now.
    #[must_use]
    pub fn spec(&self) -> Option<&Arc<ToolSpec>> {
        match self {
            Self::Callable(spec) | Self::Unavailable { spec, .. } => Some(spec),
            Self::Attribute(_) | Self::Blocked | Self::Unknown { .. } => None,
        }
    }

    /// The tool that a call of `name` reaches, or why it reaches none.
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
