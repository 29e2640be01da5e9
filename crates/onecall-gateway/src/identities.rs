//! The identities of the servers in the current configuration, by which the cache keeps their
//! answers apart.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::quality::RandomState;
use onecall_bridge::ServerIdentity;
use onecall_config::{LocalTool, ServerConfig};
use onecall_core::{ServerName, UserName};
use onecall_login::UserVault;
use onecall_runtime::ServerIdentities;

/// Identities by server name.
type ByServer = HashMap<ServerName, ServerIdentity, RandomState>;

/// The identities of servers that all users share, and of those that run for each user.
#[derive(Debug, Default)]
pub(crate) struct Identities {
    /// The vault that has the logins to shared servers, unless they are in files.
    vault: Option<Arc<UserVault>>,
    shared: Mutex<ByServer>,
    of_users: Mutex<HashMap<UserName, ByServer, RandomState>>,
}

impl Identities {
    /// Identities of no servers yet. The logins to shared servers are in `vault` if that keeps them.
    pub(crate) fn new(vault: Option<Arc<UserVault>>) -> Self {
        Self { vault, ..Self::default() }
    }

    /// The vault that has the logins to shared servers, unless they are in files.
    pub(crate) fn vault(&self) -> Option<&Arc<UserVault>> {
        self.vault.as_ref()
    }

    /// Replaces the identities of shared servers by those of these servers. Servers that run for each
    /// user are left out.
    pub(crate) fn set(&self, servers: &[ServerConfig], local: &[LocalTool]) {
        let shared = servers.iter().filter(|server| !server.is_per_user());
        let identity = |server| ServerIdentity::of(server, self.vault.as_ref());
        let shared = shared.map(|server| (server.name.clone(), identity(server)));
        let local = (LocalTool::server(), ServerIdentity::of_local(local));
        let all = shared.chain([local]).collect();
        *self.shared.lock().unwrap_or_else(PoisonError::into_inner) = all;
    }

    /// Replaces the identities of the servers that run for this user.
    pub(crate) fn set_user(&self, user: &UserName, servers: Vec<(ServerName, ServerIdentity)>) {
        let mut of_users = self.of_users.lock().unwrap_or_else(PoisonError::into_inner);
        match servers.is_empty() {
            true => _ = of_users.remove(user),
            false => _ = of_users.insert(user.clone(), servers.into_iter().collect()),
        }
    }
}

impl ServerIdentities for Identities {
    fn identity(&self, server: &ServerName, user: &UserName) -> Option<[u8; 32]> {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(identity) = shared.get(server) {
            return Some(identity.current_hash());
        }
        drop(shared);
        let of_users = self.of_users.lock().unwrap_or_else(PoisonError::into_inner);
        of_users.get(user)?.get(server).map(ServerIdentity::current_hash)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use onecall_config::{PerUserSettings, Secret, StdioTransport, Transport};

    use super::*;

    fn configured(token: &str) -> ServerConfig {
        let env = BTreeMap::from([("TOKEN".to_owned(), Secret::new(token))]);
        let command = "s".to_owned();
        let transport = StdioTransport { command, args: Vec::new(), env, cwd: None };
        ServerConfig {
            name: ServerName::new("s"),
            transport: Transport::Stdio(transport),
            connect_timeout: None,
            call_timeout: None,
            lazy: false,
            pins: None,
            per_user: PerUserSettings::default(),
        }
    }

    #[test]
    fn a_server_is_who_the_configuration_in_force_says() {
        let identities = Identities::default();
        let now = || identities.identity(&ServerName::new("s"), &UserName::local());
        assert_eq!(now(), None);
        identities.set(&[configured("one")], &[]);
        let one = now();
        assert!(one.is_some());
        identities.set(&[configured("two")], &[]);
        assert!(now().is_some_and(|two| Some(two) != one));
        identities.set(&[configured("one")], &[]);
        assert_eq!(now(), one);
        identities.set(&[], &[]);
        assert_eq!(now(), None);
        assert!(identities.identity(&LocalTool::server(), &UserName::local()).is_some());
    }
}
