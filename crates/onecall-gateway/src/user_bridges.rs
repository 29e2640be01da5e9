//! The bridges of users: servers that need credentials of a user run once for each user, with the secrets
//! and the logins of that user.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use onecall_bridge::{
    AccessHint, Bridge, ServerIdentity, UserCredentials, UserProcesses, UserServer, UserServers,
};
use onecall_config::{Config, ServerConfig, UsersConfig};
use onecall_core::{ServerName, UserName};
use onecall_login::{CredentialsError, Login};

use crate::identities::Identities;

/// How often it is checked whether the secrets of a user have changed.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The bridges of all users of a gateway.
pub(crate) struct UserBridges {
    processes: UserProcesses,
    credentials: onecall_login::UserCredentials,
    identities: Arc<Identities>,
    bridges: Mutex<HashMap<UserName, Arc<UserBridge>>>,
}

/// The bridge of one user, with what it was made of.
struct UserBridge {
    bridge: Arc<Bridge>,
    /// Locked while the secrets of the user are read from the store, which may take long to answer.
    source: Mutex<BridgeSource>,
}

/// What the bridge of a user is made of.
#[derive(Default)]
struct BridgeSource {
    servers: Vec<Arc<KnownServer>>,
    /// The logins to servers. The bridge recognises a login that is the same object.
    logins: HashMap<ServerName, Arc<Login>>,
    /// When the secrets of the user were last read.
    checked: Option<Instant>,
}

/// A server of a user, with what it was made of.
struct KnownServer {
    /// The entry of the configuration, without the values of the user.
    entry: ServerConfig,
    /// Changes whenever a secret of the user that the server needs does. `None` if the secrets could not be
    /// read.
    secrets_version: Option<String>,
    server: UserServer,
    /// Separates the cached answers of the server from those of others.
    identity: ServerIdentity,
}

impl UserBridge {
    fn lock(&self) -> MutexGuard<'_, BridgeSource> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BridgeSource {
    /// Whether the bridge has the servers of these entries, and the secrets were read a short time ago.
    fn is_recent(&self, entries: &[ServerConfig]) -> bool {
        let is_checked = self.checked.is_some_and(|at| at.elapsed() < CHECK_INTERVAL);
        is_checked && self.servers.iter().map(|known| &known.entry).eq(entries)
    }

    /// Replaces the servers; returns whether they differ.
    fn replace(&mut self, servers: Vec<Arc<KnownServer>>) -> bool {
        let is_same = self.servers.len() == servers.len()
            && self.servers.iter().zip(&servers).all(|(old, new)| Arc::ptr_eq(old, new));
        self.servers = servers;
        self.checked = Some(Instant::now());
        !is_same
    }

    fn user_servers(&self) -> Vec<UserServer> {
        self.servers.iter().map(|known| known.server.clone()).collect()
    }
}

impl UserBridges {
    pub(crate) fn new(
        users: &UsersConfig,
        credentials: onecall_login::UserCredentials,
        identities: Arc<Identities>,
    ) -> Self {
        Self {
            processes: UserProcesses::new(users.max_user_processes, users.idle),
            credentials,
            identities,
            bridges: Mutex::default(),
        }
    }

    /// The bridge of a user, with the servers of `entries` that need credentials of users; all others are those
    /// of `parent`. Secrets that have changed are applied, which reads the store and may wait for it. Must be
    /// called inside a tokio runtime.
    pub(crate) fn bridge(
        &self,
        parent: &Arc<Bridge>,
        entries: impl Fn() -> Vec<ServerConfig>,
        user: &UserName,
    ) -> Arc<Bridge> {
        let known = self.lock().get(user).cloned();
        if let Some(known) = known {
            self.refresh(&known, entries, user);
            return Arc::clone(&known.bridge);
        }
        let entries = entries();
        if entries.is_empty() {
            return Arc::clone(parent);
        }
        let mut source = BridgeSource::default();
        let servers = self.known_servers(user, &entries, &mut source);
        source.replace(servers);
        self.set_identities(user, &source);
        let common = UserServers { user: user.clone(), processes: self.processes.clone() };
        let bridge = Bridge::for_user(parent, source.user_servers(), common);
        let made = Arc::new(UserBridge { bridge, source: Mutex::new(source) });
        // Another request of the user may have made one meanwhile.
        let mut bridges = self.lock();
        Arc::clone(&bridges.entry(user.clone()).or_insert(made).bridge)
    }

    /// The bridge of a user as [`Self::bridge`] returns it, if it is known without reading the store. This
    /// never waits.
    pub(crate) fn recent_bridge(
        &self,
        parent: &Arc<Bridge>,
        entries: &[ServerConfig],
        user: &UserName,
    ) -> Option<Arc<Bridge>> {
        let Some(known) = self.lock().get(user).cloned() else {
            return entries.is_empty().then(|| Arc::clone(parent));
        };
        let is_recent = known.source.try_lock().is_ok_and(|source| source.is_recent(entries));
        is_recent.then(|| Arc::clone(&known.bridge))
    }

    /// The bridges that exist.
    pub(crate) fn all(&self) -> Vec<Arc<Bridge>> {
        self.lock().values().map(|known| Arc::clone(&known.bridge)).collect()
    }

    /// Applies the servers of `entries` to the bridges that exist, which reads the store and may wait for it.
    /// Must be called inside a tokio runtime.
    pub(crate) fn reconfigure(&self, entries: impl Fn() -> Vec<ServerConfig>) {
        let all: Vec<_> =
            self.lock().iter().map(|(user, known)| (user.clone(), Arc::clone(known))).collect();
        for (user, known) in all {
            self.refresh(&known, &entries, &user);
        }
    }

    /// Drops the bridges of all other users than these, which stops their servers.
    pub(crate) fn keep_only(&self, users: &HashSet<&UserName>) {
        self.lock().retain(|user, _| {
            let is_kept = users.contains(user);
            if !is_kept {
                self.identities.set_user(user, Vec::new());
            }
            is_kept
        });
    }

    /// Drops the bridge of a user, which stops the user's servers.
    pub(crate) fn remove(&self, user: &UserName) {
        self.identities.set_user(user, Vec::new());
        self.lock().remove(user);
    }

    fn refresh(
        &self,
        known: &UserBridge,
        entries: impl Fn() -> Vec<ServerConfig>,
        user: &UserName,
    ) {
        let mut source = known.lock();
        // Asked for with the lock, so that an older configuration never replaces a newer one.
        let entries = entries();
        if source.is_recent(&entries) {
            return;
        }
        let servers = self.known_servers(user, &entries, &mut source);
        if source.replace(servers) {
            self.set_identities(user, &source);
            known.bridge.reconfigure_own(source.user_servers());
        }
    }

    /// The servers of `entries` with the credentials of a user. Those of `source` are reused unless something
    /// about them has changed. Secrets that cannot be read at present have not changed as far as is known, so
    /// that a server that runs with them goes on.
    fn known_servers(
        &self,
        user: &UserName,
        entries: &[ServerConfig],
        source: &mut BridgeSource,
    ) -> Vec<Arc<KnownServer>> {
        let BridgeSource { servers, logins, .. } = source;
        logins.retain(|name, _| entries.iter().any(|it| it.name == *name && it.per_user.login));
        let servers = entries.iter().map(|entry| {
            let known = servers.iter().find(|known| known.entry == *entry);
            let version = self.credentials.secrets_version(user, entry).ok();
            if let Some(known) = known
                && (version.is_none() || known.secrets_version == version)
            {
                return Arc::clone(known);
            }
            let made = self.known_server(user, entry, version, logins);
            match known {
                Some(known) if made.secrets_version.is_none() => Arc::clone(known),
                _ => Arc::new(made),
            }
        });
        servers.collect()
    }

    fn known_server(
        &self,
        user: &UserName,
        entry: &ServerConfig,
        secrets_version: Option<String>,
        logins: &mut HashMap<ServerName, Arc<Login>>,
    ) -> KnownServer {
        let login = entry.per_user.login.then(|| self.login(user, entry, logins)).flatten();
        let (resolved, is_readable) = match self.credentials.resolve(user, entry) {
            Ok(config) => (Ok(config), true),
            Err(CredentialsError::Missing(missing)) => (Err(missing.reason()), true),
            Err(error) => {
                tracing::warn!(user = user.as_str(), "{error}");
                let reason = "cannot be used: the secrets of users cannot be read";
                (Err(reason.to_owned()), false)
            }
        };
        let (server, login_version) = match resolved {
            Ok(config) => usable_server(user, config, login),
            Err(reason) => (unusable_server(entry, reason), None),
        };
        let identity = ServerIdentity::of_user(user, &server.config, login_version);
        let secrets_version = secrets_version.filter(|_| is_readable);
        KnownServer { entry: entry.clone(), secrets_version, server, identity }
    }

    fn set_identities(&self, user: &UserName, source: &BridgeSource) {
        let identity =
            |known: &Arc<KnownServer>| (known.entry.name.clone(), known.identity.clone());
        self.identities.set_user(user, source.servers.iter().map(identity).collect());
    }

    fn login(
        &self,
        user: &UserName,
        server: &ServerConfig,
        logins: &mut HashMap<ServerName, Arc<Login>>,
    ) -> Option<Arc<Login>> {
        if let Some(login) = logins.get(&server.name) {
            return Some(Arc::clone(login));
        }
        let login = self.credentials.login(user, server)?;
        logins.insert(server.name.clone(), Arc::clone(&login));
        Some(login)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<UserName, Arc<UserBridge>>> {
        self.bridges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads which login is stored at the moment.
type LoginVersion = Arc<dyn Fn() -> String + Send + Sync>;

/// A server whose entry has the values of its user.
fn usable_server(
    user: &UserName,
    config: ServerConfig,
    login: Option<Arc<Login>>,
) -> (UserServer, Option<LoginVersion>) {
    let Some(login) = login else {
        let advice = format!("needs other credentials of user '{user}': these may have expired");
        let hint = AccessHint::new(move || advice.clone());
        return (UserServer { config, credentials: UserCredentials::InEntry, hint }, None);
    };
    let version = login.version();
    let version = version.map(|version| Arc::new(move || version.current()) as LoginVersion);
    let hint = login_hint(Arc::clone(&login), user);
    (UserServer { config, credentials: UserCredentials::Login(login), hint }, version)
}

/// A server that is not started, for this reason.
fn unusable_server(entry: &ServerConfig, reason: String) -> UserServer {
    let hint = AccessHint::new(move || reason.clone());
    UserServer { config: entry.clone(), credentials: UserCredentials::Missing, hint }
}

/// The servers of a configuration that run with credentials of users.
pub(crate) fn per_user_servers(config: &Config) -> Vec<ServerConfig> {
    config.servers.iter().filter(|server| server.is_per_user()).cloned().collect()
}

/// Says how a user logs in. Every status has the hint; the links see to it that several hints in a row
/// have the same link, as long as it can be used.
fn login_hint(login: Arc<Login>, user: &UserName) -> AccessHint {
    let needed = format!("needs a login of user '{user}'");
    AccessHint::new(move || match login.link_advice() {
        Some(advice) => format!("{needed}; {advice}"),
        None => format!(
            "{needed}, and this onecall has no login page: set `public_url` under `users` in the \
             configuration"
        ),
    })
}
