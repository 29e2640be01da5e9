//! The settings that all connections to servers share.

use std::sync::Arc;

use onecall_config::{ProxyPolicy, ServerLimits};
use onecall_core::UserName;
use onecall_login::UserVault;

use crate::protocol::gateway_clients::GatewayClients;
use crate::protocol::server_events::ServerEvents;
use crate::supervision::demand::ServerStart;
use crate::supervision::downloads::Downloads;
use crate::supervision::pin_storage::PinStorage;

/// The clients that answer requests of servers, the limits on what servers may send, and when
/// servers are started.
#[derive(Clone, Default)]
pub struct ConnectionOptions {
    /// The clients that answer requests of servers.
    pub clients: GatewayClients,
    /// Receives what servers announce about their resources and prompts.
    pub events: ServerEvents,
    /// When servers are started.
    pub start: ServerStart,
    /// The limits on what a server may send.
    pub limits: ServerLimits,
    /// Whether the display metadata of tools is kept.
    pub keeps_display_metadata: bool,
    /// The record of commands that download what they run.
    pub downloads: Downloads,
    /// The vault of the gateway. It has the logins to shared servers, unless they are in files.
    pub vault: Option<Arc<UserVault>>,
    /// Where the pins of servers are kept.
    pub pins: PinStorage,
    /// Restricts the addresses of servers that a plan defines, and hides their answers unless these
    /// are MCP; `None` for servers of the configuration.
    pub confined_to: Option<Arc<ProxyPolicy>>,
    /// The user that the servers belong to, for logs; `None` for servers that all users share.
    pub user: Option<UserName>,
}

impl ConnectionOptions {
    /// The name of the user that the servers belong to, as a field of log lines.
    pub(crate) fn user_field(&self) -> Option<&str> {
        self.user.as_ref().map(UserName::as_str)
    }
}
