//! The tools of all servers at one moment, kept up to date.

use std::collections::HashMap;
use std::sync::Arc;

use onecall_catalog::Catalog;
use onecall_config::LocalTool;
use onecall_core::{CallableName, ServerName};
use tokio::sync::{Notify, watch};

use crate::supervision::fleet::Fleet;
use crate::supervision::pins::Quarantined;
use crate::supervision::server::{Server, StartProgress};

/// What there was at one moment. Never changes.
#[derive(Clone, Default)]
pub(crate) struct Snapshot {
    /// Counts the snapshots of a bridge.
    pub number: u64,
    pub fleet: Arc<Fleet>,
    pub catalog: Arc<Catalog>,
    /// Tools that nobody may call, by the name they would be called by.
    pub quarantine: Arc<HashMap<CallableName, Quarantined>>,
    /// How far the first start of each server had come, in the order of the fleet.
    progress: Vec<StartProgress>,
}

impl Snapshot {
    /// What there is after `before`. Its number is given when it is published.
    pub fn of(fleet: Arc<Fleet>, before: &Catalog) -> Self {
        // Counted first: a server that settles meanwhile brings its tools next time.
        let progress = fleet.servers().map(|server| server.start_progress()).collect();
        let tools = fleet.servers().map(|server| (server.name().clone(), server.tools()));
        let local = fleet.local().map(|it| (LocalTool::server(), it.definitions()));
        let catalog = Arc::new(before.next(tools.chain(local)));
        let quarantined = fleet.servers().flat_map(|server| server.quarantined().to_vec());
        let quarantine = quarantined.map(|tool| (tool.spec.callable.clone(), tool)).collect();
        Self { number: 0, fleet, catalog, quarantine: Arc::new(quarantine), progress }
    }

    /// Takes the place of this snapshot.
    pub fn replace(&mut self, next: Self) {
        *self = Self { number: self.number + 1, ..next };
    }

    /// Whether every server that is needed was tried.
    pub fn is_settled(&self) -> bool {
        !self.awaited().any(Server::is_needed)
    }

    /// The servers of which this snapshot does not show what there is to know: another one will.
    fn awaited(&self) -> impl Iterator<Item = &Server> {
        let servers = self.fleet.servers().zip(&self.progress);
        servers.filter_map(|(server, progress)| {
            let is_awaited = match progress {
                StartProgress::Pending => true,
                StartProgress::LeftBehind => !server.is_installing(),
                StartProgress::Ended => false,
            };
            is_awaited.then_some(server.as_ref())
        })
    }

    /// Whether there are servers whose name `is_meant`, and only others are waited for, all of which
    /// are being installed: that may take minutes, and brings none of the tools that are meant.
    pub fn awaits_only_other_installs(&self, is_meant: impl Fn(&ServerName) -> bool) -> bool {
        let is_other_install = |server: &Server| !is_meant(server.name()) && server.is_installing();
        self.fleet.servers().any(|server| is_meant(server.name()))
            && self.awaited().filter(|server| server.is_needed()).all(is_other_install)
    }

    fn unsettled(&self) -> Vec<ServerName> {
        let servers = self.fleet.servers().zip(&self.progress);
        let unsettled = servers.filter(|(_, progress)| **progress == StartProgress::Pending);
        unsettled.map(|(server, _)| server.name().clone()).collect()
    }
}

/// Takes a new snapshot whenever a server changed, until everything stops. Changes that
/// happen while one is taken are taken together.
pub(crate) async fn keep(
    changed: Arc<Notify>,
    publish: Arc<watch::Sender<Snapshot>>,
    mut stopping: watch::Receiver<bool>,
) {
    loop {
        tokio::select! {
            () = changed.notified() => {}
            // An error means that nobody is left who could say so.
            _ = stopping.wait_for(|stop| *stop) => break,
        }
        let Snapshot { fleet, catalog, .. } = publish.borrow().clone();
        // Thousands of tools take long enough to be in the way of other tasks.
        let taken = tokio::task::spawn_blocking(move || Snapshot::of(fleet, &catalog)).await;
        let Ok(taken) = taken else { continue };
        publish.send_if_modified(|snapshot| {
            // One of another fleet is newer, whatever this one shows.
            let is_current = Arc::ptr_eq(&snapshot.fleet, &taken.fleet);
            if is_current {
                snapshot.replace(taken);
            }
            is_current
        });
    }
}

/// Tells when tools come, go or change.
pub struct ToolWatch(pub(crate) watch::Receiver<Snapshot>);

/// What there is at one moment.
pub struct Tools {
    /// All tools that can be called.
    pub catalog: Arc<Catalog>,
    /// Whether every server that is needed was tried.
    pub is_settled: bool,
    /// Those of which nothing is known yet, because nobody has needed them.
    pub unsettled: Vec<ServerName>,
}

impl ToolWatch {
    /// What there is now; it counts as seen.
    pub fn now(&mut self) -> Tools {
        let snapshot = self.0.borrow_and_update();
        Tools {
            catalog: Arc::clone(&snapshot.catalog),
            is_settled: snapshot.is_settled(),
            unsettled: snapshot.unsettled(),
        }
    }

    /// Returns when there may be something else than was seen; `false` when there will
    /// never be.
    pub async fn changed(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}
