//! What every connection to a server is made with.

use std::sync::Arc;

use onecall_config::{ProxyPolicy, ServerLimits};

use crate::protocol::audience::Audience;
use crate::supervision::demand::ServerStart;
use crate::supervision::downloads::Downloads;

/// Who answers what servers ask, and how much is taken from each of them.
#[derive(Clone, Default)]
pub struct Setting {
    /// Who answers.
    pub audience: Audience,
    /// When servers are started.
    pub start: ServerStart,
    /// How much is taken.
    pub limits: ServerLimits,
    /// Whether anybody wants to know what servers say about tools for people to see.
    pub faces: bool,
    /// What is known of commands that download what they run.
    pub downloads: Downloads,
    /// Where servers may be that a plan brought along, and whose answers are not shown unless they
    /// are MCP; absent for servers of the configuration.
    pub confined_to: Option<Arc<ProxyPolicy>>,
}
