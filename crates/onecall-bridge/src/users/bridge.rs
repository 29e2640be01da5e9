//! The bridge of one user: it has the servers of the gateway's bridge and those that run with the user's
//! credentials. Both together have one catalog, so that a name never means two tools. A server that all
//! users share is one process for all of them.

use std::sync::Arc;

use tokio::sync::{Notify, watch};

use crate::Bridge;
use crate::bridge::BridgeCore;
use crate::connection_options::ConnectionOptions;
use crate::protocol::gateway_clients::GatewayClients;
use crate::supervision::fleet::{FleetChange, LaunchContext, ServerEntry};
use crate::supervision::snapshot::Snapshot;
use crate::users::{UserServer, UserServers};

/// The servers of another bridge, and what the own servers of the user have in common.
pub(crate) struct SharedServers {
    snapshot: watch::Receiver<Snapshot>,
    own: UserServers,
}

impl Bridge {
    /// Creates the bridge of a user. It shares the servers and local tools of `parent` and follows its
    /// changes. It owns `servers`, each of which starts when it is needed and is stopped when it was
    /// not used for a while, when this bridge is dropped, and when `parent` stops. Must be called
    /// inside a tokio runtime.
    pub fn for_user(parent: &Self, servers: Vec<UserServer>, own: UserServers) -> Arc<Self> {
        let options = ConnectionOptions {
            clients: GatewayClients::of_user(),
            user: Some(own.user.clone()),
            ..parent.options.clone()
        };
        let changed = Arc::new(Notify::new());
        let (stop, stopping) = watch::channel(false);
        let (running_sender, running) = watch::channel(());
        let context = parent.core.launch_context().as_ref().map(|parent| LaunchContext {
            guard: parent.guard.clone(),
            changed: Arc::clone(&changed),
            // The parent waits for the servers of its users when it shuts down.
            running: parent.running.iter().cloned().chain([Arc::new(running_sender)]).collect(),
            stopping: stopping.clone(),
            options: options.clone(),
        });
        let core = Arc::new(BridgeCore::new(stop, context));
        let parent_snapshot = parent.core.snapshot.subscribe();
        compose(&core.snapshot, &parent_snapshot);
        tokio::spawn(follow(
            Arc::clone(&core),
            changed,
            parent_snapshot.clone(),
            parent.core.subscribe_stop(),
            stopping,
        ));
        let shared = Some(SharedServers { snapshot: parent_snapshot, own });
        let bridge = Self { core, options, running, shared };
        bridge.reconfigure_own(servers);
        Arc::new(bridge)
    }

    /// Replaces the own servers of a user's bridge. Servers whose entry and credentials are unchanged
    /// keep running; a login is unchanged if it is the same object. Without effect for a bridge that
    /// belongs to no user, or is stopping. Must be called inside a tokio runtime.
    pub fn reconfigure_own(&self, servers: Vec<UserServer>) -> FleetChange {
        let Some(shared) = &self.shared else { return FleetChange::default() };
        let context = self.core.launch_context();
        let Some(context) = &*context else { return FleetChange::default() };
        let entries = servers.into_iter().map(|it| ServerEntry::of_user(it, &shared.own));
        let before = self.snapshot().clone();
        let (fleet, change) = before.fleet.next(entries.collect(), None, context);
        fleet.members().for_each(|server| server.recheck_pins());
        // Only the shared servers can have changed in the meantime, and the next look follows them.
        let now = shared.snapshot.borrow().clone();
        let fleet = Arc::new(fleet.sharing(Arc::clone(&now.fleet)));
        let taken = Snapshot::of_user(fleet, &now, &before.catalog);
        self.core.snapshot.send_modify(|snapshot| snapshot.replace(taken));
        context.changed.notify_one();
        change
    }

    /// The user that this bridge belongs to, and what the user's own servers have in common; `None` for
    /// the bridge of a gateway.
    #[must_use]
    pub fn own_servers(&self) -> Option<&UserServers> {
        self.shared.as_ref().map(|shared| &shared.own)
    }

    /// Takes over the shared servers at once if a new configuration has replaced them, so that no call
    /// goes to a server that was stopped. Changes of their tools follow in the background.
    pub(crate) fn follow_shared(&self) {
        self.compose_unless(|own, now| {
            own.fleet.shared().is_some_and(|shared| Arc::ptr_eq(shared, &now.fleet))
        });
    }

    /// Takes over the shared servers at once if anything about them has changed.
    pub(crate) fn follow_shared_tools(&self) {
        self.compose_unless(|own, now| {
            own.shared_number == now.number && own.fleet.shared().is_some()
        });
    }

    fn compose_unless(&self, is_current: impl FnOnce(&Snapshot, &Snapshot) -> bool) {
        let Some(shared) = &self.shared else { return };
        // No reference to a snapshot may exist while another one is published.
        let is_current = is_current(&self.core.snapshot.borrow(), &shared.snapshot.borrow());
        if !is_current {
            compose(&self.core.snapshot, &shared.snapshot);
        }
    }
}

/// Publishes a snapshot of the own servers and of the current shared ones.
fn compose(publish: &watch::Sender<Snapshot>, shared: &watch::Receiver<Snapshot>) {
    loop {
        let (before, now) = (publish.borrow().clone(), shared.borrow().clone());
        let fleet = Arc::new(before.fleet.sharing(Arc::clone(&now.fleet)));
        let taken = Snapshot::of_user(fleet, &now, &before.catalog);
        let is_published = publish.send_if_modified(|snapshot| {
            let is_current = Arc::ptr_eq(&snapshot.fleet, &before.fleet);
            if is_current {
                snapshot.replace(taken);
            }
            is_current
        });
        // Otherwise a snapshot of other servers was published, which may lack what was read here.
        if is_published {
            return;
        }
    }
}

/// Publishes a new snapshot whenever an own server or the shared servers have changed, until the bridge
/// stops. If the bridge with the shared servers stops, this one stops as well.
async fn follow(
    core: Arc<BridgeCore>,
    changed: Arc<Notify>,
    mut shared: watch::Receiver<Snapshot>,
    mut parent_stopping: watch::Receiver<bool>,
    mut stopping: watch::Receiver<bool>,
) {
    loop {
        tokio::select! {
            () = changed.notified() => {}
            is_open = shared.changed() => if is_open.is_err() {
                break;
            },
            // An error means that the sender was dropped, which is a stop as well.
            _ = parent_stopping.wait_for(|stop| *stop) => break,
            _ = stopping.wait_for(|stop| *stop) => return,
        }
        let (core, shared) = (Arc::clone(&core), shared.clone());
        // With thousands of tools this takes long enough to block other tasks.
        let composed = tokio::task::spawn_blocking(move || compose(&core.snapshot, &shared)).await;
        if composed.is_err() {
            tracing::error!("onecall could not update the tools of a user");
        }
    }
    core.stop();
}
