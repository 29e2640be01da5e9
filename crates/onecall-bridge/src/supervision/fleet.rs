//! The servers of the current configuration, each with its task. A new configuration creates a new
//! fleet, and servers with an unchanged entry are moved into it without a restart.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use onecall_catalog::name_prefix;
use onecall_config::{LocalTool, ServerConfig};
use onecall_core::ServerName;
use tokio::sync::{Notify, watch};

use crate::connection_options::ConnectionOptions;
use crate::local::LocalTools;
use crate::supervision::guard::Guard;
use crate::supervision::server::{Server, StopReason};

/// The servers of one configuration.
#[derive(Default)]
pub(crate) struct Fleet {
    /// The servers in the order of the configuration.
    members: Vec<Member>,
    by_name: HashMap<ServerName, Arc<Server>>,
    local: Option<Arc<LocalTools>>,
    /// The servers of earlier configurations, for error messages about their tools.
    removed: HashSet<ServerName>,
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
    /// Held by the task of every server that has not exited yet.
    pub running: Arc<watch::Sender<()>>,
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
    /// Creates the fleet for `configs`. Servers with an unchanged entry keep running. A server with
    /// a changed entry starts when its predecessor has exited.
    pub fn next(
        &self,
        configs: Vec<ServerConfig>,
        local: Vec<LocalTool>,
        context: &LaunchContext,
    ) -> (Self, FleetChange) {
        let mut change = FleetChange::default();
        let local = LocalTools::new(local, context.guard.clone(), context.stopping.clone());
        let local = local.map(Arc::new);
        let mut next = Self { local, removed: self.removed.clone(), ..Self::default() };
        for config in configs {
            let old = self.members.iter().find(|member| member.server.name() == &config.name);
            let member = match old {
                Some(old) if *old.server.config() == config => old.clone(),
                Some(old) => {
                    change.restarted.push(config.name.clone());
                    old.stop.send_replace(StopReason::Replaced);
                    Member::launch(config, context, Some(old.exited.clone()))
                }
                None => {
                    change.added.push(config.name.clone());
                    Member::launch(config, context, None)
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

    pub fn servers(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.members.iter().map(|member| &member.server)
    }

    pub fn local(&self) -> Option<&Arc<LocalTools>> {
        self.local.as_ref()
    }

    pub fn get(&self, name: &ServerName) -> Option<&Arc<Server>> {
        self.by_name.get(name)
    }

    /// The removed server whose tools had callable names of this form, if there is one.
    pub fn removed_owner(&self, callable: &str) -> Option<&ServerName> {
        self.removed.iter().find(|name| callable.starts_with(&name_prefix(name)))
    }

    /// Signals every server to stop, without waiting for its exit.
    pub fn stop(&self) {
        for member in &self.members {
            member.stop.send_replace(StopReason::Shutdown);
        }
    }
}

impl Member {
    /// Starts a server in the background, once its predecessor has exited.
    fn launch(
        config: ServerConfig,
        context: &LaunchContext,
        predecessor: Option<watch::Receiver<()>>,
    ) -> Self {
        let server =
            Arc::new(Server::new(config, Arc::clone(&context.changed), context.options.clone()));
        let (stop, stopping) = watch::channel(StopReason::NotStopping);
        let (alive, exited) = watch::channel(());
        let (supervised, guard, running) =
            (Arc::clone(&server), context.guard.clone(), Arc::clone(&context.running));
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
