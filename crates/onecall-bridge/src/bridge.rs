//! All servers together: one catalog of their tools, and calls to them.

use std::collections::HashMap;
use std::sync::Arc;

use onecall_catalog::{Catalog, name_prefix};
use onecall_config::{LocalTool, ServerConfig};
use onecall_core::{
    BoxFuture, CallableName, Resolution, ServerName, ToolAnnotations, ToolCall, ToolError,
    ToolHost, ToolName, ToolSpec, ToolValue,
};
use serde_json::json;
use tokio::sync::{Notify, watch};

use crate::guard::Guard;
use crate::local::LocalTools;
use crate::server::{Server, stopped};
use crate::status::ServerStatus;

/// How many names to suggest for one that does not exist.
const SUGGESTIONS: usize = 3;

/// How many arguments a call of an unknown tool may pass by position.
const MAX_POSITIONS: usize = 32;

/// The downstream servers. Dropping it stops them, without waiting for their end.
pub struct Bridge {
    /// In the order of the configuration.
    servers: Vec<Arc<Server>>,
    by_name: HashMap<ServerName, Arc<Server>>,
    local: Option<Arc<LocalTools>>,
    snapshot: watch::Receiver<Snapshot>,
    stop: watch::Sender<bool>,
    /// Held by the task of every server that is not gone yet.
    running: watch::Receiver<()>,
}

/// The tools of all servers at one moment.
#[derive(Default)]
struct Snapshot {
    catalog: Arc<Catalog>,
    /// Which servers may still bring tools, in the order of the configuration.
    unsettled: Vec<bool>,
}

impl Bridge {
    /// Starts every server that is not lazy in the background and returns at once. Must be called
    /// inside a tokio runtime.
    ///
    /// A server that is needed for a limited time gets a bridge of its own: nothing
    /// of it is left after [`shutdown`](Self::shutdown).
    pub fn start(servers: Vec<ServerConfig>, guard: Guard) -> Arc<Self> {
        Self::start_with(servers, Vec::new(), guard)
    }

    /// The same with tools that need no server.
    pub fn start_with(
        servers: Vec<ServerConfig>,
        local: Vec<LocalTool>,
        guard: Guard,
    ) -> Arc<Self> {
        let changed = Arc::new(Notify::new());
        let servers: Vec<Arc<Server>> = servers
            .into_iter()
            .map(|config| Arc::new(Server::new(config, Arc::clone(&changed))))
            .collect();
        let (stop, stopping) = watch::channel(false);
        let (held, running) = watch::channel(());
        let held = Arc::new(held);
        for server in &servers {
            let (server, guard) = (Arc::clone(server), guard.clone());
            let (stopping, held) = (stopping.clone(), Arc::clone(&held));
            tokio::spawn(async move {
                server.live(guard, stopping).await;
                drop(held);
            });
        }
        let local = LocalTools::new(local, guard, stopping.clone()).map(Arc::new);
        let (publish, snapshot) = watch::channel(build(&servers, local.as_deref()));
        tokio::spawn(keep_snapshot(servers.clone(), local.clone(), changed, publish, stopping));
        let by_name =
            servers.iter().map(|server| (server.name().clone(), Arc::clone(server))).collect();
        Arc::new(Self { servers, by_name, local, snapshot, stop, running })
    }

    /// Waits until every server was tried, then gives the tools of all. Starts
    /// those that are lazy. Each server has a deadline of its own, so this ends.
    pub async fn catalog(&self) -> Arc<Catalog> {
        self.servers.iter().for_each(|server| server.need());
        self.settled(|_| false).await
    }

    /// The same, but of the lazy servers only those start that may have this tool.
    pub async fn catalog_for(&self, name: &str) -> Arc<Catalog> {
        self.need(name);
        self.settled(|_| false).await
    }

    /// How each server is doing now, in the order of the configuration; local tools
    /// come last.
    #[must_use]
    pub fn status(&self) -> Vec<ServerStatus> {
        let local = self.local.iter().map(|local| local.status());
        self.servers.iter().map(|server| server.status()).chain(local).collect()
    }

    /// Which local tools cannot work as things are, and why: a line each.
    #[must_use]
    pub fn local_problems(&self) -> Vec<String> {
        self.local.iter().flat_map(|local| local.problems()).collect()
    }

    /// Stops every server and returns when all are gone.
    pub async fn shutdown(&self) {
        self.stop.send_replace(true);
        let mut running = self.running.clone();
        while running.changed().await.is_ok() {}
    }

    /// Looks a tool up, waiting for it only while a server may still bring it.
    async fn find(&self, name: &CallableName) -> Option<Arc<ToolSpec>> {
        let find = |snapshot: &Snapshot| snapshot.catalog.get(name.as_str()).cloned();
        if let Some(spec) = find(&self.snapshot.borrow()) {
            return Some(spec);
        }
        self.need(name.as_str());
        let catalog = self.settled(|snapshot| find(snapshot).is_some()).await;
        catalog.get(name.as_str()).cloned()
    }

    /// Starts the servers that may have this tool.
    fn need(&self, name: &str) {
        let idle = self.servers.iter().filter(|server| !server.is_needed());
        idle.filter(|server| name.starts_with(&name_prefix(server.name())))
            .for_each(|server| server.need());
    }

    /// The server that may have this tool and has not told, because nobody has
    /// logged in.
    fn logged_out(&self, name: &CallableName) -> Option<&Arc<Server>> {
        let may_have = |server: &&Arc<Server>| {
            name.as_str().starts_with(&name_prefix(server.name())) && server.waits_for_login()
        };
        self.servers.iter().find(may_have)
    }

    /// Waits until every server that is needed was tried, or there is enough.
    async fn settled(&self, is_enough: impl Fn(&Snapshot) -> bool) -> Arc<Catalog> {
        let is_settled = |snapshot: &Snapshot| {
            let mut servers = self.servers.iter().zip(&snapshot.unsettled);
            !servers.any(|(server, unsettled)| *unsettled && server.is_needed())
        };
        let mut snapshot = self.snapshot.clone();
        // An error means that everything has stopped: nothing to wait for.
        let _ = snapshot.wait_for(|snapshot| is_enough(snapshot) || is_settled(snapshot)).await;
        Arc::clone(&snapshot.borrow().catalog)
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

impl ToolHost for Bridge {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> BoxFuture<'a, Resolution> {
        Box::pin(async move {
            if let Some(spec) = self.find(name).await {
                return Resolution::Callable(spec);
            }
            if let Some(server) = self.logged_out(name) {
                return Resolution::Callable(Arc::new(stand_in(name, server.name())));
            }
            let catalog = Arc::clone(&self.snapshot.borrow().catalog);
            Resolution::Unknown { nearest: catalog.nearest(name.as_str(), SUGGESTIONS) }
        })
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        Box::pin(async move {
            let spec = self.find(&call.name).await;
            if let (Some(spec), Some(local)) = (&spec, &self.local)
                && spec.server.as_str() == LocalTool::SERVER
            {
                let value = local.call(spec, &call.arguments, call.form).await;
                return value.map_err(|message| ToolError::failed(&call.name, message));
            }
            let server = spec.as_ref().and_then(|spec| self.by_name.get(&spec.server));
            let (Some(spec), Some(server)) = (&spec, server) else {
                if let Some(server) = self.logged_out(&call.name) {
                    return Err(ToolError::failed(&call.name, server.not_running()));
                }
                return Err(ToolError::failed(&call.name, "no connected server has this tool"));
            };
            let value = server.call(spec, &call.arguments, call.form).await;
            value.map_err(|message| ToolError::failed(&call.name, message))
        })
    }
}

/// A tool that nobody knows yet. Whoever calls it, in whatever way, is told why it
/// does not work.
fn stand_in(name: &CallableName, server: &ServerName) -> ToolSpec {
    let positions = (1..=MAX_POSITIONS).map(|position| (format!("argument_{position}"), json!({})));
    let properties: serde_json::Map<_, _> = positions.collect();
    ToolSpec {
        callable: name.clone(),
        server: server.clone(),
        tool: ToolName::new(name.as_str()),
        description: None,
        input_schema: json!({ "type": "object", "properties": properties }),
        output_schema: None,
        annotations: ToolAnnotations::default(),
    }
}

/// Builds the catalog anew whenever a server changed. Changes that happen while
/// one is built are taken together.
async fn keep_snapshot(
    servers: Vec<Arc<Server>>,
    local: Option<Arc<LocalTools>>,
    changed: Arc<Notify>,
    publish: watch::Sender<Snapshot>,
    mut stopping: watch::Receiver<bool>,
) {
    loop {
        tokio::select! {
            () = changed.notified() => {}
            () = stopped(&mut stopping) => break,
        }
        let (servers, local) = (servers.clone(), local.clone());
        // Thousands of tools take long enough to be in the way of other tasks.
        let built = tokio::task::spawn_blocking(move || build(&servers, local.as_deref())).await;
        if let Ok(snapshot) = built {
            publish.send_replace(snapshot);
        }
    }
}

fn build(servers: &[Arc<Server>], local: Option<&LocalTools>) -> Snapshot {
    // Counted first: a server that settles meanwhile brings its tools next time.
    let unsettled = servers.iter().map(|server| !server.is_settled()).collect();
    let tools = servers.iter().map(|server| (server.name().clone(), server.tools().to_vec()));
    let local = local.map(|local| (LocalTool::server(), local.definitions().to_vec()));
    Snapshot { catalog: Arc::new(Catalog::build(tools.chain(local))), unsettled }
}
