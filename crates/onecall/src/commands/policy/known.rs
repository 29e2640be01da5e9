//! The servers and tools that policies are compared with.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use onecall_config::{Config, LoadedConfig};
use onecall_core::{ServerName, ToolSpec};
use onecall_gateway::{Gateway, LastKnownTools, Refresh};

use crate::cli::Global;
use crate::{setup, waiting};

/// How current the tools must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freshness {
    /// All servers list their tools now.
    Now,
    /// No server is started.
    Offline,
}

/// What is known of the servers of the configuration.
#[derive(Debug, Default)]
pub(super) struct KnownServers {
    pub(super) servers: Vec<ServerName>,
    pub(super) tools: Vec<Arc<ToolSpec>>,
}

/// The path of the policies, and the servers with their tools.
pub(super) fn configured(
    global: &Global,
    freshness: Freshness,
) -> anyhow::Result<(PathBuf, KnownServers)> {
    let loaded = setup::load(global)?;
    let path = loaded.config.policy.clone().context(
        "the configuration has no policies: name a file or folder with `policy`, as in `policy: ./policy`",
    )?;
    Ok((path, known_servers(loaded, freshness)?))
}

/// The servers of a configuration with their tools.
pub(super) fn known_servers(
    mut loaded: LoadedConfig,
    freshness: Freshness,
) -> anyhow::Result<KnownServers> {
    // Broken policies must not keep the servers from being asked.
    loaded.config.policy = None;
    let servers = server_names(&loaded.config);
    setup::tokio_runtime()?.block_on(async {
        let gateway = setup::gateway_on_demand(loaded)?;
        let known = match freshness {
            Freshness::Offline => gateway.last_known_tools().await,
            Freshness::Now => refreshed(&gateway, Refresh::All).await,
        };
        gateway.shutdown().await;
        Ok(KnownServers { servers, tools: known.all_tools() })
    })
}

/// The tools of the servers, after those that `refresh` selects have listed them. Says which servers failed.
pub(super) async fn refreshed(gateway: &Gateway, refresh: Refresh) -> LastKnownTools {
    let known = gateway.refresh_known_tools(None, refresh);
    let known = setup::wait_for_servers(gateway, known).await;
    waiting::print_failures(&gateway.status(), "");
    known
}

/// The servers that policies may name.
fn server_names(config: &Config) -> Vec<ServerName> {
    let local = (!config.local_tools.is_empty()).then(|| ServerName::new(ServerName::LOCAL));
    config.servers.iter().map(|server| server.name.clone()).chain(local).collect()
}
