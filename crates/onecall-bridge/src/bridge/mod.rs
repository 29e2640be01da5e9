//! All servers together: one catalog of their tools, and calls to them.

mod calls;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onecall_catalog::{Catalog, ToolDefinition, name_prefix};
use onecall_config::{LocalTool, ServerConfig};
use onecall_core::{ServerName, ToolSpec};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::protocol::audience::Audience;
use crate::protocol::face::ToolFace;
use crate::setting::Setting;
use crate::supervision::fleet::{Fleet, FleetChange, LaunchContext};
use crate::supervision::guard::Guard;
use crate::supervision::pins::Quarantined;
use crate::supervision::server::Server;
use crate::supervision::snapshot::{self, Snapshot, ToolWatch};
use crate::supervision::status::ServerStatus;

/// The downstream servers. Dropping it stops them, without waiting for their end.
pub struct Bridge {
    snapshot: Arc<watch::Sender<Snapshot>>,
    /// `None` once everything is to stop.
    launch_context: Mutex<Option<LaunchContext>>,
    setting: Setting,
    stop: watch::Sender<bool>,
    /// Closed when every server is gone.
    running: watch::Receiver<()>,
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

    /// Starts a bridge whose servers start when `setting` says, and may ask and send as much as it
    /// says. Beside their tools there are those of `local`, which need no server.
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
        let context = LaunchContext {
            guard,
            changed,
            running: Arc::new(held),
            stopping,
            setting: setting.clone(),
        };
        let bridge =
            Self { snapshot, launch_context: Mutex::new(Some(context)), setting, stop, running };
        bridge.reconfigure(servers, local);
        Arc::new(bridge)
    }

    /// Brings the servers in line with another configuration: those whose entry is the
    /// same go on undisturbed, but look at their pins again. Must be called inside a
    /// tokio runtime.
    pub fn reconfigure(&self, servers: Vec<ServerConfig>, local: Vec<LocalTool>) -> FleetChange {
        let context = self.launch_context();
        let Some(context) = &*context else { return FleetChange::default() };
        let old = self.fleet();
        let (fleet, change) = old.next(servers, local, context);
        fleet.servers().for_each(|server| server.look_at_pins());
        // At once, so that no call looks for a server in a fleet that is no more.
        let before = self.known();
        let taken = Snapshot::of(Arc::new(fleet), &before);
        self.snapshot.send_modify(|snapshot| snapshot.replace(taken));
        change
    }

    /// Waits until every server was tried, then gives the tools of all. Starts
    /// those that are lazy. Each server has a deadline of its own, so this ends.
    pub async fn catalog(&self) -> Arc<Catalog> {
        self.fleet().servers().for_each(|server| server.need());
        self.settled(|_| false).await.catalog
    }

    /// Waits until no server is being installed for the first time whose name is meant, as it stands
    /// in the names of its tools.
    pub async fn installed(&self, is_meant: impl Fn(&str) -> bool) {
        let is_awaited = |server: &&Arc<Server>| {
            let prefix = name_prefix(server.name());
            server.is_installing() && is_meant(prefix.trim_start_matches("mcp__").trim_matches('_'))
        };
        let (mut snapshot, mut stop) = (self.snapshot.subscribe(), self.stop.subscribe());
        // Neither can close: we hold the other ends.
        tokio::select! {
            _ = snapshot.wait_for(|now| !now.fleet.servers().any(|it| is_awaited(&it))) => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
    }

    /// What the server of a tool says about it for people to see.
    #[must_use]
    pub fn face(&self, spec: &ToolSpec) -> ToolFace {
        let fleet = self.fleet();
        let server = fleet.get(&spec.server);
        server.map(|server| server.face(&spec.tool)).unwrap_or_default()
    }

    /// Waits for servers that are connecting, but no longer than this, then gives the
    /// tools that are known. Starts no lazy server.
    pub async fn known_within(&self, patience: Duration) -> Arc<Catalog> {
        match timeout(patience, self.settled(|_| false)).await {
            Ok(snapshot) => snapshot.catalog,
            Err(_) => self.known(),
        }
    }

    /// The tools that are known now. Servers that are still connecting may bring more.
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

    /// A line for each name that several tools would have, with what they are called instead.
    pub fn name_collisions(&self) -> Vec<String> {
        let catalog = self.watch().now().catalog;
        let tool = |spec: &&ToolSpec| {
            format!("'{}' of '{}' is called {}", spec.tool, spec.server, spec.callable)
        };
        let line = |(name, tools): (String, Vec<&ToolSpec>)| {
            let tools: Vec<String> = tools.iter().map(tool).collect();
            format!("several tools would have the name {name}: {}", tools.join(", "))
        };
        catalog.collisions().into_iter().map(line).collect()
    }

    /// Stops every server and returns when all are gone.
    pub async fn shutdown(&self) {
        self.stop();
        let mut running = self.running.clone();
        while running.changed().await.is_ok() {}
    }

    fn stop(&self) {
        // Dropped, so that only the servers' own tasks hold on to it.
        self.launch_context().take();
        self.fleet().stop();
        self.stop.send_replace(true);
    }

    /// Waits until every server that is needed was tried, or there is enough.
    pub(crate) async fn settled(&self, is_enough: impl Fn(&Snapshot) -> bool) -> Snapshot {
        let (mut snapshot, mut stop) = (self.snapshot.subscribe(), self.stop.subscribe());
        // Neither can close: we hold the other ends.
        tokio::select! {
            _ = snapshot.wait_for(|now| is_enough(now) || now.is_settled()) => {}
            // There will be no other snapshot.
            _ = stop.wait_for(|stop| *stop) => {}
        }
        self.snapshot.borrow().clone()
    }

    pub(crate) fn fleet(&self) -> Arc<Fleet> {
        Arc::clone(&self.snapshot.borrow().fleet)
    }

    fn launch_context(&self) -> MutexGuard<'_, Option<LaunchContext>> {
        self.launch_context.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.stop();
    }
}
