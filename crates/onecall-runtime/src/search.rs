//! What an agent finds when it searches: the tools it may use, and which servers could
//! not say yet whether they have any.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use onecall_bridge::{ServerState, ServerStatus};
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
    /// Servers that are not running.
    pub down: Vec<ServerName>,
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
        (None, []) => ", nor any other".to_owned(),
        (None, known) if known.len() > MOST_LISTED => String::new(),
        (None, known) => format!("; there are: {}", known.join(", ")),
    }
}

impl Gateway {
    /// Looks for tools that programs may call. Waits for servers that are still
    /// connecting, but not for long.
    pub async fn find(&self, search: ToolSearch<'_>) -> Result<Findings, NoSuchServer> {
        let catalog = self.known_soon(PATIENCE).await;
        let status = self.bridge.status();
        let server = match search.server {
            Some(name) => Some(server_named(name, &catalog, &status)?),
            None => None,
        };
        let (rules, query, limit) = (self.rules(), search.query.to_owned(), search.limit);
        let (only, learned) = (server.clone(), self.shared.learned.clone());
        // The first search of thousands of tools takes long enough to be in the way of
        // other tasks.
        let searched = tokio::task::spawn_blocking(move || {
            let is_meant = |spec: &ToolSpec| {
                only.as_ref().is_none_or(|server| spec.server == *server)
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
        let found = searched.await.unwrap_or_default();
        let asked = status.iter().filter(|it| server.as_ref().is_none_or(|name| it.name == *name));
        let names = |wanted: fn(&ServerState) -> bool| {
            asked.clone().filter(|it| wanted(&it.state)).map(|it| it.name.clone()).collect()
        };
        let connecting = names(|it| matches!(it, ServerState::Connecting | ServerState::Idle));
        let down = names(|it| matches!(it, ServerState::Failed { .. }));
        Ok(Findings { connecting, down, ..found })
    }

    /// The tools of all servers, or after this long of those that are there.
    pub(crate) async fn known_soon(&self, patience: Duration) -> Arc<Catalog> {
        match timeout(patience, self.bridge.catalog()).await {
            Ok(catalog) => catalog,
            Err(_) => self.bridge.known(),
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

/// The server that is meant: one that has tools, or one that may yet have some.
fn server_named(
    name: &str,
    catalog: &Catalog,
    status: &[ServerStatus],
) -> Result<ServerName, NoSuchServer> {
    let with_tools = catalog.tools().map(|spec| spec.server.as_str());
    let mut known: Vec<&str> = status.iter().map(|it| it.name.as_str()).chain(with_tools).collect();
    known.sort_unstable();
    known.dedup();
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
