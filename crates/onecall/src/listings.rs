//! The tools of servers as they were listed last, for commands that have no gateway: kept,
//! forgotten, and named for the completion of a shell.

use std::sync::Arc;
use std::time::Duration;

use onecall_bridge::Bridge;
use onecall_config::{Config, Surroundings};
use onecall_core::{CallableName, ServerName};
use onecall_gateway::{LastSeen, SeenTools, redactor};

use crate::cli::Global;
use crate::setup;

/// How long a command waits until what it keeps or forgets is written.
const STORING: Duration = Duration::from_secs(2);

/// Keeps what the servers of a bridge have listed, which `config` is about.
pub(crate) fn keep(bridge: &Bridge, config: &Config) {
    if let Some(writer) = setup::store(config) {
        SeenTools::new(Arc::clone(&writer)).keep(bridge, || redactor(config));
        writer.close(STORING);
    }
}

/// Forgets what servers of these names have listed. Nothing depends on it: where the store cannot
/// be used, what it has is no server's of the configuration.
pub(crate) fn forget<'a>(servers: impl IntoIterator<Item = &'a str>, global: &Global) {
    let Some(config) = config(global) else { return };
    let file = config.store.file(&Surroundings::of_process().directories);
    // To look into a store that is not there would make one.
    if file.is_some_and(|file| file.exists())
        && let Some(writer) = setup::store(&config)
    {
        let servers: Vec<ServerName> = servers.into_iter().map(ServerName::new).collect();
        SeenTools::new(Arc::clone(&writer)).forget(&servers);
        writer.close(STORING);
    }
}

/// The names of the tools that programs may call, as far as they are known without starting a
/// server. None if there is anything wrong with the configuration or the store.
pub(crate) fn tool_names(global: &Global) -> Vec<CallableName> {
    let names = || {
        let config = config(global)?;
        let file = config.store.file(&Surroundings::of_process().directories)?;
        Some(LastSeen::names_in(&file, &config))
    };
    names().unwrap_or_default()
}

/// The configuration, of which nothing is said here: one that is not trusted is not read.
fn config(global: &Global) -> Option<Config> {
    let loaded = onecall_config::load(global.config.as_deref(), &Surroundings::of_process());
    Some(loaded.ok()?.config)
}
