//! All servers together: one catalog of their tools, and calls to them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onecall_catalog::{Catalog, ToolDefinition, name_prefix};
use onecall_config::{LocalTool, ServerConfig};
use onecall_core::{
    BoxFuture, CallableName, Resolution, Resolving, ServerName, ToolAnnotations, ToolCall,
    ToolError, ToolHost, ToolName, ToolSpec, ToolValue,
};
use serde_json::json;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::audience::Audience;
use crate::face::ToolFace;
use crate::fleet::{Fleet, FleetChange, Yard};
use crate::guard::Guard;
use crate::local::LocalTools;
use crate::pins::Quarantined;
use crate::server::{CallError, Server};
use crate::setting::Setting;
use crate::snapshot::{self, Snapshot, ToolWatch};
use crate::status::ServerStatus;

/// How many names to suggest for one that does not exist.
const SUGGESTIONS: usize = 3;

/// How many arguments a call of an unknown tool may pass by position.
const MAX_POSITIONS: usize = 32;

/// The downstream servers. Dropping it stops them, without waiting for their end.
pub struct Bridge {
    snapshot: Arc<watch::Sender<Snapshot>>,
    /// `None` once everything is to stop.
    yard: Mutex<Option<Yard>>,
    setting: Setting,
    stop: watch::Sender<bool>,
    /// Closed when every server is gone.
    running: watch::Receiver<()>,
}

/// What a name stands for.
enum Found {
    Tool(Arc<ToolSpec>, Arc<Server>),
    Local(Arc<ToolSpec>, Arc<LocalTools>),
    Quarantined(Quarantined),
}

impl Found {
    /// The tool; one in quarantine too, whose calls say what is the matter with it.
    fn into_spec(self) -> Arc<ToolSpec> {
        match self {
            Self::Tool(spec, _) | Self::Local(spec, _) => spec,
            Self::Quarantined(tool) => tool.spec,
        }
    }
}

impl Bridge {
    /// Starts every server that is not lazy in the background and returns at once. Must be called
    /// inside a tokio runtime.
    ///
    /// A server that is needed for a limited time gets a bridge of its own: nothing
    /// of it is left after [`shutdown`](Self::shutdown).
    pub fn start(servers: Vec<ServerConfig>, guard: Guard) -> Arc<Self> {
        Self::start_in(servers, Vec::new(), guard, Setting::default())
    }

    /// The same for servers that may ask and send as much as `setting` says, and with tools
    /// that need no server.
    pub fn start_in(
        servers: Vec<ServerConfig>,
        local: Vec<LocalTool>,
        guard: Guard,
        setting: Setting,
    ) -> Arc<Self> {
        let changed = Arc::new(Notify::new());
        let (stop, stopping) = watch::channel(false);
        let (held, running) = watch::channel(());
        let snapshot = Arc::new(watch::Sender::new(Snapshot::default()));
        tokio::spawn(snapshot::keep(Arc::clone(&changed), Arc::clone(&snapshot), stopping.clone()));
        let yard =
            Yard { guard, changed, running: Arc::new(held), stopping, setting: setting.clone() };
        let bridge = Self { snapshot, yard: Mutex::new(Some(yard)), setting, stop, running };
        bridge.reconfigure(servers, local);
        Arc::new(bridge)
    }

    /// Brings the servers in line with another configuration: those whose entry is the
    /// same go on undisturbed, but look at their pins again. Must be called inside a
    /// tokio runtime.
    pub fn reconfigure(&self, servers: Vec<ServerConfig>, local: Vec<LocalTool>) -> FleetChange {
        let yard = self.yard();
        let Some(yard) = &*yard else { return FleetChange::default() };
        let old = self.fleet();
        let (fleet, change) = old.next(servers, local, yard);
        fleet.servers().for_each(|server| server.look_at_pins());
        // At once, so that no call looks for a server in a fleet that is no more.
        let before = self.known();
        self.snapshot.send_replace(Snapshot::of(Arc::new(fleet), &before));
        change
    }

    /// Waits until every server was tried, then gives the tools of all. Starts
    /// those that are lazy. Each server has a deadline of its own, so this ends.
    pub async fn catalog(&self) -> Arc<Catalog> {
        self.fleet().servers().for_each(|server| server.need());
        self.settled(|_| false).await.catalog
    }

    /// The same, but of the lazy servers only those start that may have this tool.
    pub async fn catalog_for(&self, name: &str) -> Arc<Catalog> {
        self.need(name);
        self.settled(|_| false).await.catalog
    }

    /// What the server of a tool says about it for people to see.
    #[must_use]
    pub fn face(&self, spec: &ToolSpec) -> ToolFace {
        let fleet = self.fleet();
        let server = fleet.get(&spec.server);
        server.map(|server| server.face(&spec.tool)).unwrap_or_default()
    }

    /// Starts the lazy servers for which `is_needed`, given what the names of all their
    /// tools begin with.
    pub fn need_where(&self, is_needed: impl Fn(&str) -> bool) {
        let fleet = self.fleet();
        let meant = fleet.servers().filter(|server| is_needed(&name_prefix(server.name())));
        meant.for_each(|server| server.need());
    }

    /// Waits for servers that are connecting, but no longer than this, then gives the
    /// tools that are known. Starts no lazy server.
    pub async fn known_within(&self, patience: Duration) -> Arc<Catalog> {
        match timeout(patience, self.settled(|_| false)).await {
            Ok(snapshot) => snapshot.catalog,
            Err(_) => self.known(),
        }
    }

    /// The tools that are known now, whoever is still connecting.
    #[must_use]
    pub fn known(&self) -> Arc<Catalog> {
        Arc::clone(&self.snapshot.borrow().catalog)
    }

    /// Tells when tools come, go or change.
    #[must_use]
    pub fn watch(&self) -> ToolWatch {
        ToolWatch(self.snapshot.subscribe())
    }

    /// The tools that programs may not call until they are accepted, by name.
    #[must_use]
    pub fn quarantine(&self) -> Vec<Quarantined> {
        let quarantine = Arc::clone(&self.snapshot.borrow().quarantine);
        let mut tools: Vec<_> = quarantine.values().cloned().collect();
        tools.sort_by(|a, b| a.spec.callable.cmp(&b.spec.callable));
        tools
    }

    /// What a server listed last, with all that programs may not call.
    #[must_use]
    pub fn listed(&self, server: &ServerName) -> Option<Arc<Vec<ToolDefinition>>> {
        self.fleet().get(server).map(|server| server.listed())
    }

    /// The server with this name, as it is configured or as its tools' names have it.
    pub fn server_named(&self, name: &str) -> Option<ServerName> {
        let spelled = |server: &&Arc<Server>| {
            server.name().as_str() == name || name_prefix(server.name()) == format!("mcp__{name}__")
        };
        self.fleet().servers().find(spelled).map(|server| server.name().clone())
    }

    pub(crate) fn server(&self, name: &ServerName) -> Option<Arc<Server>> {
        self.fleet().get(name).cloned()
    }

    /// What the servers were started with.
    #[must_use]
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// Who is there to answer what the servers ask.
    #[must_use]
    pub fn audience(&self) -> &Audience {
        &self.setting.audience
    }

    /// Tells every server that the folders the client works in have changed.
    pub fn roots_changed(&self) {
        self.fleet().servers().for_each(|server| server.roots_changed());
    }

    /// How each server is doing now, in the order of the configuration; local tools
    /// come last.
    #[must_use]
    pub fn status(&self) -> Vec<ServerStatus> {
        let fleet = self.fleet();
        let local = fleet.local().map(|local| local.status());
        fleet.servers().map(|server| server.status()).chain(local).collect()
    }

    /// Which local tools cannot work as things are, and why: a line each.
    #[must_use]
    pub fn local_problems(&self) -> Vec<String> {
        self.fleet().local().map(|local| local.problems()).unwrap_or_default()
    }

    /// Stops every server and returns when all are gone.
    pub async fn shutdown(&self) {
        self.stop();
        let mut running = self.running.clone();
        while running.changed().await.is_ok() {}
    }

    fn stop(&self) {
        // Dropped, so that only the servers' own tasks hold on to it.
        self.yard().take();
        self.fleet().stop();
        self.stop.send_replace(true);
    }

    /// Looks a tool up, waiting for it only while a server may still bring it.
    async fn find(&self, name: &CallableName) -> Option<Found> {
        if let Some(found) = found(&self.snapshot.borrow(), name) {
            return Some(found);
        }
        self.need(name.as_str());
        let snapshot = self.settled(|snapshot| found(snapshot, name).is_some()).await;
        found(&snapshot, name)
    }

    /// Starts the servers that may have this tool.
    fn need(&self, name: &str) {
        let fleet = self.fleet();
        let idle = fleet.servers().filter(|server| !server.is_needed());
        idle.filter(|server| name.starts_with(&name_prefix(server.name())))
            .for_each(|server| server.need());
    }

    /// Waits until every server that is needed was tried, or there is enough.
    async fn settled(&self, is_enough: impl Fn(&Snapshot) -> bool) -> Snapshot {
        let (mut snapshot, mut stop) = (self.snapshot.subscribe(), self.stop.subscribe());
        // Neither can close: we hold the other ends.
        tokio::select! {
            _ = snapshot.wait_for(|now| is_enough(now) || now.is_settled()) => {}
            // There will be no other snapshot.
            _ = stop.wait_for(|stop| *stop) => {}
        }
        self.snapshot.borrow().clone()
    }

    /// The server that may have this tool and could not tell.
    fn unheard(&self, name: &CallableName) -> Option<Arc<Server>> {
        let may_have = |server: &&Arc<Server>| {
            name.as_str().starts_with(&name_prefix(server.name())) && server.is_unheard()
        };
        self.fleet().servers().find(may_have).cloned()
    }

    /// Why there is no such tool.
    fn absence(&self, name: &CallableName) -> String {
        if let Some(server) = self.unheard(name) {
            return server.not_running();
        }
        match self.fleet().removed_owner(name.as_str()) {
            Some(server) => format!("server '{server}' was removed from the configuration"),
            None => "no connected server has this tool".to_owned(),
        }
    }

    fn fleet(&self) -> Arc<Fleet> {
        Arc::clone(&self.snapshot.borrow().fleet)
    }

    fn yard(&self) -> MutexGuard<'_, Option<Yard>> {
        self.yard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn found(snapshot: &Snapshot, name: &CallableName) -> Option<Found> {
    if let Some(spec) = snapshot.catalog.get(name.as_str()) {
        if spec.server.as_str() == LocalTool::SERVER {
            let local = snapshot.fleet.local()?;
            return Some(Found::Local(Arc::clone(spec), Arc::clone(local)));
        }
        let server = snapshot.fleet.get(&spec.server)?;
        return Some(Found::Tool(Arc::clone(spec), Arc::clone(server)));
    }
    snapshot.quarantine.get(name).cloned().map(Found::Quarantined)
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.stop();
    }
}

impl ToolHost for Bridge {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a> {
        if let Some(found) = found(&self.snapshot.borrow(), name) {
            return Resolving::now(Resolution::Callable(found.into_spec()));
        }
        Resolving::later(async move {
            if let Some(found) = self.find(name).await {
                return Resolution::Callable(found.into_spec());
            }
            match self.unheard(name) {
                Some(server) => Resolution::Callable(Arc::new(stand_in(name, server.name()))),
                None => {
                    let catalog = Arc::clone(&self.snapshot.borrow().catalog);
                    Resolution::Unknown { nearest: catalog.nearest(name.as_str(), SUGGESTIONS) }
                }
            }
        })
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        Box::pin(async move {
            let (spec, server) = match self.find(&call.name).await {
                Some(Found::Tool(spec, server)) => (spec, server),
                Some(Found::Local(spec, local)) => {
                    let value = local.call(&spec, &call.arguments, call.form).await;
                    return value.map_err(|message| ToolError::failed(&call.name, message));
                }
                Some(Found::Quarantined(tool)) => {
                    return Err(ToolError::Quarantined { name: call.name, why: tool.to_string() });
                }
                None => {
                    let message = self.absence(&call.name);
                    return Err(ToolError::NeverSent { name: call.name, message });
                }
            };
            server.call(&spec, &call).await.map_err(|error| match error {
                CallError::Failed(message) => ToolError::failed(&call.name, message),
                CallError::NeverLeft(message) => {
                    ToolError::NeverSent { name: call.name.clone(), message }
                }
            })
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
