//! The directory of the tools that programs may call: lists them, searches them, and looks a name
//! up.

use std::collections::HashMap;
use std::sync::Arc;

use onecall_catalog::{ASYNC_PREFIX, ObservedOutput, category_of};
use onecall_core::{BoxFuture, CallableName, Resolution, ToolCategory, ToolResolver, ToolSpec};

/// Tools by the names that a program uses for them.
pub type LastKnownSpecs = HashMap<String, Arc<ToolSpec>>;

/// Answers a program's questions about tools.
pub trait Directory: Send + Sync {
    /// Every tool that programs may call, sorted by name.
    fn tools(&self) -> BoxFuture<'_, Vec<Arc<ToolSpec>>>;
    /// Tools that programs may call, sorted by name: at least those of the server that `name`
    /// refers to, if it refers to one.
    fn tools_of<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Vec<Arc<ToolSpec>>> {
        self.tools()
    }
    /// The tools that are known at this moment, without waiting for servers that are connecting.
    fn known_tools(&self) -> Vec<Arc<ToolSpec>> {
        Vec::new()
    }
    /// The tools that match `query` best, best first.
    fn search<'a>(&'a self, query: &'a str, limit: usize) -> BoxFuture<'a, Vec<Arc<ToolSpec>>>;
    /// Looks up what follows `tools.` in a program.
    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, NameLookup>;
    /// The tools that these names referred to when their servers were last seen; those servers are
    /// started in the background. `None` if one of the names is not known from then, or programs
    /// may not call its tool.
    fn last_known_specs<'a>(
        &'a self,
        _names: &'a [String],
    ) -> BoxFuture<'a, Option<LastKnownSpecs>> {
        Box::pin(async { None })
    }
    /// The observed result type of a tool, if its results have been observed.
    fn observed(&self, _spec: &ToolSpec) -> Option<ObservedOutput> {
        None
    }
    /// The category under which generated files and imports put a tool.
    fn category(&self, spec: &ToolSpec) -> ToolCategory {
        category_of(spec)
    }
}

/// The result of looking up `tools.<name>` for a program.
pub(crate) struct AttributeLookup {
    pub(crate) found: NameLookup,
    /// Whether a call of it always returns a coroutine: `async_x` refers to the tool `x` if no tool
    /// is named `async_x`.
    pub(crate) is_coroutine: bool,
}

impl AttributeLookup {
    pub(crate) async fn find(name: &str, directory: &dyn Directory) -> Self {
        let found = directory.find(name).await;
        let plain = name.strip_prefix(ASYNC_PREFIX).filter(|plain| !plain.is_empty());
        let (nearest, plain) = match (found, plain) {
            (NameLookup::Unknown(nearest), Some(plain)) => (nearest, plain),
            (found, _) => return Self { found, is_coroutine: false },
        };
        match directory.find(plain).await {
            NameLookup::Unknown(others) => {
                let nearest = if nearest.is_empty() { others } else { nearest };
                Self { found: NameLookup::Unknown(nearest), is_coroutine: false }
            }
            found => Self { found, is_coroutine: true },
        }
    }
}

/// A directory for hosts that only have a resolver: it finds what the resolver knows.
pub(crate) struct ResolverDirectory(pub(crate) Arc<dyn ToolResolver>);

impl Directory for ResolverDirectory {
    fn tools(&self) -> BoxFuture<'_, Vec<Arc<ToolSpec>>> {
        Box::pin(async { Vec::new() })
    }

    fn search<'a>(&'a self, _query: &'a str, _limit: usize) -> BoxFuture<'a, Vec<Arc<ToolSpec>>> {
        self.tools()
    }

    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, NameLookup> {
        Box::pin(async move {
            match self.0.resolve(&CallableName::new(name)).await {
                Resolution::Callable(spec)
                | Resolution::Attribute(spec)
                | Resolution::Unavailable { spec, .. } => NameLookup::Tool(spec),
                Resolution::Blocked => NameLookup::Blocked,
                Resolution::Unknown { nearest, .. } => NameLookup::Unknown(nearest),
            }
        })
    }
}

/// The result of looking a name up. The name may be a callable name, or the tool's own name on its
/// server if only one server has such a tool.
#[derive(Clone, Debug)]
pub enum NameLookup {
    /// The name refers to this tool.
    Tool(Arc<ToolSpec>),
    /// The name refers to a tool that programs may not call.
    Blocked,
    /// The name refers to a tool in quarantine; the text says why.
    Quarantined(String),
    /// Several servers have a tool of this name; these are their callable names.
    Ambiguous(Vec<CallableName>),
    /// No tool has this name; these are similar names.
    Unknown(Vec<CallableName>),
}
