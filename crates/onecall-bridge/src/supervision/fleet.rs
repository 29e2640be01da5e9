//! The servers of the current configuration, each with its task. A new configuration creates a new
//! fleet, and servers with an unchanged entry are moved into it without a restart. The fleet of a user
//! consists of the user's own servers and of all servers of another fleet, which it does not stop.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use onecall_catalog::name_prefix;
use onecall_config::ServerConfig;
use onecall_core::ServerName;
use tokio::sync::{Notify, watch};

use crate::connection_options::ConnectionOptions;
use crate::local::LocalTools;
use crate::supervision::guard::Guard;
use crate::supervision::server::{Server, StopReason};
use crate::users::{ServerOwner, UserServer, UserServers};

/// The servers of one configuration.
#[derive(Default)]
pub(crate) struct Fleet {
    /// The servers in the order of the configuration.
    members: Vec<Member>,
    by_name: HashMap<ServerName, Arc<Server>>,
    local: Option<Arc<LocalTools>>,
    /// The servers of earlier configurations, for error messages about their tools.
    removed: HashSet<ServerName>,
    /// The fleet whose servers and local tools are used as well, without those servers that have the
    /// name of a member.
    shared: Option<Arc<Fleet>>,
}

/// What a server is started from.
pub(crate) struct ServerEntry {
    pub config: ServerConfig,
    /// The user that the server belongs to; `None` if all users share it.
    pub owner: Option<ServerOwner>,
}

impl ServerEntry {
    /// The entry of a server that all users share.
    pub fn shared(config: ServerConfig) -> Self {
        Self { config, owner: None }
    }

    /// The entry of a server of one user.
    pub fn of_user(server: UserServer, servers: &UserServers) -> Self {
        let UserServer { config, credentials, hint } = server;
        let owner = ServerOwner { servers: servers.clone(), credentials, hint };
        Self { config, owner: Some(owner) }
    }
}

/// A server and the handles to stop it.
#[derive(Clone)]
struct Member {
    server: Arc<Server>,
    stop: Arc<watch::Sender<StopReason>>,
    /// Closed when the server has exited.
    exited: watch::Receiver<()>,
}

/// Everything that a server's task needs to run.
pub(crate) struct LaunchContext {
    pub guard: Guard,
    /// Notified when the tools or the state of a server change.
    pub changed: Arc<Notify>,
    /// Held by the task of every server that has not exited yet: one for each bridge that waits for
    /// it when it shuts down.
    pub running: Vec<Arc<watch::Sender<()>>>,
    /// The settings that all connections share.
    pub options: ConnectionOptions,
    /// Signals that the whole bridge stops.
    pub stopping: watch::Receiver<bool>,
}

/// The names of the servers that a new configuration has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetChange {
    /// Servers that are new.
    pub added: Vec<ServerName>,
    /// Servers that were removed.
    pub removed: Vec<ServerName>,
    /// Servers that were restarted with a changed entry.
    pub restarted: Vec<ServerName>,
}

impl Fleet {
    /// Creates the fleet for `entries`. Servers with an unchanged entry keep running. A server with
    /// a changed entry starts when its predecessor has exited. The fleet shares the servers of the
    /// same other fleet as this one.
    pub fn next(
        &self,
        entries: Vec<ServerEntry>,
        local: Option<LocalTools>,
        context: &LaunchContext,
    ) -> (Self, FleetChange) {
        let mut change = FleetChange::default();
        let mut next = Self {
            local: local.map(Arc::new),
            removed: self.removed.clone(),
            shared: self.shared.clone(),
            ..Self::default()
        };
        for entry in entries {
            let name = entry.config.name.clone();
            let old = self.members.iter().find(|member| *member.server.name() == name);
            let member = match old {
                Some(old) if old.server.is_same_entry(&entry) => old.clone(),
                Some(old) => {
                    change.restarted.push(name);
                    old.stop.send_replace(StopReason::Replaced);
                    Member::launch(entry, context, Some(old.exited.clone()))
                }
                None => {
                    change.added.push(name);
                    Member::launch(entry, context, None)
                }
            };
            next.removed.remove(member.server.name());
            next.by_name.insert(member.server.name().clone(), Arc::clone(&member.server));
            next.members.push(member);
        }
        for member in &self.members {
            let name = member.server.name();
            if !next.by_name.contains_key(name) {
                change.removed.push(name.clone());
                next.removed.insert(name.clone());
                member.stop.send_replace(StopReason::Removed);
            }
        }
        (next, change)
    }

    /// The fleet of these members that shares the servers of another fleet.
    pub fn sharing(&self, shared: Arc<Self>) -> Self {
        Self {
            members: self.members.clone(),
            by_name: self.by_name.clone(),
            local: self.local.clone(),
            removed: self.removed.clone(),
            shared: Some(shared),
        }
    }

    /// The fleet whose servers are used as well, if there is one.
    pub fn shared(&self) -> Option<&Arc<Self>> {
        self.shared.as_ref()
    }

    /// Whether the server is used by this fleet as it is: a member with its name would hide it.
    pub fn shows(&self, shared: &Server) -> bool {
        !self.by_name.contains_key(shared.name())
    }

    /// All servers: the shared ones first, then the members.
    pub fn servers(&self) -> impl Iterator<Item = &Arc<Server>> {
        let shared = self.shared.iter().flat_map(|shared| &shared.members);
        let shared = shared.map(|member| &member.server).filter(|server| self.shows(server));
        shared.chain(self.members())
    }

    /// The servers that this fleet has started.
    pub fn members(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.members.iter().map(|member| &member.server)
    }

    pub fn local(&self) -> Option<&Arc<LocalTools>> {
        self.local.as_ref().or_else(|| self.shared.as_ref()?.local.as_ref())
    }

    pub fn get(&self, name: &ServerName) -> Option<&Arc<Server>> {
        self.by_name.get(name).or_else(|| self.shared.as_ref()?.by_name.get(name))
    }

    /// The removed server whose tools had callable names of this form, if there is one.
    pub fn removed_owner(&self, callable: &str) -> Option<&ServerName> {
        let shared = self.shared.iter().flat_map(|shared| &shared.removed);
        let mut removed = self.removed.iter().chain(shared);
        removed.find(|name| callable.starts_with(&name_prefix(name)))
    }

    /// Signals every member to stop, without waiting for its exit.
    pub fn stop(&self) {
        for member in &self.members {
            member.stop.send_replace(StopReason::Shutdown);
        }
    }
}

impl Member {
    /// Starts a server in the background, once its predecessor has exited.
    fn launch(
        entry: ServerEntry,
        context: &LaunchContext,
        predecessor: Option<watch::Receiver<()>>,
    ) -> Self {
        let server =
            Arc::new(Server::new(entry, Arc::clone(&context.changed), context.options.clone()));
        let (stop, stopping) = watch::channel(StopReason::NotStopping);
        let (alive, exited) = watch::channel(());
        let (supervised, guard, running) =
            (Arc::clone(&server), context.guard.clone(), context.running.clone());
        tokio::spawn(async move {
            // Two instances could conflict over a port or a file.
            if let Some(mut predecessor) = predecessor {
                while predecessor.changed().await.is_ok() {}
            }
            supervised.supervise(guard, stopping).await;
            drop((alive, running));
        });
        Self { server, stop: Arc::new(stop), exited }
    }
}
