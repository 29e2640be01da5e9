//! Immutable snapshots of the tools of all servers. A background task publishes a new one after
//! each change.

use std::collections::HashMap;
use std::sync::Arc;

use onecall_catalog::Catalog;
use onecall_config::LocalTool;
use onecall_core::{CallableName, ServerName};
use tokio::sync::{Notify, watch};

use crate::supervision::fleet::Fleet;
use crate::supervision::pins::QuarantinedTool;
use crate::supervision::server::{Server, StartProgress};

/// The servers and tools at one moment. It never changes.
#[derive(Clone, Default)]
pub(crate) struct Snapshot {
    /// The sequence number of the snapshot.
    pub number: u64,
    pub fleet: Arc<Fleet>,
    pub catalog: Arc<Catalog>,
    /// Quarantined tools, by their callable names.
    pub quarantine: Arc<HashMap<CallableName, QuarantinedTool>>,
    /// The progress of each server's first start, in the order of the fleet.
    progress: Vec<StartProgress>,
    /// The number of the snapshot whose servers are shared; only for the bridge of a user.
    pub shared_number: u64,
}

impl Snapshot {
    /// Creates the snapshot after `before`. Its number is assigned when it is published.
    pub fn of(fleet: Arc<Fleet>, before: &Catalog) -> Self {
        // Read first: a server that becomes ready in the meantime causes another snapshot.
        let progress = fleet.servers().map(|server| server.start_progress()).collect();
        let tools = fleet.servers().map(|server| (server.name().clone(), server.tools()));
        let local = fleet.local().map(|it| (LocalTool::server(), it.definitions()));
        let catalog = Arc::new(before.with_tool_lists(tools.chain(local)));
        let quarantined = fleet.servers().flat_map(|server| server.quarantined().to_vec());
        let quarantine = quarantined.map(|tool| (tool.spec.callable.clone(), tool)).collect();
        let quarantine = Arc::new(quarantine);
        Self { number: 0, fleet, catalog, quarantine, progress, shared_number: 0 }
    }

    /// Creates the snapshot of a user's fleet after `before`, which shares the servers of the fleet of
    /// `shared`. What `shared` contains is shared, not copied, and read from it alone: the tools of a
    /// server that has changed since are in its next snapshot.
    pub fn of_user(fleet: Arc<Fleet>, shared: &Self, before: &Catalog) -> Self {
        let shown = shared.fleet.servers().zip(&shared.progress);
        let shown = shown.filter(|(server, _)| fleet.shows(server)).map(|(_, progress)| *progress);
        let own = fleet.members().map(|server| server.start_progress());
        let progress: Vec<StartProgress> = shown.chain(own).collect();
        let hides_none = progress.len() == shared.progress.len() + fleet.members().count();
        let lists = fleet.members().map(|server| (server.name().clone(), server.tools()));
        let lists: Vec<_> = lists.filter(|(_, tools)| !(hides_none && tools.is_empty())).collect();
        let catalog = match lists.is_empty() {
            true => Arc::clone(&shared.catalog),
            false => Arc::new(shared.catalog.with_further_servers(lists, before)),
        };
        let is_shown = |tool: &QuarantinedTool| {
            shared.fleet.get(&tool.spec.server).is_none_or(|server| fleet.shows(server))
        };
        let own = fleet.members().flat_map(|server| server.quarantined().to_vec());
        let own: Vec<_> = own.map(|tool| (tool.spec.callable.clone(), tool)).collect();
        let quarantine = match hides_none && own.is_empty() {
            true => Arc::clone(&shared.quarantine),
            false => {
                let shown = shared.quarantine.iter().filter(|(_, tool)| is_shown(tool));
                let shown = shown.map(|(name, tool)| (name.clone(), tool.clone()));
                Arc::new(shown.chain(own).collect())
            }
        };
        Self { number: 0, fleet, catalog, quarantine, progress, shared_number: shared.number }
    }

    /// Replaces this snapshot by the next one.
    pub fn replace(&mut self, next: Self) {
        *self = Self { number: self.number + 1, ..next };
    }

    /// Whether every needed server has been tried.
    pub fn is_settled(&self) -> bool {
        !self.awaited().any(Server::is_needed)
    }

    /// The servers whose start had not ended in this snapshot; another snapshot will follow.
    fn awaited(&self) -> impl Iterator<Item = &Server> {
        let servers = self.fleet.servers().zip(&self.progress);
        servers.filter_map(|(server, progress)| {
            let is_awaited = match progress {
                StartProgress::Pending => true,
                StartProgress::Ended if server.is_owned() => self.is_outdated(server),
                StartProgress::NoLongerAwaited => !server.is_installing(),
                StartProgress::Ended => false,
            };
            is_awaited.then_some(server.as_ref())
        })
    }

    /// Whether the server of a user was started again after this snapshot, and lists its tools now or
    /// has done so.
    fn is_outdated(&self, server: &Server) -> bool {
        let tools = server.tools();
        let is_known = match self.catalog.tool_list(server.name()) {
            Some(known) => Arc::ptr_eq(known, &tools),
            None => tools.is_empty(),
        };
        !is_known || server.start_progress() == StartProgress::Pending
    }

    /// Whether a server that `is_selected` selects exists, and requests only wait for other servers
    /// that are being installed: these may take minutes and cannot have the tool in question.
    pub fn awaits_only_other_installs(&self, is_selected: impl Fn(&ServerName) -> bool) -> bool {
        let is_other_install =
            |server: &Server| !is_selected(server.name()) && server.is_installing();
        self.fleet.servers().any(|server| is_selected(server.name()))
            && self.awaited().filter(|server| server.is_needed()).all(is_other_install)
    }

    fn unsettled(&self) -> Vec<ServerName> {
        let servers = self.fleet.servers().zip(&self.progress);
        let unsettled = servers.filter(|(_, progress)| **progress == StartProgress::Pending);
        unsettled.map(|(server, _)| server.name().clone()).collect()
    }
}

/// Publishes a new snapshot whenever a server has changed, until the bridge stops. Changes during
/// the creation of a snapshot are combined in the next one. That all servers end when the bridge stops is no
/// change of their tools.
pub(crate) async fn publish_changes(
    changed: Arc<Notify>,
    publish: Arc<watch::Sender<Snapshot>>,
    mut stopping: watch::Receiver<bool>,
) {
    loop {
        tokio::select! {
            () = changed.notified() => {}
            // An error means that the sender was dropped, which is a stop as well.
            _ = stopping.wait_for(|stop| *stop) => break,
        }
        let Snapshot { fleet, catalog, .. } = publish.borrow().clone();
        // With thousands of tools this takes long enough to block other tasks.
        let taken = tokio::task::spawn_blocking(move || Snapshot::of(fleet, &catalog)).await;
        if *stopping.borrow() {
            break;
        }
        let Ok(taken) = taken else { continue };
        publish.send_if_modified(|snapshot| {
            // A snapshot of another fleet is newer than this one.
            let is_current = Arc::ptr_eq(&snapshot.fleet, &taken.fleet);
            if is_current {
                snapshot.replace(taken);
            }
            is_current
        });
    }
}

/// Notifies when tools are added, removed or changed.
pub struct ToolWatch(pub(crate) watch::Receiver<Snapshot>);

/// The tools at one moment.
pub struct CurrentTools {
    /// All tools that can be called.
    pub catalog: Arc<Catalog>,
    /// Whether every needed server has been tried.
    pub is_settled: bool,
    /// The servers whose tools are not known yet, such as lazy ones that were not needed.
    pub unsettled: Vec<ServerName>,
}

impl ToolWatch {
    /// The current tools, which are marked as seen.
    pub fn current(&mut self) -> CurrentTools {
        let snapshot = self.0.borrow_and_update();
        CurrentTools {
            catalog: Arc::clone(&snapshot.catalog),
            is_settled: snapshot.is_settled(),
            unsettled: snapshot.unsettled(),
        }
    }

    /// Returns when the tools may differ from those that were seen last; `false` if they can never
    /// change again.
    pub async fn changed(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}
