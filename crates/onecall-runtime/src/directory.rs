//! The tools that programs may call: what there is, and what a name means.

use std::sync::Arc;

use onecall_bridge::{Bridge, Quarantined};
use onecall_catalog::{Catalog, Observed};
use onecall_config::ToolPolicy;
use onecall_core::{BoxFuture, CallableName, Resolution, ToolHost, ToolSpec};

use crate::learned::Learned;

/// How many similar names an unknown one is answered with.
pub(crate) const NEAREST: usize = 3;

/// Answers what programs ask about tools.
pub trait Directory: Send + Sync {
    /// Every tool that programs may call, by name.
    fn tools(&self) -> BoxFuture<'_, Vec<Arc<ToolSpec>>>;
    /// Those that are known at this moment; nobody is waited for.
    fn known(&self) -> Vec<Arc<ToolSpec>> {
        Vec::new()
    }
    /// The tools that match `query` best, best first.
    fn search<'a>(&'a self, query: &'a str, limit: usize) -> BoxFuture<'a, Vec<Arc<ToolSpec>>>;
    /// What follows `tools.` in a program.
    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Found>;
    /// What the results of a tool looked like, if somebody has watched.
    fn observed(&self, _spec: &ToolSpec) -> Option<Observed> {
        None
    }
}

/// The directory of a host that has none: it finds what the host resolves.
pub(crate) struct Resolved(pub(crate) Arc<dyn ToolHost>);

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
                Resolution::Callable(spec) => Found::Tool(spec),
                Resolution::Blocked => Found::Blocked,
                Resolution::Unknown { nearest } => Found::Unknown(nearest),
            }
        })
    }
}

/// The catalog of all servers, as policy lets programs see it.
pub(crate) struct Bridged {
    bridge: Arc<Bridge>,
    policy: ToolPolicy,
    learned: Option<Arc<Learned>>,
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

impl Bridged {
    pub(crate) fn new(
        bridge: Arc<Bridge>,
        policy: ToolPolicy,
        learned: Option<Arc<Learned>>,
    ) -> Self {
        Self { bridge, policy, learned }
    }

    /// Waits for servers that are still connecting.
    pub(crate) async fn catalog(&self) -> Arc<Catalog> {
        self.bridge.catalog().await
    }

    /// Why a tool that programs could call otherwise is kept from them for now.
    pub(crate) fn quarantine(&self, name: &str) -> Option<String> {
        let mut tools = self.bridge.quarantine().into_iter();
        let is_meant = |tool: &Quarantined| {
            tool.spec.callable.as_str() == name || tool.spec.tool.as_str() == name
        };
        let tool = tools.find(|tool| is_meant(tool) && self.permits(&tool.spec))?;
        Some(tool.to_string())
    }

    /// How often something was observed: see [`Learned::lessons`].
    pub(crate) fn lessons(&self) -> u64 {
        self.learned.as_ref().map_or(0, |learned| learned.lessons())
    }

    pub(crate) fn permits(&self, spec: &ToolSpec) -> bool {
        self.policy.permits(spec.callable.as_str())
    }

    pub(crate) fn nearest(&self, catalog: &Catalog, name: &str) -> Vec<CallableName> {
        let mut nearest = catalog.nearest(name, NEAREST * 4);
        nearest.retain(|near| near.as_str() != name && self.policy.permits(near.as_str()));
        nearest.truncate(NEAREST);
        nearest
    }
}

impl Directory for Bridged {
    fn observed(&self, spec: &ToolSpec) -> Option<Observed> {
        self.learned.as_ref()?.observed(spec)
    }

    fn tools(&self) -> BoxFuture<'_, Vec<Arc<ToolSpec>>> {
        Box::pin(async {
            let catalog = self.catalog().await;
            catalog.tools().filter(|spec| self.permits(spec)).cloned().collect()
        })
    }

    fn known(&self) -> Vec<Arc<ToolSpec>> {
        let catalog = self.bridge.watch().now().catalog;
        catalog.tools().filter(|spec| self.permits(spec)).cloned().collect()
    }

    fn search<'a>(&'a self, query: &'a str, limit: usize) -> BoxFuture<'a, Vec<Arc<ToolSpec>>> {
        Box::pin(async move {
            let catalog = self.catalog().await;
            let found = catalog.search(query, usize::MAX);
            found.into_iter().filter(|spec| self.permits(spec)).take(limit).cloned().collect()
        })
    }

    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Found> {
        Box::pin(async move {
            let catalog = self.catalog().await;
            let own = |spec: &&Arc<ToolSpec>| spec.tool.as_str() == name;
            let found: Vec<_> = match catalog.get(name) {
                Some(spec) => vec![spec],
                None => catalog.tools().filter(own).collect(),
            };
            let permitted: Vec<_> = found.iter().filter(|spec| self.permits(spec)).collect();
            match permitted.as_slice() {
                [spec] => Found::Tool(Arc::clone(spec)),
                [] if found.is_empty() => match self.quarantine(name) {
                    Some(why) => Found::Quarantined(why),
                    None => Found::Unknown(self.nearest(&catalog, name)),
                },
                [] => Found::Blocked,
                several => Found::Ambiguous(several.iter().map(|it| it.callable.clone()).collect()),
            }
        })
    }
}
