//! The tools that programs may call: what there is, and what a name means.

use std::sync::Arc;

use onecall_bridge::Bridge;
use onecall_catalog::Catalog;
use onecall_config::ToolPolicy;
use onecall_core::{CallableName, ToolSpec};

/// How many similar names an unknown one is answered with.
pub(crate) const NEAREST: usize = 3;

/// The catalog of all servers, as policy lets programs see it.
pub(crate) struct Directory {
    bridge: Arc<Bridge>,
    policy: ToolPolicy,
}

/// What a name stands for: a callable name, or a tool's own where only one has it.
pub(crate) enum Found {
    /// This tool.
    Tool(Arc<ToolSpec>),
    /// One that programs may not call.
    Blocked,
    /// Several, which have the same name on their servers.
    Ambiguous(Vec<CallableName>),
    /// None; these look like it.
    Unknown(Vec<CallableName>),
}

impl Directory {
    pub(crate) fn new(bridge: Arc<Bridge>, policy: ToolPolicy) -> Self {
        Self { bridge, policy }
    }

    /// Waits for servers that are still connecting.
    pub(crate) async fn catalog(&self) -> Arc<Catalog> {
        self.bridge.catalog().await
    }

    pub(crate) async fn tools(&self) -> Vec<Arc<ToolSpec>> {
        let catalog = self.catalog().await;
        catalog.tools().filter(|spec| self.permits(spec)).cloned().collect()
    }

    pub(crate) async fn search(&self, query: &str, limit: usize) -> Vec<Arc<ToolSpec>> {
        let catalog = self.catalog().await;
        let found = catalog.search(query, usize::MAX);
        found.into_iter().filter(|spec| self.permits(spec)).take(limit).cloned().collect()
    }

    pub(crate) async fn find(&self, name: &str) -> Found {
        let catalog = self.catalog().await;
        let own = |spec: &&Arc<ToolSpec>| spec.tool.as_str() == name;
        let found: Vec<_> = match catalog.get(name) {
            Some(spec) => vec![spec],
            None => catalog.tools().filter(own).collect(),
        };
        let permitted: Vec<_> = found.iter().filter(|spec| self.permits(spec)).collect();
        match permitted.as_slice() {
            [spec] => Found::Tool(Arc::clone(spec)),
            [] if found.is_empty() => Found::Unknown(self.nearest(&catalog, name)),
            [] => Found::Blocked,
            several => Found::Ambiguous(several.iter().map(|it| it.callable.clone()).collect()),
        }
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
