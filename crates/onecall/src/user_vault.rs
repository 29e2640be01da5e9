//! Opens the vault with secrets and logins of users, which is in the store of a configuration.

use std::sync::Arc;

use onecall_config::{Config, ProcessContext};
use onecall_core::storage::CompleteStore;
use onecall_login::{UserCredentials, UserVault};

use crate::store;

/// The vault of a configuration. Its store is created when something is written.
pub(crate) fn open(config: &Config) -> anyhow::Result<Arc<UserVault>> {
    Ok(Arc::new(in_store(store::open(config)?, config)))
}

/// The vault of a configuration, if its store exists. Reading it would create the store.
pub(crate) fn open_existing(config: &Config) -> Option<Arc<UserVault>> {
    store::open_existing(config).map(|store| Arc::new(in_store(store, config)))
}

/// Whether the logins to shared servers are in the store, so that other machines find them.
pub(crate) fn has_shared_logins(config: &Config) -> bool {
    config.store.url.is_some()
}

/// The vault with the logins to shared servers; `None` if they are in files.
pub(crate) fn with_shared_logins(config: &Config) -> Option<Arc<UserVault>> {
    open_existing(config).filter(|_| has_shared_logins(config))
}

/// The credentials of users, for a process that runs programs of the local user.
fn credentials(config: &Config) -> UserCredentials {
    let secrets_file = ProcessContext::current().directories.secrets();
    UserCredentials::new(open_existing(config), secrets_file)
}

/// Fills the secrets of the local user into the servers of a configuration.
pub(crate) fn resolve_for_local_user(config: &mut Config) {
    if config.servers.iter().any(onecall_config::ServerConfig::is_per_user) {
        credentials(config).resolve_for_local_user(config);
    }
}

/// The vault in a store.
pub(crate) fn in_store(store: Arc<dyn CompleteStore>, config: &Config) -> UserVault {
    let vault = UserVault::new(store, &ProcessContext::current().directories);
    match has_shared_logins(config) {
        true => vault.with_local_logins(),
        false => vault,
    }
}
