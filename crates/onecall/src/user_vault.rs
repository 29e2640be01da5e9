//! Opens the vault with secrets and logins of users, which is in the store of a configuration.

use std::sync::Arc;

use anyhow::Context;
use onecall_config::{Config, ProcessContext};
use onecall_login::{UserCredentials, UserVault};

/// The vault of a configuration. Its store is created when something is written.
pub(crate) fn open(config: &Config) -> anyhow::Result<Arc<UserVault>> {
    vault(config).map(Arc::new).context(
        "onecall cannot find your state directory, where the store is: set HOME or XDG_STATE_HOME, \
         or `path` under `store` in the configuration",
    )
}

/// The vault of a configuration, if its store exists. Reading it would create the store.
pub(crate) fn open_existing(config: &Config) -> Option<Arc<UserVault>> {
    let file = config.store.file(&ProcessContext::current().directories)?;
    file.exists().then(|| vault(config)).flatten().map(Arc::new)
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

/// The vault of a configuration; `None` if there is no folder for its store.
pub(crate) fn vault(config: &Config) -> Option<UserVault> {
    let directories = ProcessContext::current().directories;
    let file = config.store.file(&directories)?;
    let store = onecall_store::open_durable(file, config.store.journal_mb);
    Some(UserVault::new(store, &directories))
}
