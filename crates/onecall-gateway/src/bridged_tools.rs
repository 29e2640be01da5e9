//! The directory of the gateway: lists, searches and resolves the tools of all bridged servers that
//! programs may call.

use std::collections::HashSet;
use std::sync::Arc;

use onecall_bridge::{Bridge, ServerStart};
use onecall_catalog::{
    ASYNC_PREFIX, Catalog, ObservedOutput, ServerMatch, category_of, match_server,
};
use onecall_config::{GenerateConfig, ServerConfig};
use onecall_core::{BoxFuture, CallableName, ServerName, ToolCategory, ToolSpec};
use onecall_runtime::{Directory, LastKnownSpecs, LearnedTypes, NameLookup, ToolPermission};

use crate::last_known_tools::LastKnownTools;
use crate::listing_store::ListingStore;
use crate::rules::SharedServices;

/// How many similar names are suggested for an unknown one.
pub(crate) const MAX_SUGGESTIONS: usize = 3;

/// The catalog of all servers, as far as one user may call their tools.
pub(crate) struct BridgedTools {
    bridge: Arc<Bridge>,
    permission: ToolPermission,
    generate_config: GenerateConfig,
    learned: Option<Arc<LearnedTypes>>,
    listings: Option<Arc<ListingStore>>,
}

impl BridgedTools {
    pub(crate) fn new(
        shared: &SharedServices,
        bridge: Arc<Bridge>,
        permission: ToolPermission,
        generate_config: GenerateConfig,
    ) -> Self {
        let (learned, listings) = (shared.learned.clone(), shared.listings.clone());
        Self { bridge, permission, generate_config, learned, listings }
    }

    /// What is known about the tools of all servers without starting one.
    pub(crate) async fn last_known_tools(&self) -> LastKnownTools {
        let (bridge, listings) = (Arc::clone(&self.bridge), self.listings.clone());
        // Listings of earlier processes are read from the disk.
        let load = move || {
            let earlier = |server: &ServerConfig| {
                // A stored listing may be that of another account.
                let is_shared = !bridge.is_own_server(&server.name);
                listings.as_ref().filter(|_| is_shared)?.load_earlier(server)
            };
            LastKnownTools::of(
                &bridge.configs(),
                bridge.local_definitions(),
                bridge.tools_of_tried_servers(),
                &bridge.options().pins,
                earlier,
            )
        };
        tokio::task::spawn_blocking(load).await.unwrap_or_default()
    }

    /// The tool that a name referred to when its server was last seen, if it was the only one and
    /// programs may call it.
    fn only_tool_named(&self, known: &LastKnownTools, name: &str) -> Option<Arc<ToolSpec>> {
        // A server that was never seen may have a tool with this name as well.
        if known.catalog.get(name).is_none() && !known.is_complete() {
            return None;
        }
        match known.catalog.find_by_name(name).as_slice() {
            [spec] if self.permits(spec) => Some(Arc::clone(spec)),
            _ => None,
        }
    }

    /// Starts the servers that may have the tools of these names, and waits for them. A callable
    /// name says which server that is. For any other name, it is the server that had such a tool
    /// when it was last seen, or else every server.
    pub(crate) async fn catalog_for_names(
        &self,
        mut names: impl Iterator<Item = &str> + Clone,
    ) -> Arc<Catalog> {
        let is_short = |name: &str| !name.starts_with("mcp__");
        if self.starts_on_demand() && names.clone().any(is_short) {
            let known = self.last_known_tools().await;
            let server = |name| Some(self.only_tool_named(&known, name)?.server.clone());
            let servers: Option<HashSet<ServerName>> = names.clone().map(server).collect();
            if let Some(servers) = servers {
                let catalog = self.bridge.catalog_of_servers(|it| servers.contains(it)).await;
                if names.all(|name| !catalog.find_by_name(name).is_empty()) {
                    return catalog;
                }
            }
        }
        self.bridge.catalog_for_tools(names).await
    }

    /// The tools among which similar names are searched for a name that does not exist. Servers
    /// whose tools were never seen are started and waited for.
    pub(crate) async fn suggestion_catalog(&self) -> Arc<Catalog> {
        if self.starts_on_demand() {
            let known = self.last_known_tools().await;
            if known.is_complete() {
                return known.catalog;
            }
        }
        self.bridge.eager_catalog().await
    }

    fn starts_on_demand(&self) -> bool {
        self.bridge.options().start == ServerStart::OnDemand
    }

    /// The catalog of all servers. Waits for servers that are still connecting.
    pub(crate) async fn catalog(&self) -> Arc<Catalog> {
        self.bridge.catalog().await
    }

    /// Why a tool that policy permits is in quarantine; `None` if no such tool is.
    pub(crate) fn quarantine(&self, name: &str) -> Option<String> {
        let mut tools = self.bridge.quarantine();
        tools.retain(|tool| self.permits(&tool.spec));
        let catalog = Catalog::from_specs(tools.iter().map(|tool| ToolSpec::clone(&tool.spec)));
        let named = catalog.find_by_name(name);
        let spec = named.first()?;
        let tool = tools.iter().find(|tool| tool.spec.callable == spec.callable)?;
        Some(tool.to_string())
    }

    /// How often a learned type was updated: see [`LearnedTypes::revision`].
    pub(crate) fn types_revision(&self) -> u64 {
        self.learned.as_ref().map_or(0, |learned| learned.revision())
    }

    pub(crate) fn permits(&self, spec: &ToolSpec) -> bool {
        self.permission.permits(spec)
    }

    pub(crate) fn nearest(&self, catalog: &Catalog, name: &str) -> Vec<CallableName> {
        let mut nearest = catalog.nearest(name, MAX_SUGGESTIONS * 4);
        let permits =
            |near: &CallableName| catalog.get(near.as_str()).is_some_and(|spec| self.permits(spec));
        nearest.retain(|near| near.as_str() != name && permits(near));
        nearest.truncate(MAX_SUGGESTIONS);
        nearest
    }
}

impl Directory for BridgedTools {
    fn last_known_specs<'a>(
        &'a self,
        names: &'a [String],
    ) -> BoxFuture<'a, Option<LastKnownSpecs>> {
        Box::pin(async move {
            if !self.starts_on_demand() {
                return None;
            }
            let known = self.last_known_tools().await;
            let meaning = |name: &String| {
                let plain = || self.only_tool_named(&known, name.strip_prefix(ASYNC_PREFIX)?);
                Some((name.clone(), self.only_tool_named(&known, name).or_else(plain)?))
            };
            let meanings: LastKnownSpecs = names.iter().map(meaning).collect::<Option<_>>()?;
            let servers: HashSet<_> = meanings.values().map(|spec| &spec.server).collect();
            self.bridge.start_servers(|server| servers.contains(server));
            Some(meanings)
        })
    }

    fn observed(&self, spec: &ToolSpec) -> Option<ObservedOutput> {
        self.learned.as_ref()?.observed(spec)
    }

    fn category(&self, spec: &ToolSpec) -> ToolCategory {
        let mut chosen = self.generate_config.categories.iter();
        let chosen = chosen.find(|(pattern, _)| pattern.matches(spec.callable.as_str()));
        chosen.map_or_else(|| category_of(spec), |(_, category)| *category)
    }

    fn tools(&self) -> BoxFuture<'_, Vec<Arc<ToolSpec>>> {
        Box::pin(async {
            let catalog = self.catalog().await;
            catalog.tools().filter(|spec| self.permits(spec)).cloned().collect()
        })
    }

    fn tools_of<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Vec<Arc<ToolSpec>>> {
        Box::pin(async move {
            let status = self.bridge.status();
            let servers = status.iter().map(|server| server.name.as_str());
            let ServerMatch::One(server) = match_server(name, servers) else {
                return self.tools().await;
            };
            self.bridge.catalog_of_servers(|it| it.as_str() == server).await;
            let known = self.known_tools();
            match known.iter().any(|spec| spec.server.as_str() == server) {
                true => known,
                false => self.tools().await,
            }
        })
    }

    fn known_tools(&self) -> Vec<Arc<ToolSpec>> {
        let catalog = self.bridge.watch().current().catalog;
        catalog.tools().filter(|spec| self.permits(spec)).cloned().collect()
    }

    fn search<'a>(&'a self, query: &'a str, limit: usize) -> BoxFuture<'a, Vec<Arc<ToolSpec>>> {
        Box::pin(async move {
            let catalog = self.catalog().await;
            let found = catalog.search(query, usize::MAX);
            found.into_iter().filter(|spec| self.permits(spec)).take(limit).cloned().collect()
        })
    }

    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, NameLookup> {
        Box::pin(async move {
            let catalog = match self.starts_on_demand() && name.starts_with("mcp__") {
                true => self.bridge.catalog_for_tool(name).await,
                false => self.catalog_for_names(std::iter::once(name)).await,
            };
            let found = catalog.find_by_name(name);
            let permitted: Vec<_> = found.iter().filter(|spec| self.permits(spec)).collect();
            match permitted.as_slice() {
                [spec] => NameLookup::Tool(Arc::clone(spec)),
                [] if found.is_empty() => match self.quarantine(name) {
                    Some(why) => NameLookup::Quarantined(why),
                    // The name belongs to a server that has failed; other servers need not be
                    // started for it.
                    None if self.bridge.has_failed_server_for(name) => {
                        NameLookup::Unknown(self.nearest(&catalog, name))
                    }
                    None => {
                        NameLookup::Unknown(self.nearest(&*self.suggestion_catalog().await, name))
                    }
                },
                [] => NameLookup::Blocked,
                several => {
                    NameLookup::Ambiguous(several.iter().map(|it| it.callable.clone()).collect())
                }
            }
        })
    }
}
