//! All downstream servers and local tools together: one catalog of their tools, and the calls to
//! them. A bridge owns the servers it starts and stops them when it is dropped. The bridge of a user
//! (`users/bridge.rs`) also has the servers of another bridge, which it does not own.

mod calls;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onecall_catalog::{Catalog, ToolDefinition, name_prefix};
use onecall_config::{LocalTool, ServerConfig};
use onecall_core::{ServerName, ToolSpec};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::connection_options::ConnectionOptions;
use crate::local::LocalTools;
use crate::protocol::display_metadata::ToolDisplayMetadata;
use crate::protocol::gateway_clients::GatewayClients;
use crate::supervision::fleet::{Fleet, FleetChange, LaunchContext, ServerEntry};
use crate::supervision::guard::Guard;
use crate::supervision::pins::QuarantinedTool;
use crate::supervision::server::Server;
use crate::supervision::snapshot::{self, Snapshot, ToolWatch};
use crate::supervision::status::ServerStatus;
use crate::users::SharedServers;

/// All downstream servers. Dropping it stops them without waiting until they have exited.
pub struct Bridge {
    /// The parts of the bridge that its tasks use as well.
    pub(crate) core: Arc<BridgeCore>,
    pub(crate) options: ConnectionOptions,
    /// Closed when every server has exited.
    pub(crate) running: watch::Receiver<()>,
    /// The servers of another bridge that this one uses; only for the bridge of a user.
    pub(crate) shared: Option<SharedServers>,
}

/// The current servers and tools of a bridge, and what stops them.
pub(crate) struct BridgeCore {
    pub snapshot: Arc<watch::Sender<Snapshot>>,
    /// `None` once the bridge is stopping.
    launch_context: Mutex<Option<LaunchContext>>,
    stop: watch::Sender<bool>,
}

impl BridgeCore {
    /// Creates the parts of a bridge without servers.
    pub fn new(stop: watch::Sender<bool>, launch_context: Option<LaunchContext>) -> Self {
        let snapshot = Arc::new(watch::Sender::new(Snapshot::default()));
        Self { snapshot, launch_context: Mutex::new(launch_context), stop }
    }

    pub fn launch_context(&self) -> MutexGuard<'_, Option<LaunchContext>> {
        self.launch_context.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies when the bridge stops.
    pub fn subscribe_stop(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Signals the servers that the bridge owns to stop.
    pub fn stop(&self) {
        // Dropped, so that only the servers' own tasks still hold the context.
        let mut context = self.launch_context();
        context.take();
        let fleet = Arc::clone(&self.snapshot.borrow().fleet);
        fleet.stop();
        self.stop.send_replace(true);
    }
}

impl Bridge {
    /// Starts every server that is not lazy in the background and returns at once. Must be called
    /// inside a tokio runtime.
    ///
    /// A server that is needed for a limited time gets a bridge of its own: nothing of it remains
    /// after [`shutdown`](Self::shutdown).
    pub fn start(servers: Vec<ServerConfig>, guard: Guard) -> Arc<Self> {
        Self::start_with(servers, Vec::new(), guard, ConnectionOptions::default())
    }

    /// Starts a bridge. `options` determines when its servers start, and what they may ask and
    /// send. `local` are tools that need no server.
    pub fn start_with(
        servers: Vec<ServerConfig>,
        local: Vec<LocalTool>,
        guard: Guard,
        options: ConnectionOptions,
    ) -> Arc<Self> {
        let changed = Arc::new(Notify::new());
        let (stop, stopping) = watch::channel(false);
        let (running_sender, running) = watch::channel(());
        let context = LaunchContext {
            guard,
            changed: Arc::clone(&changed),
            running: vec![Arc::new(running_sender)],
            stopping: stopping.clone(),
            options: options.clone(),
        };
        let core = Arc::new(BridgeCore::new(stop, Some(context)));
        tokio::spawn(snapshot::publish_changes(changed, Arc::clone(&core.snapshot), stopping));
        let bridge = Self { core, options, running, shared: None };
        bridge.reconfigure(servers, local);
        Arc::new(bridge)
    }

    /// Applies a new configuration. Servers whose entry is unchanged keep running, but check their
    /// pins again. Must be called inside a tokio runtime. Without effect for the bridge of a user: see
    /// [`reconfigure_own`](Self::reconfigure_own).
    pub fn reconfigure(&self, servers: Vec<ServerConfig>, local: Vec<LocalTool>) -> FleetChange {
        if self.shared.is_some() {
            return FleetChange::default();
        }
        let context = self.core.launch_context();
        let Some(context) = &*context else { return FleetChange::default() };
        let local = LocalTools::new(local, context.guard.clone(), context.stopping.clone());
        let entries = servers.into_iter().map(ServerEntry::shared).collect();
        let (fleet, change) = self.fleet().next(entries, local, context);
        fleet.members().for_each(|server| server.recheck_pins());
        // Published at once, so that no call looks for a server in the old fleet.
        let before = self.known_catalog();
        let taken = Snapshot::of(Arc::new(fleet), &before);
        self.core.snapshot.send_modify(|snapshot| snapshot.replace(taken));
        change
    }

    /// Compares the tools of the servers that this bridge owns with pins of a store that have changed.
    pub async fn follow_pins(&self) {
        for server in self.fleet().members() {
            server.follow_pins().await;
        }
    }

    /// Waits until every server has been tried, then returns the tools of all of them. Starts lazy
    /// servers. Each server has its own deadline, so the wait is bounded.
    pub async fn catalog(&self) -> Arc<Catalog> {
        self.fleet().servers().for_each(|server| server.start_if_idle());
        self.wait_until_settled(|_| false).await.catalog
    }

    /// Waits until no server that `is_selected` selects is being installed for the first time.
    /// `is_selected` gets the server's name as callable names spell it.
    pub async fn wait_until_installed(&self, is_selected: impl Fn(&str) -> bool) {
        let is_awaited = |server: &&Arc<Server>| {
            let prefix = name_prefix(server.name());
            server.is_installing()
                && is_selected(prefix.trim_start_matches("mcp__").trim_matches('_'))
        };
        let (mut snapshot, mut stop) = (self.core.snapshot.subscribe(), self.core.stop.subscribe());
        // Neither channel can close: this bridge holds both senders.
        tokio::select! {
            _ = snapshot.wait_for(|now| !now.fleet.servers().any(|it| is_awaited(&it))) => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
    }

    /// The display metadata that a tool's server sent for it.
    #[must_use]
    pub fn display_metadata(&self, spec: &ToolSpec) -> ToolDisplayMetadata {
        let fleet = self.fleet();
        let server = fleet.get(&spec.server);
        server.map(|server| server.display_metadata(&spec.tool)).unwrap_or_default()
    }

    /// Waits for connecting servers, but no longer than `limit`, then returns the tools known by
    /// then. Starts no lazy server.
    pub async fn known_catalog_within(&self, limit: Duration) -> Arc<Catalog> {
        match timeout(limit, self.wait_until_settled(|_| false)).await {
            Ok(snapshot) => snapshot.catalog,
            Err(_) => self.known_catalog(),
        }
    }

    /// The tools that are known now. Servers that are still connecting may add more.
    #[must_use]
    pub fn known_catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.snapshot().catalog)
    }

    /// A watch that reports when tools are added, removed or changed.
    #[must_use]
    pub fn watch(&self) -> ToolWatch {
        self.follow_shared();
        ToolWatch(self.core.snapshot.subscribe())
    }

    /// The tools that programs may not call until the user accepts them, sorted by name.
    #[must_use]
    pub fn quarantine(&self) -> Vec<QuarantinedTool> {
        let quarantine = Arc::clone(&self.snapshot().quarantine);
        let mut tools: Vec<_> = quarantine.values().cloned().collect();
        tools.sort_by(|a, b| a.spec.callable.cmp(&b.spec.callable));
        tools
    }

    /// The tools that a server listed last, including those that programs may not call.
    #[must_use]
    pub fn listed(&self, server: &ServerName) -> Option<Arc<Vec<ToolDefinition>>> {
        self.fleet().get(server).map(|server| server.listed())
    }

    /// The server with this name, in the form of the configuration or of callable names.
    pub fn server_named(&self, name: &str) -> Option<ServerName> {
        let spelled = |server: &&Arc<Server>| {
            server.name().as_str() == name || name_prefix(server.name()) == format!("mcp__{name}__")
        };
        self.fleet().servers().find(spelled).map(|server| server.name().clone())
    }

    pub(crate) fn server(&self, name: &ServerName) -> Option<Arc<Server>> {
        self.fleet().get(name).cloned()
    }

    /// The settings that the servers were started with.
    #[must_use]
    pub fn options(&self) -> &ConnectionOptions {
        &self.options
    }

    /// The clients that answer requests of the servers.
    #[must_use]
    pub fn clients(&self) -> &GatewayClients {
        &self.options.clients
    }

    /// Notifies every server that the client's list of root folders has changed. A client of a user
    /// concerns only the user's own servers.
    pub fn roots_changed(&self) {
        self.fleet().members().for_each(|server| server.roots_changed());
    }

    /// The current status of each server, in the order of the configuration; local tools come last.
    #[must_use]
    pub fn status(&self) -> Vec<ServerStatus> {
        let fleet = self.fleet();
        let local = fleet.local().map(|local| local.status());
        fleet.servers().map(|server| server.status()).chain(local).collect()
    }

    /// One line for each local tool that cannot be used at present, with the reason.
    #[must_use]
    pub fn local_problems(&self) -> Vec<String> {
        self.fleet().local().map(|local| local.problems()).unwrap_or_default()
    }

    /// One line for each name that several tools would have, with the names they have instead.
    pub fn name_collisions(&self) -> Vec<String> {
        let catalog = self.watch().current().catalog;
        let tool = |spec: &&ToolSpec| {
            format!("'{}' of '{}' is called {}", spec.tool, spec.server, spec.callable)
        };
        let line = |(name, tools): (String, Vec<&ToolSpec>)| {
            let tools: Vec<String> = tools.iter().map(tool).collect();
            format!("several tools would have the name {name}: {}", tools.join(", "))
        };
        catalog.collisions().into_iter().map(line).collect()
    }

    /// Stops every server that this bridge owns, and those of the users' bridges that share its
    /// servers; returns when all of them have exited.
    pub async fn shutdown(&self) {
        self.core.stop();
        let mut running = self.running.clone();
        while running.changed().await.is_ok() {}
    }

    /// Waits until every server that is needed has been tried, or `is_enough` accepts the snapshot.
    pub(crate) async fn wait_until_settled(
        &self,
        is_enough: impl Fn(&Snapshot) -> bool,
    ) -> Snapshot {
        self.follow_shared_tools();
        let (mut snapshot, mut stop) = (self.core.snapshot.subscribe(), self.core.stop.subscribe());
        // Neither channel can close: this bridge holds both senders.
        tokio::select! {
            _ = snapshot.wait_for(|now| is_enough(now) || now.is_settled()) => {}
            // After a stop there is no further snapshot.
            _ = stop.wait_for(|stop| *stop) => {}
        }
        self.snapshot().clone()
    }

    pub(crate) fn fleet(&self) -> Arc<Fleet> {
        Arc::clone(&self.snapshot().fleet)
    }

    /// The current servers and tools.
    pub(crate) fn snapshot(&self) -> watch::Ref<'_, Snapshot> {
        self.follow_shared();
        self.core.snapshot.borrow()
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.core.stop();
    }
}
