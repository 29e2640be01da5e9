//! What an agent finds when it searches: the tools it may use, and which servers could
//! not say yet whether they have any.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use onecall_bridge::{ListingCut, ServerState, ServerStatus, Trouble};
use onecall_catalog::{Catalog, Observed, ServerMatch, match_server};
use onecall_core::{ServerName, ToolSpec};
use thiserror::Error;
use tokio::time::timeout;

use crate::Gateway;

/// How long a search waits for servers that are still connecting. Who finds nothing can
/// ask again; who waits can do nothing else.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct ToolSearch<'a> {
    /// Words; none means every tool, by name.
    pub query: &'a str,
    /// Only tools of this server.
    pub server: Option<&'a str>,
    /// How many tools to give at most.
    pub limit: usize,
}

/// One tool that was found.
#[derive(Clone, Debug)]
pub struct ToolFinding {
    /// As its server describes it.
    pub spec: Arc<ToolSpec>,
    /// What its results looked like, where its server does not say.
    pub observed: Option<Observed>,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Tools, best first.
    pub tools: Vec<ToolFinding>,
    /// How many match in all.
    pub matching: usize,
    /// How many tools each server has, if nothing was found.
    pub servers: BTreeMap<ServerName, usize>,
    /// Servers of which nothing is known yet.
    pub connecting: Vec<ServerName>,
    /// Servers that are being installed for the first time.
    pub installing: Vec<ServerName>,
    /// Servers that are not running.
    pub down: Vec<ServerName>,
    /// Servers whose entry cannot be used, and why.
    pub unresolved: Vec<(ServerName, String)>,
    /// Servers that have more tools than they could list.
    pub cut: Vec<(ServerName, ListingCut)>,
}

/// There is no server of this name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoSuchServer {
    /// None is called so.
    #[error("there is no server '{name}'{}", told(.nearest.as_deref(), .known))]
    Unknown {
        /// What was asked for.
        name: String,
        /// What may have been meant.
        nearest: Option<String>,
        /// Those there are.
        known: Vec<String>,
    },
    /// Several are called nearly so.
    #[error("several servers are named like '{name}': {}", .alike.join(", "))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// Those that could be meant.
        alike: Vec<String>,
    },
}

/// More servers than this are not listed for the sake of one that does not exist.
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
    /// Looks for tools that programs may call. Waits for servers that are still
    /// connecting, but not for long.
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

    /// Looks for tools of a catalog that programs may call, on `server` alone if there is one.
    pub(crate) async fn search_in(
        &self,
        catalog: Arc<Catalog>,
        search: ToolSearch<'_>,
        server: Option<ServerName>,
    ) -> Findings {
        let (rules, query, limit) = (self.rules(), search.query.to_owned(), search.limit);
        let learned = self.shared.learned.clone();
        // The first search of thousands of tools takes long enough to be in the way of
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

    /// The server that a name means, as its user, its tools' names or a model may write it.
    pub fn server_meant(&self, name: &str) -> Result<ServerName, NoSuchServer> {
        server_named(name, &self.bridge.status())
    }

    /// The tools of all servers, or after this long of those that are there.
    pub(crate) async fn known_soon(&self, patience: Duration) -> Arc<Catalog> {
        self.within(patience, self.bridge.catalog()).await
    }

    /// The tools that are waited for, or after this long those that are known.
    async fn within(
        &self,
        patience: Duration,
        catalog: impl Future<Output = Arc<Catalog>>,
    ) -> Arc<Catalog> {
        timeout(patience, catalog).await.unwrap_or_else(|_| self.bridge.known())
    }

    /// Waits for the server that this name means, or for all servers without a name, however long
    /// they take. A name that means none is an error of the search that follows.
    pub async fn wait_for_server(&self, name: Option<&str>) {
        match name.map(|name| self.server_meant(name)) {
            Some(Ok(server)) => _ = self.bridge.catalog_of(|it| *it == server).await,
            Some(Err(_)) => {}
            None => _ = self.bridge.catalog().await,
        }
    }
}

/// How many such tools each server has.
fn counted(catalog: &Catalog, is_meant: impl Fn(&ToolSpec) -> bool) -> BTreeMap<ServerName, usize> {
    let mut servers = BTreeMap::new();
    for spec in catalog.tools().filter(|spec| is_meant(spec)) {
        *servers.entry(spec.server.clone()).or_default() += 1;
    }
    servers
}

/// The server that is meant, whether its tools are known or not.
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
