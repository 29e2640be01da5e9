//! The tools that programs may call: what there is, and what a name means.

use std::collections::HashMap;
use std::sync::Arc;

use onecall_catalog::{ASYNC_PREFIX, Observed, category_of};
use onecall_core::{BoxFuture, CallableName, Category, Resolution, ToolResolver, ToolSpec};

/// Tools by the names that programs have for them.
pub type SeenMeanings = HashMap<String, Arc<ToolSpec>>;

/// Answers what programs ask about tools.
pub trait Directory: Send + Sync {
    /// Every tool that programs may call, by name.
    fn tools(&self) -> BoxFuture<'_, Vec<Arc<ToolSpec>>>;
    /// Tools that programs may call, by name: at least those of the server that `name` means, if
    /// it means one.
    fn tools_of<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Vec<Arc<ToolSpec>>> {
        self.tools()
    }
    /// Those that are known at this moment; nobody is waited for.
    fn known(&self) -> Vec<Arc<ToolSpec>> {
        Vec::new()
    }
    /// The tools that match `query` best, best first.
    fn search<'a>(&'a self, query: &'a str, limit: usize) -> BoxFuture<'a, Vec<Arc<ToolSpec>>>;
    /// What follows `tools.` in a program.
    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Found>;
    /// The tools that these names meant when their servers were last seen, whose servers are
    /// started meanwhile. Nothing if that is not known of every name, or programs may not call one
    /// of the tools.
    fn seen<'a>(&'a self, _names: &'a [String]) -> BoxFuture<'a, Option<SeenMeanings>> {
        Box::pin(async { None })
    }
    /// What the results of a tool looked like, if somebody has watched.
    fn observed(&self, _spec: &ToolSpec) -> Option<Observed> {
        None
    }
    /// The category that generated files and imports sort a tool into.
    fn category(&self, spec: &ToolSpec) -> Category {
        category_of(spec)
    }
}

/// What `tools.<name>` stands for in a program.
pub(crate) struct Attribute {
    pub(crate) found: Found,
    /// Whether its calls are coroutines whatever the others are: `async_x` is the tool `x`, if
    /// there is no tool of just that name.
    pub(crate) is_coroutine: bool,
}

impl Attribute {
    pub(crate) async fn find(name: &str, directory: &dyn Directory) -> Self {
        let found = directory.find(name).await;
        let plain = name.strip_prefix(ASYNC_PREFIX).filter(|plain| !plain.is_empty());
        let (nearest, plain) = match (found, plain) {
            (Found::Unknown(nearest), Some(plain)) => (nearest, plain),
            (found, _) => return Self { found, is_coroutine: false },
        };
        match directory.find(plain).await {
            Found::Unknown(others) => {
                let nearest = if nearest.is_empty() { others } else { nearest };
                Self { found: Found::Unknown(nearest), is_coroutine: false }
            }
            found => Self { found, is_coroutine: true },
        }
    }
}

/// The directory of a host that has none: it finds what the host resolves.
pub(crate) struct Resolved(pub(crate) Arc<dyn ToolResolver>);

impl Directory for Resolved {
    fn tools(&self) -> BoxFuture<'_, Vec<Arc<ToolSpec>>> {
        Box::pin(async { Vec::new() })
    }

    fn search<'a>(&'a self, _query: &'a str, _limit: usize) -> BoxFuture<'a, Vec<Arc<ToolSpec>>> {
        self.tools()
    }

    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Found> {
        Box::pin(async move {
            match self.0.resolve(&CallableName::new(name)).await {
                Resolution::Callable(spec)
                | Resolution::Attribute(spec)
                | Resolution::Unavailable { spec, .. } => Found::Tool(spec),
                Resolution::Blocked => Found::Blocked,
                Resolution::Unknown { nearest, .. } => Found::Unknown(nearest),
            }
        })
    }
}

/// What a name stands for: a callable name, or a tool's own where only one has it.
#[derive(Clone, Debug)]
pub enum Found {
    /// This tool.
    Tool(Arc<ToolSpec>),
    /// One that programs may not call.
    Blocked,
    /// One that they may not call for now, and why.
    Quarantined(String),
    /// Several, which have the same name on their servers.
    Ambiguous(Vec<CallableName>),
    /// None; these look like it.
    Unknown(Vec<CallableName>),
}
