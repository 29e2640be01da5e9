//! The stored tool listings of servers, for commands without a gateway: stores them, removes them,
//! and reads tool names for shell completion.

use std::sync::Arc;
use std::time::Duration;

use onecall_bridge::Bridge;
use onecall_config::{Config, ProcessContext};
use onecall_core::{CallableName, ServerName};
use onecall_gateway::{LastKnownTools, ListingStore, redactor};

use crate::cli::Global;
use crate::{setup, store};

/// How long a command waits for the store to be written.
const STORE_CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Stores the listings of the servers of a bridge; `config` is their configuration.
pub(crate) fn save(bridge: &Bridge, config: &Config) {
    if let Some(writer) = setup::store(config) {
        ListingStore::new(Arc::clone(&writer)).save(bridge, || redactor(config));
        writer.close(STORE_CLOSE_TIMEOUT);
    }
}

/// Removes the stored listings of servers with these names. Does nothing if the store cannot be
/// used: a listing is found only through a server in the configuration, so that does no harm.
pub(crate) fn remove<'a>(servers: impl IntoIterator<Item = &'a str>, global: &Global) {
    let Some(config) = config(global) else { return };
    // Opening a store that does not exist would create one.
    if store::location(&config).is_some_and(|location| location.exists())
        && let Some(writer) = setup::store(&config)
    {
        let servers: Vec<ServerName> = servers.into_iter().map(ServerName::new).collect();
        ListingStore::new(Arc::clone(&writer)).remove(&servers);
        writer.close(STORE_CLOSE_TIMEOUT);
    }
}

/// The names of the tools that programs may call, as far as they are known without starting a
/// server. Empty if the configuration or the store cannot be used.
pub(crate) fn tool_names(global: &Global) -> Vec<CallableName> {
    let names = || {
        let config = config(global)?;
        let (location, pins) = (store::location(&config)?, store::pin_storage(&config));
        Some(LastKnownTools::stored_tool_names(&location, &config, &pins))
    };
    names().unwrap_or_default()
}

/// The configuration, without reporting errors; `None` if it is invalid or not trusted.
fn config(global: &Global) -> Option<Config> {
    let loaded = onecall_config::load(global.config.as_deref(), &ProcessContext::current());
    Some(loaded.ok()?.config)
}
