//! The tools of all servers as they were last seen, by this process or an earlier one. Answers from
//! here start no server, but may be outdated.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use onecall_bridge::{
    AdmittedTools, PinStorage, QuarantinedTool, ServerIdentity, ToolWatch, local_definitions,
};
use onecall_catalog::{Catalog, ToolDefinition, permits};
use onecall_config::{Config, LocalTool, ServerConfig, StoreLocation, Transport};
use onecall_core::{CallableName, ServerName, Timestamp, ToolSpec};
use onecall_store::read_listings;

use crate::listing_store::EarlierListing;
use crate::{FoundTool, Gateway, NoSuchServer, ToolSearch, redactor};

/// What is known about the tools of the configured servers.
#[derive(Clone, Debug, Default)]
pub struct LastKnownTools {
    /// All known tools, not filtered by policy.
    pub(crate) catalog: Arc<Catalog>,
    quarantined: Vec<QuarantinedTool>,
    /// The listings of earlier processes, for servers that this process has not asked yet.
    earlier: BTreeMap<ServerName, EarlierListing>,
    /// Servers that could have tools, but whose tools are not known.
    unknown: Vec<ServerName>,
    /// Servers whose configuration is invalid, so that they cannot be started.
    unresolved: Vec<ServerName>,
}

/// Which servers are asked for their tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// Only servers whose tools are not known.
    Unknown,
    /// All servers.
    All,
}

impl LastKnownTools {
    /// Combines what is known about `servers`: the tools that this process has listed (`tried`), or
    /// else those that `earlier` returns.
    pub(crate) fn of(
        servers: &[ServerConfig],
        local: Option<Arc<Vec<ToolDefinition>>>,
        mut tried: HashMap<ServerName, AdmittedTools>,
        pins: &PinStorage,
        mut earlier: impl FnMut(&ServerConfig) -> Option<EarlierListing>,
    ) -> Self {
        let mut known = Self::default();
        let mut listed = Vec::new();
        for server in servers {
            let name = &server.name;
            let admitted = match (tried.remove(name), &server.transport) {
                (Some(admitted), _) => admitted,
                // The server cannot be started, so it has no tools.
                (None, Transport::Unresolved(_)) => {
                    known.unresolved.push(name.clone());
                    continue;
                }
                (None, _) => match earlier(server) {
                    Some(earlier) => {
                        let admitted = AdmittedTools::of(server, &earlier.listed, pins);
                        known.earlier.insert(name.clone(), earlier);
                        admitted
                    }
                    None => {
                        known.unknown.push(name.clone());
                        continue;
                    }
                },
            };
            known.quarantined.extend(admitted.quarantined.iter().cloned());
            listed.push((name.clone(), admitted.tools));
        }
        listed.extend(local.map(|local| (LocalTool::server(), local)));
        known.catalog = Arc::new(Catalog::default().with_tool_lists(listed));
        known
    }

    /// The names of the tools that programs may call, read from the store. Starts
    /// no server, writes nothing and waits for no lock: see [`read_listings`]. Pins are read from `pins` for
    /// servers that have a list.
    #[must_use]
    pub fn stored_tool_names(
        store: &StoreLocation,
        config: &Config,
        pins: &PinStorage,
    ) -> Vec<CallableName> {
        let keys: Vec<_> = config.servers.iter().map(ServerIdentity::of_entry).collect();
        // The listings come in the order of the servers in `keys`.
        let mut stored = read_listings(store, &keys, Timestamp::now()).into_iter();
        let mut by_name: HashMap<_, _> = config
            .servers
            .iter()
            .filter_map(|server| Some((&server.name, stored.next()??)))
            .collect();
        let earlier =
            |server: &ServerConfig| by_name.remove(&server.name).and_then(EarlierListing::read);
        let local = local_definitions(&config.local_tools);
        let known = Self::of(&config.servers, Some(local), HashMap::new(), pins, earlier);
        let tools = known.catalog.tools();
        let permitted = tools.filter(|spec| permits(&config.tools, spec));
        permitted.map(|spec| spec.callable.clone()).collect()
    }

    /// All known tools, also those that the lists of the configuration hide or that are in
    /// quarantine. Policies are checked against them.
    #[must_use]
    pub fn all_tools(&self) -> Vec<Arc<ToolSpec>> {
        let quarantined = self.quarantined.iter().map(|tool| &tool.spec);
        let quarantined =
            quarantined.filter(|spec| self.catalog.get(spec.callable.as_str()).is_none());
        self.catalog.tools().chain(quarantined).cloned().collect()
    }

    /// The tool as it is in quarantine, if programs cannot call it for that reason.
    pub(crate) fn quarantine_of(&self, tool: &ToolSpec) -> Option<&QuarantinedTool> {
        let is_callable = self.catalog.get(tool.callable.as_str()).is_some();
        let mut quarantined = self.quarantined.iter().filter(|_| !is_callable);
        quarantined.find(|it| it.spec.callable == tool.callable)
    }

    /// Whether the tools of every server that could have some are known.
    pub(crate) fn is_complete(&self) -> bool {
        self.unknown.is_empty()
    }

    /// The servers whose stored listings are at least `age` old, with the age of the oldest one;
    /// `None` if there are none. With `only`, just that server is considered.
    #[must_use]
    pub fn outdated_listings(
        &self,
        age: Duration,
        only: Option<&ServerName>,
    ) -> Option<(Duration, Vec<ServerName>)> {
        let now = Timestamp::now();
        let is_selected = |name: &ServerName| only.is_none_or(|only| only == name);
        let ages = self.earlier.iter().map(|(name, it)| (name, now.since(it.listed_at)));
        let old: Vec<_> = ages.filter(|(name, it)| is_selected(name) && *it >= age).collect();
        let oldest = old.iter().map(|(_, age)| *age).max()?;
        Some((oldest, old.into_iter().map(|(name, _)| name.clone()).collect()))
    }
}

impl Gateway {
    /// What is known about the tools of all servers at this moment.
    pub async fn last_known_tools(&self) -> LastKnownTools {
        self.rules().directory.last_known_tools().await
    }

    /// What is known about the tools of the server that `name` refers to, or of all servers without
    /// a name. Returns when the servers that `refresh` selects have listed their tools or have
    /// failed.
    pub async fn refresh_known_tools(
        &self,
        name: Option<&str>,
        refresh: Refresh,
    ) -> LastKnownTools {
        let directory = &self.rules().directory;
        match refresh {
            Refresh::All => self.wait_for_server(name).await,
            Refresh::Unknown => {
                let known = directory.last_known_tools().await;
                // If the name refers to no server, the search that follows reports it.
                let Ok(only) = name.map(|name| self.resolve_server(name)).transpose() else {
                    return known;
                };
                let is_selected =
                    |server: &ServerName| only.as_ref().is_none_or(|only| only == server);
                // Servers that cannot be started fail at once, with the reason.
                let wanted = known.unknown.iter().chain(&known.unresolved);
                let wanted = wanted.filter(|server| is_selected(server));
                let wanted: HashSet<&ServerName> = wanted.collect();
                if wanted.is_empty() {
                    return known;
                }
                self.bridge.catalog_of_servers(|server| wanted.contains(server)).await;
            }
        }
        directory.last_known_tools().await
    }

    /// Searches the known tools that programs may call.
    pub async fn find_known(
        &self,
        search: ToolSearch<'_>,
        known: &LastKnownTools,
    ) -> Result<Vec<FoundTool>, NoSuchServer> {
        let server = search.server.map(|name| self.resolve_server(name)).transpose()?;
        Ok(self.search_in(Arc::clone(&known.catalog), search, server).await.tools)
    }

    /// Looks up a known tool by its callable name, if programs may call it.
    #[must_use]
    pub fn inspect_known(&self, name: &str, known: &LastKnownTools) -> Option<Arc<ToolSpec>> {
        let spec = known.catalog.get(name)?;
        self.rules().directory.permits(spec).then(|| Arc::clone(spec))
    }

    /// The known tools in quarantine that policy would permit if they were accepted.
    #[must_use]
    pub fn known_quarantine(&self, known: &LastKnownTools) -> Vec<QuarantinedTool> {
        let mut tools = known.quarantined.clone();
        tools.retain(|tool| self.rules().directory.permits(&tool.spec));
        tools.sort_by(|a, b| a.spec.callable.cmp(&b.spec.callable));
        tools
    }

    /// Asks these servers for their tools, and returns when they have answered or failed.
    pub async fn list_tools_of(&self, servers: &[ServerName]) {
        self.bridge.catalog_of_servers(|server| servers.contains(server)).await;
    }

    /// The servers whose tools differ from the stored listings in `known`.
    #[must_use]
    pub fn changed_since(&self, known: &LastKnownTools) -> Vec<ServerName> {
        let mut changed = Vec::new();
        self.bridge.for_each_listing(|server, listed| {
            let before = known.earlier.get(&server.name);
            if before.is_some_and(|before| before.listed != *listed) {
                changed.push(server.name.clone());
            }
        });
        changed
    }

    /// Queues the current listings of all servers to be written to the store.
    pub(crate) fn save_listings(&self) {
        if let Some(listings) = &self.shared.listings {
            listings.save(&self.bridge, || redactor(&self.config()));
        }
    }

    /// Writes listings to the store whenever they change, until the gateway stops.
    pub(crate) async fn save_listings_on_change(gateway: Weak<Self>, mut tools: ToolWatch) {
        while tools.changed().await {
            let Some(gateway) = gateway.upgrade() else { break };
            tools.current();
            gateway.save_listings();
        }
    }
}
