//! The tools of servers after their pins were checked. It serves code that has a stored tool list
//! of a server, and code that stores the lists.

use std::collections::HashMap;
use std::sync::Arc;

use onecall_catalog::ToolDefinition;
use onecall_config::{LocalTool, ServerConfig};
use onecall_core::ServerName;

use crate::Bridge;
use crate::local;
use crate::supervision::pin_storage::PinStorage;
use crate::supervision::pins::{self, QuarantinedTool};
use crate::supervision::server::StartProgress;

/// The tools that a server listed, divided by its pins into permitted and quarantined ones.
#[derive(Clone, Debug, Default)]
pub struct AdmittedTools {
    /// The tools that programs may call.
    pub tools: Arc<Vec<ToolDefinition>>,
    /// The tools that programs may not call until the user accepts them.
    pub quarantined: Arc<Vec<QuarantinedTool>>,
}

impl AdmittedTools {
    /// Divides a stored tool list of a server by its current pins in `storage`. No new pins are written. This
    /// may wait for a store.
    #[must_use]
    pub fn of(
        server: &ServerConfig,
        listed: &Arc<Vec<ToolDefinition>>,
        storage: &PinStorage,
    ) -> Self {
        let Some(file) = &server.pins else {
            return Self { tools: Arc::clone(listed), quarantined: Arc::default() };
        };
        let (tools, quarantined) = pins::check_against_pins(&server.name, storage, file, listed);
        Self { tools: Arc::new(tools), quarantined: Arc::new(quarantined) }
    }
}

/// The definitions of local tools, which need no server to list them.
#[must_use]
pub fn local_definitions(tools: &[LocalTool]) -> Arc<Vec<ToolDefinition>> {
    Arc::new(tools.iter().map(local::definition).collect())
}

impl Bridge {
    /// The entries of the servers, in the order of the configuration.
    #[must_use]
    pub fn configs(&self) -> Vec<ServerConfig> {
        self.fleet().servers().map(|server| server.config().clone()).collect()
    }

    /// Whether a server runs with the credentials of the user that this bridge belongs to.
    #[must_use]
    pub fn is_own_server(&self, name: &ServerName) -> bool {
        self.fleet().get(name).is_some_and(|server| server.is_owned())
    }

    /// The definitions of the local tools.
    #[must_use]
    pub fn local_definitions(&self) -> Option<Arc<Vec<ToolDefinition>>> {
        self.fleet().local().map(|local| local.definitions())
    }

    /// The tools of all servers that have been tried so far, including those that failed.
    #[must_use]
    pub fn tools_of_tried_servers(&self) -> HashMap<ServerName, AdmittedTools> {
        let fleet = self.fleet();
        let tried = fleet.servers().filter(|it| it.start_progress() == StartProgress::Ended);
        let tools = tried.map(|server| {
            let (tools, quarantined) = (server.tools(), server.quarantined());
            (server.name().clone(), AdmittedTools { tools, quarantined })
        });
        tools.collect()
    }

    /// Passes the configuration entry of each server that has listed its tools to `visit`, together
    /// with its last list. The servers of a user are left out: an entry does not say whose tools were
    /// listed, so that a stored list could be shown to another user.
    pub fn for_each_listing(
        &self,
        mut visit: impl FnMut(&ServerConfig, &Arc<Vec<ToolDefinition>>),
    ) {
        for server in self.fleet().servers().filter(|server| !server.is_owned()) {
            if let Some(listed) = server.last_listing() {
                visit(server.config(), &listed);
            }
        }
    }
}
