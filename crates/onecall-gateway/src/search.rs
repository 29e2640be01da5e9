//! Search for tools: those that programs may use, and which servers could not be searched because
//! their tools are not known yet.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use onecall_bridge::{ListingCut, ServerState, ServerStatus, Trouble};
use onecall_catalog::{Catalog, Observed, ServerMatch, match_server};
use onecall_core::{ServerName, ToolSpec};
use thiserror::Error;
use tokio::time::timeout;

use crate::Gateway;

/// How long a search waits for servers that are still connecting. This is short because an agent
/// can search again, but can do nothing else while it waits.
const PATIENCE: Duration = Duration::from_secs(5);

/// A search for tools.
#[derive(Clone, Copy, Debug)]
pub struct ToolSearch<'a> {
    /// Search words; empty text finds every tool, sorted by name.
    pub query: &'a str,
    /// The server to search; `None` searches all.
    pub server: Option<&'a str>,
    /// The largest number of tools to return.
    pub limit: usize,
}

/// One tool that was found.
#[derive(Clone, Debug)]
pub struct ToolFinding {
    /// The tool, as its server describes it.
    pub spec: Arc<ToolSpec>,
    /// The observed result type, if the server does not declare one.
    pub observed: Option<Observed>,
}

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The tools found, best match first.
    pub tools: Vec<ToolFinding>,
    /// How many tools match in total.
    pub matching: usize,
    /// How many tools each server has, if the search found none.
    pub servers: BTreeMap<ServerName, usize>,
    /// Servers that are still connecting and whose tools are not known.
    pub connecting: Vec<ServerName>,
    /// Servers that are being installed for the first time.
    pub installing: Vec<ServerName>,
    /// Servers that are not running.
    pub down: Vec<ServerName>,
    /// Servers whose configuration cannot be used, and why.
    pub unresolved: Vec<(ServerName, String)>,
    /// Servers that have more tools than could be listed.
    pub cut: Vec<(ServerName, ListingCut)>,
}

/// A name that refers to no server, or to several.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoSuchServer {
    /// No server has this name.
    #[error("there is no server '{name}'{}", told(.nearest.as_deref(), .known))]
    Unknown {
        /// The name that was looked up.
        name: String,
        /// The most similar server name, if one is similar.
        nearest: Option<String>,
        /// The names of all servers.
        known: Vec<String>,
    },
    /// Several servers have a similar name.
    #[error("several servers are named like '{name}': {}", .alike.join(", "))]
    Ambiguous {
        /// The name that was looked up.
        name: String,
        /// The servers that could be meant.
        alike: Vec<String>,
    },
}

/// If there are more servers than this, an error message lists none of them.
const MOST_LISTED: usize = 20;

fn told(nearest: Option<&str>, known: &[String]) -> String {
    match (nearest, known) {
        (Some(nearest), _) => format!(". Did you mean '{nearest}'?"),
        (None, []) => ": no servers are configured".to_owned(),
        (None, known) if known.len() > MOST_LISTED => String::new(),
        (None, known) => format!("; there are: {}", known.join(", ")),
    }
}

impl Gateway {
    /// Searches for tools that programs may call. Waits a short time for servers that are still
    /// connecting.
    pub async fn find(&self, search: ToolSearch<'_>) -> Result<Findings, NoSuchServer> {
        let server = match search.server {
            Some(name) => Some(self.server_meant(name)?),
            None => None,
        };
        let catalog = match &server {
            Some(server) => self.within(PATIENCE, self.bridge.catalog_of(|it| it == server)).await,
            None => self.known_soon(PATIENCE).await,
        };
        let status = self.bridge.status();
        let found = self.search_in(catalog, search, server.clone()).await;
        let asked = status.iter().filter(|it| server.as_ref().is_none_or(|name| it.name == *name));
        let names = |wanted: fn(&ServerState) -> bool| {
            asked.clone().filter(|it| wanted(&it.state)).map(|it| it.name.clone()).collect()
        };
        let connecting = names(|it| matches!(it, ServerState::Connecting | ServerState::Idle));
        let installing = names(|it| matches!(it, ServerState::Installing { .. }));
        let down = names(
            |it| matches!(it, ServerState::Failed { trouble, .. } if *trouble != Trouble::Unresolved),
        );
        let unresolved = asked.clone().filter_map(|it| match &it.state {
            ServerState::Failed { reason, trouble: Trouble::Unresolved, .. } => {
                Some((it.name.clone(), reason.clone()))
            }
            _ => None,
        });
        let unresolved = unresolved.collect();
        let cut = asked.filter_map(|it| Some((it.name.clone(), it.cut.clone()?))).collect();
        Ok(Findings { connecting, installing, down, unresolved, cut, ..found })
    }

    /// Searches a catalog for tools that programs may call, restricted to `server` if it is given.
    pub(crate) async fn search_in(
        &self,
        catalog: Arc<Catalog>,
        search: ToolSearch<'_>,
        server: Option<ServerName>,
    ) -> Findings {
        let (rules, query, limit) = (self.rules(), search.query.to_owned(), search.limit);
        let learned = self.shared.learned.clone();
        // The first search builds an index; for thousands of tools that takes long enough to delay
        // other tasks.
        let searched = tokio::task::spawn_blocking(move || {
            let is_meant = |spec: &ToolSpec| {
                server.as_ref().is_none_or(|server| spec.server == *server)
                    && rules.directory.permits(spec)
            };
            let relevant = catalog.relevant(&query, is_meant);
            let matching = relevant.len();
            let found = |spec: &Arc<ToolSpec>| ToolFinding {
                spec: Arc::clone(spec),
                observed: learned.as_ref().and_then(|learned| learned.observed(spec)),
            };
            let tools = relevant.into_iter().take(limit).map(found).collect();
            let servers = if matching == 0 { counted(&catalog, is_meant) } else { BTreeMap::new() };
            Findings { tools, matching, servers, ..Findings::default() }
        });
        searched.await.unwrap_or_default()
    }

    /// Finds the server that a name refers to, in the spelling of the configuration, of tool names
    /// or of a model.
    pub fn server_meant(&self, name: &str) -> Result<ServerName, NoSuchServer> {
        server_named(name, &self.bridge.status())
    }

    /// The tools of all servers; after `patience`, those that are known by then.
    pub(crate) async fn known_soon(&self, patience: Duration) -> Arc<Catalog> {
        self.within(patience, self.bridge.catalog()).await
    }

    /// The result of `catalog`; after `patience`, the tools that are known by then.
    async fn within(
        &self,
        patience: Duration,
        catalog: impl Future<Output = Arc<Catalog>>,
    ) -> Arc<Catalog> {
        timeout(patience, catalog).await.unwrap_or_else(|_| self.bridge.known())
    }

    /// Waits without a time limit for the server that this name refers to, or for all servers
    /// without a name. A name that refers to no server is reported by the search that follows.
    pub async fn wait_for_server(&self, name: Option<&str>) {
        match name.map(|name| self.server_meant(name)) {
            Some(Ok(server)) => _ = self.bridge.catalog_of(|it| *it == server).await,
            Some(Err(_)) => {}
            None => _ = self.bridge.catalog().await,
        }
    }
}

/// Counts the matching tools of each server.
fn counted(catalog: &Catalog, is_meant: impl Fn(&ToolSpec) -> bool) -> BTreeMap<ServerName, usize> {
    let mut servers = BTreeMap::new();
    for spec in catalog.tools().filter(|spec| is_meant(spec)) {
        *servers.entry(spec.server.clone()).or_default() += 1;
    }
    servers
}

/// Finds the server that a name refers to, whether its tools are known or not.
fn server_named(name: &str, status: &[ServerStatus]) -> Result<ServerName, NoSuchServer> {
    let mut known: Vec<&str> = status.iter().map(|it| it.name.as_str()).collect();
    known.sort_unstable();
    let name = name.to_owned();
    let all = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
    match match_server(&name, known.iter().copied()) {
        ServerMatch::One(server) => Ok(ServerName::new(server)),
        ServerMatch::Several(alike) => Err(NoSuchServer::Ambiguous { name, alike: all(&alike) }),
        ServerMatch::None(nearest) => {
            let nearest = nearest.map(str::to_owned);
            Err(NoSuchServer::Unknown { name, nearest, known: all(&known) })
        }
    }
}
