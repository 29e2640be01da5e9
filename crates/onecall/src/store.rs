//! Opens the store of a configuration, in a file or a database.

use std::sync::Arc;

use anyhow::Context;
use onecall_bridge::{PinStorage, SharedPins};
use onecall_config::{Config, ProcessContext, StoreLocation};
use onecall_core::storage::{CompleteStore, StoreError};

/// The store of a configuration. A file is created when it is first used.
pub(crate) fn open(config: &Config) -> anyhow::Result<Arc<dyn CompleteStore>> {
    open_if_located(config).context(
        "onecall cannot find your state directory, where the store is: set HOME or XDG_STATE_HOME, \
         or `path` or `url` under `store` in the configuration",
    )
}

/// The store of a configuration; `None` if there is no folder for its file.
pub(crate) fn open_if_located(config: &Config) -> Option<Arc<dyn CompleteStore>> {
    location(config).map(|location| open_at(&location, config))
}

/// The store of a configuration, if its file exists or it is in a database. Opening it would create the
/// file.
pub(crate) fn open_existing(config: &Config) -> Option<Arc<dyn CompleteStore>> {
    let location = location(config).filter(StoreLocation::exists)?;
    Some(open_at(&location, config))
}

/// Where the store of a configuration is; `None` if there is no folder for its file.
pub(crate) fn location(config: &Config) -> Option<StoreLocation> {
    config.store.location(&ProcessContext::current().directories)
}

/// Connects to a store in a database, and brings its schema up to date. Fails if another version of onecall
/// has to be used with it. A database that cannot be reached now is tried again when it is needed.
pub(crate) fn prepare(config: &Config, store: &dyn CompleteStore) -> anyhow::Result<()> {
    if config.store.url.is_none() {
        return Ok(());
    }
    match store.audit_head() {
        Ok(_) => Ok(()),
        Err(error @ (StoreError::Newer { .. } | StoreError::Disabled { .. })) => Err(error.into()),
        Err(error) => {
            tracing::warn!("{error}; onecall tries again when it needs the store");
            Ok(())
        }
    }
}

/// Where the pins of servers are kept: in a store that is a database, or else in files.
pub(crate) fn pin_storage(config: &Config) -> PinStorage {
    match open_existing(config).filter(|_| config.store.url.is_some()) {
        Some(store) => PinStorage::Shared(Arc::new(SharedPins::new(store))),
        None => PinStorage::Files,
    }
}

fn open_at(location: &StoreLocation, config: &Config) -> Arc<dyn CompleteStore> {
    onecall_store::open_configured(location, config.store.journal_mb)
}
