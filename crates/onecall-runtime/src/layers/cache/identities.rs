//! Who the servers are, as the configuration in force has them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use foldhash::quality::RandomState;
use onecall_bridge::Identity;
use onecall_config::{LocalTool, ServerConfig};
use onecall_core::ServerName;

/// By their names.
#[derive(Debug, Default)]
pub(super) struct Identities(Mutex<HashMap<ServerName, Identity, RandomState>>);

impl Identities {
    /// These servers take the place of those before.
    pub(super) fn set(&self, servers: &[ServerConfig], local: &[LocalTool]) {
        let configured = servers.iter().map(|server| (server.name.clone(), Identity::of(server)));
        let local = (LocalTool::server(), Identity::of_local(local));
        let all = configured.chain([local]).collect();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = all;
    }

    /// Who it is at present; nothing of a server that is not configured.
    pub(super) fn of(&self, server: &ServerName) -> Option<[u8; 32]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(server).map(Identity::now)
    }
}
