//! Opens the store of durable runs, approvals and users for commands.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use onecall_config::{Config, ProcessContext};
use onecall_core::storage::{DurableStore, Users};
use onecall_store::SqliteStore;

/// The store of a configuration.
pub(crate) fn open(config: &Config) -> anyhow::Result<Arc<dyn DurableStore>> {
    Ok(open_file(config)?)
}

/// The store of a configuration, for users and their tokens.
pub(crate) fn open_users(config: &Config) -> anyhow::Result<Arc<dyn Users>> {
    Ok(open_file(config)?)
}

fn open_file(config: &Config) -> anyhow::Result<Arc<SqliteStore>> {
    let file = file(config).context(
        "onecall cannot find your state directory, where the store is: set HOME or XDG_STATE_HOME, \
         or `path` under `store` in the configuration",
    )?;
    Ok(onecall_store::open_durable(file, config.store.journal_mb))
}

/// The store of a configuration, if its file exists. Opening it would create the file.
pub(crate) fn open_existing(config: &Config) -> Option<Arc<dyn DurableStore>> {
    let file = file(config).filter(|file| file.exists())?;
    Some(onecall_store::open_durable(file, config.store.journal_mb))
}

fn file(config: &Config) -> Option<PathBuf> {
    config.store.file(&ProcessContext::current().directories)
}
