//! The tools of all servers as they were seen last: by this process, or by an earlier one. What
//! is answered from this starts no server, and may not be true any more.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use onecall_bridge::{AdmittedTools, Identity, Quarantined, ToolWatch, local_definitions};
use onecall_catalog::{Catalog, ToolDefinition, permits};
use onecall_config::{Config, LocalTool, ServerConfig, Transport};
use onecall_core::{CallableName, ServerName, Timestamp, ToolSpec};
use onecall_store::read_listings;

use crate::seen_tools::SeenListing;
use crate::{Gateway, NoSuchServer, ToolFinding, ToolSearch, redactor};

/// What is known of the tools of a configuration's servers.
#[derive(Clone, Debug, Default)]
pub struct LastSeen {
    /// All tools that are known; the lists of allowed and blocked tools do not count here.
    pub(crate) catalog: Arc<Catalog>,
    quarantined: Vec<Quarantined>,
    /// What each server listed that an earlier process has asked and this one has not.
    earlier: BTreeMap<ServerName, SeenListing>,
    /// Servers that could have tools and of which none are known.
    unknown: Vec<ServerName>,
    /// Servers that cannot be started as they are configured.
    unresolved: Vec<ServerName>,
}

/// Which servers are asked for their tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Those whose tools are not known.
    Unknown,
    /// All of them.
    All,
}

impl LastSeen {
    /// Puts together what is known of `servers`: what this process has `tried`, or else what
    /// `earlier` says.
    pub(crate) fn of(
        servers: &[ServerConfig],
        local: Option<Arc<Vec<ToolDefinition>>>,
        mut tried: HashMap<ServerName, AdmittedTools>,
        mut earlier: impl FnMut(&ServerConfig) -> Option<SeenListing>,
    ) -> Self {
        let mut known = Self::default();
        let mut listed = Vec::new();
        for server in servers {
            let name = &server.name;
            let admitted = match (tried.remove(name), &server.transport) {
                (Some(admitted), _) => admitted,
                // It cannot be started, so it has no tools.
                (None, Transport::Unresolved(_)) => {
                    known.unresolved.push(name.clone());
                    continue;
                }
                (None, _) => match earlier(server) {
                    Some(earlier) => {
                        let admitted = AdmittedTools::of(server, &earlier.listed);
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
        known.catalog = Arc::new(Catalog::default().next(listed));
        known
    }

    /// The names of the tools that programs may call, as the store in the file at `store` has
    /// them. Starts nothing, writes nothing and waits for nobody: see [`read_listings`].
    #[must_use]
    pub fn names_in(store: &Path, config: &Config) -> Vec<CallableName> {
        let keys: Vec<_> = config.servers.iter().map(Identity::of_entry).collect();
        // In the order of the servers, which is that in which they are asked for.
        let mut stored = read_listings(store, &keys, Timestamp::now()).into_iter();
        let mut by_name: HashMap<_, _> = config
            .servers
            .iter()
            .filter_map(|server| Some((&server.name, stored.next()??)))
            .collect();
        let earlier =
            |server: &ServerConfig| by_name.remove(&server.name).and_then(SeenListing::read);
        let local = local_definitions(&config.local_tools);
        let known = Self::of(&config.servers, Some(local), HashMap::new(), earlier);
        let tools = known.catalog.tools();
        let permitted = tools.filter(|spec| permits(&config.tools, spec));
        permitted.map(|spec| spec.callable.clone()).collect()
    }

    /// Whether the tools of every server are known that could have some.
    pub(crate) fn is_complete(&self) -> bool {
        self.unknown.is_empty()
    }

    /// How long ago the tools were listed of the server that was not listed for the longest time,
    /// and every server that was not listed for `age`. Only the one that `only` names is looked at.
    #[must_use]
    pub fn not_listed_for(
        &self,
        age: Duration,
        only: Option<&ServerName>,
    ) -> Option<(Duration, Vec<ServerName>)> {
        let now = Timestamp::now();
        let is_meant = |name: &ServerName| only.is_none_or(|only| only == name);
        let ages = self.earlier.iter().map(|(name, it)| (name, now.since(it.seen)));
        let old: Vec<_> = ages.filter(|(name, it)| is_meant(name) && *it >= age).collect();
        let oldest = old.iter().map(|(_, age)| *age).max()?;
        Some((oldest, old.into_iter().map(|(name, _)| name.clone()).collect()))
    }
}

impl Gateway {
    /// What is known of the servers' tools at this moment.
    pub async fn known_now(&self) -> LastSeen {
        self.rules().directory.last_seen().await
    }

    /// What is known of the tools of the server that `name` means, or of all servers without a
    /// name, once those that are to be `asked` have listed their tools or failed.
    pub async fn last_seen(&self, name: Option<&str>, asked: Asked) -> LastSeen {
        let directory = &self.rules().directory;
        match asked {
            Asked::All => self.wait_for_server(name).await,
            Asked::Unknown => {
                let known = directory.last_seen().await;
                // A name that means none is an error of the search that follows.
                let Ok(only) = name.map(|name| self.server_meant(name)).transpose() else {
                    return known;
                };
                let is_meant =
                    |server: &ServerName| only.as_ref().is_none_or(|only| only == server);
                // Those that cannot be started say at once why not.
                let wanted = known.unknown.iter().chain(&known.unresolved);
                let wanted = wanted.filter(|server| is_meant(server));
                let wanted: HashSet<&ServerName> = wanted.collect();
                if wanted.is_empty() {
                    return known;
                }
                self.bridge.catalog_of(|server| wanted.contains(server)).await;
            }
        }
        directory.last_seen().await
    }

    /// Looks for tools that programs may call among those that are known.
    pub async fn find_seen(
        &self,
        search: ToolSearch<'_>,
        known: &LastSeen,
    ) -> Result<Vec<ToolFinding>, NoSuchServer> {
        let server = search.server.map(|name| self.server_meant(name)).transpose()?;
        Ok(self.search_in(Arc::clone(&known.catalog), search, server).await.tools)
    }

    /// One tool by its callable name among those that are known, if programs may call it.
    #[must_use]
    pub fn inspect_seen(&self, name: &str, known: &LastSeen) -> Option<Arc<ToolSpec>> {
        let spec = known.catalog.get(name)?;
        self.rules().directory.permits(spec).then(|| Arc::clone(spec))
    }

    /// The tools among those that are known that programs could call if they were accepted.
    #[must_use]
    pub fn quarantine_seen(&self, known: &LastSeen) -> Vec<Quarantined> {
        let mut tools = known.quarantined.clone();
        tools.retain(|tool| self.rules().directory.permits(&tool.spec));
        tools.sort_by(|a, b| a.spec.callable.cmp(&b.spec.callable));
        tools
    }

    /// Has these servers list their tools, and returns when they have or failed.
    pub async fn list_tools_of(&self, servers: &[ServerName]) {
        self.bridge.catalog_of(|server| servers.contains(server)).await;
    }

    /// The servers that have listed other tools since than are `known` of them.
    #[must_use]
    pub fn changed_since(&self, known: &LastSeen) -> Vec<ServerName> {
        let mut changed = Vec::new();
        self.bridge.each_listing(|server, listed| {
            let before = known.earlier.get(&server.name);
            if before.is_some_and(|before| before.listed != *listed) {
                changed.push(server.name.clone());
            }
        });
        changed
    }

    /// Hands what servers have listed to the store.
    pub(crate) fn keep_listings(&self) {
        if let Some(seen) = &self.shared.seen {
            seen.keep(&self.bridge, || redactor(&self.config()));
        }
    }

    /// Hands what servers list to the store as it changes, until everything stops.
    pub(crate) async fn follow_listings(gateway: Weak<Self>, mut tools: ToolWatch) {
        while tools.changed().await {
            let Some(gateway) = gateway.upgrade() else { break };
            tools.now();
            gateway.keep_listings();
        }
    }
}
