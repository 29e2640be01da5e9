//! Search for tools: those that programs may use, and which servers could not be searched because
//! their tools are not known yet.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use onecall_bridge::{FailureKind, ListingCut, ServerState, ServerStatus};
use onecall_catalog::{Catalog, ObservedOutput, ServerMatch, match_server};
use onecall_core::{ServerName, ToolSpec};
use thiserror::Error;
use tokio::time::timeout;

use crate::Gateway;

/// How long a search waits for servers that are still connecting. This is short because an agent
/// can search again, but can do nothing else while it waits.
const MAX_WAIT: Duration = Duration::from_secs(5);

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
pub struct FoundTool {
    /// The tool, as its server describes it.
    pub spec: Arc<ToolSpec>,
    /// The observed result type, if the server does not declare one.
    pub observed: Option<ObservedOutput>,
}

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub struct SearchResults {
    /// The tools found, best match first.
    pub tools: Vec<FoundTool>,
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
    #[error("there is no server '{name}'{}", server_hint(.nearest.as_deref(), .known))]
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
const MAX_LISTED: usize = 20;

fn server_hint(nearest: Option<&str>, known: &[String]) -> String {
    match (nearest, known) {
        (Some(nearest), _) => format!(". Did you mean '{nearest}'?"),
        (None, []) => ": no servers are configured".to_owned(),
        (None, known) if known.len() > MAX_LISTED => String::new(),
        (None, known) => format!("; there are: {}", known.join(", ")),
    }
}

/// The reason why a server cannot be started, if it says what the reader has to do: its entry refers to
/// variables that are not set, or it needs credentials of the user that it belongs to.
fn what_to_do(server: &ServerStatus) -> Option<&str> {
    match &server.state {
        ServerState::Failed { reason, failure_kind: FailureKind::Unresolved, .. } => Some(reason),
        ServerState::Failed {
            reason,
            failure_kind: FailureKind::LoggedOut | FailureKind::Unauthorized,
            ..
        } if server.user.is_some() => Some(reason),
        _ => None,
    }
}

impl Gateway {
    /// Searches for tools that programs may call. Waits a short time for servers that are still
    /// connecting.
    pub async fn find(&self, search: ToolSearch<'_>) -> Result<SearchResults, NoSuchServer> {
        let server = match search.server {
            Some(name) => Some(self.resolve_server(name)?),
            None => None,
        };
        let catalog = match &server {
            Some(server) => {
                self.catalog_or_known(MAX_WAIT, self.bridge.catalog_of_servers(|it| it == server))
                    .await
            }
            None => self.catalog_within(MAX_WAIT).await,
        };
        let status = self.bridge.status();
        let found = self.search_in(catalog, search, server.clone()).await;
        let asked = status.iter().filter(|it| server.as_ref().is_none_or(|name| it.name == *name));
        let names = |wanted: &dyn Fn(&ServerStatus) -> bool| {
            asked.clone().filter(|it| wanted(it)).map(|it| it.name.clone()).collect()
        };
        // The tools of a user's server stay known when it is stopped.
        let unsettled = self.bridge.watch().current().unsettled;
        let connecting = names(&|it| {
            matches!(it.state, ServerState::Connecting | ServerState::Idle)
                && (it.user.is_none() || unsettled.contains(&it.name))
        });
        let installing = names(&|it| matches!(it.state, ServerState::Installing { .. }));
        let down =
            names(&|it| matches!(it.state, ServerState::Failed { .. }) && what_to_do(it).is_none());
        let unresolved =
            asked.clone().filter_map(|it| Some((it.name.clone(), what_to_do(it)?.to_owned())));
        let unresolved = unresolved.collect();
        let cut = asked.filter_map(|it| Some((it.name.clone(), it.cut.clone()?))).collect();
        Ok(SearchResults { connecting, installing, down, unresolved, cut, ..found })
    }

    /// Searches a catalog for tools that programs may call, restricted to `server` if it is given.
    pub(crate) async fn search_in(
        &self,
        catalog: Arc<Catalog>,
        search: ToolSearch<'_>,
        server: Option<ServerName>,
    ) -> SearchResults {
        let (rules, query, limit) = (self.rules(), search.query.to_owned(), search.limit);
        let learned = self.shared.learned.clone();
        // The first search builds an index; for thousands of tools that takes long enough to delay
        // other tasks.
        let searched = tokio::task::spawn_blocking(move || {
            let is_selected = |spec: &ToolSpec| {
                server.as_ref().is_none_or(|server| spec.server == *server)
                    && rules.directory.permits(spec)
            };
            let relevant = catalog.search_relevant(&query, is_selected);
            let matching = relevant.len();
            let found = |spec: &Arc<ToolSpec>| FoundTool {
                spec: Arc::clone(spec),
                observed: learned.as_ref().and_then(|learned| learned.observed(spec)),
            };
            let tools = relevant.into_iter().take(limit).map(found).collect();
            let servers = if matching == 0 {
                count_by_server(&catalog, is_selected)
            } else {
                BTreeMap::new()
            };
            SearchResults { tools, matching, servers, ..SearchResults::default() }
        });
        searched.await.unwrap_or_default()
    }

    /// Finds the server that a name refers to, in the spelling of the configuration, of tool names
    /// or of a model.
    pub fn resolve_server(&self, name: &str) -> Result<ServerName, NoSuchServer> {
        server_named(name, &self.bridge.status())
    }

    /// The tools of all servers; after `max_wait`, those that are known by then.
    pub(crate) async fn catalog_within(&self, max_wait: Duration) -> Arc<Catalog> {
        self.catalog_or_known(max_wait, self.bridge.catalog()).await
    }

    /// The result of `catalog`; after `max_wait`, the tools that are known by then.
    async fn catalog_or_known(
        &self,
        max_wait: Duration,
        catalog: impl Future<Output = Arc<Catalog>>,
    ) -> Arc<Catalog> {
        timeout(max_wait, catalog).await.unwrap_or_else(|_| self.bridge.known_catalog())
    }

    /// Waits without a time limit for the server that this name refers to, or for all servers
    /// without a name. A name that refers to no server is reported by the search that follows.
    pub async fn wait_for_server(&self, name: Option<&str>) {
        match name.map(|name| self.resolve_server(name)) {
            Some(Ok(server)) => _ = self.bridge.catalog_of_servers(|it| *it == server).await,
            Some(Err(_)) => {}
            None => _ = self.bridge.catalog().await,
        }
    }
}

/// Counts the matching tools of each server.
fn count_by_server(
    catalog: &Catalog,
    is_selected: impl Fn(&ToolSpec) -> bool,
) -> BTreeMap<ServerName, usize> {
    let mut servers = BTreeMap::new();
    for spec in catalog.tools().filter(|spec| is_selected(spec)) {
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
