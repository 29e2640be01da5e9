//! The settings that all connections to servers share.

use std::sync::Arc;

use onecall_config::{ProxyPolicy, ServerLimits};

use crate::protocol::gateway_clients::GatewayClients;
use crate::supervision::demand::ServerStart;
use crate::supervision::downloads::Downloads;

/// The clients that answer requests of servers, the limits on what servers may send, and when
/// servers are started.
#[derive(Clone, Default)]
pub struct ConnectionOptions {
    /// The clients that answer requests of servers.
    pub clients: GatewayClients,
    /// When servers are started.
    pub start: ServerStart,
    /// The limits on what a server may send.
    pub limits: ServerLimits,
    /// Whether the display metadata of tools is kept.
    pub keeps_display_metadata: bool,
    /// The record of commands that download what they run.
    pub downloads: Downloads,
    /// Restricts the addresses of servers that a plan defines, and hides their answers unless these
    /// are MCP; `None` for servers of the configuration.
    pub confined_to: Option<Arc<ProxyPolicy>>,
}
