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
    /// Locked while the secrets of the user are read from the store.
    source: Mutex<BridgeSource>,
}

/// What the bridge of a user is made of.
struct BridgeSource {
    servers: Vec<ServerConfig>,
    /// Changes whenever a secret of the user that a server needs does.
    secrets_version: Vec<String>,
    /// The logins to servers. The bridge recognises a login that is the same object.
    logins: HashMap<ServerName, Arc<Login>>,
    checked: Instant,
}

impl UserBridge {
    fn lock(&self) -> MutexGuard<'_, BridgeSource> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// The bridge of a user, with these servers that need credentials of users; all others are those of
    /// `parent`. Secrets that have changed are applied, which reads the store. Must be called inside a tokio
    /// runtime.
    pub(crate) fn bridge(
        &self,
        parent: &Arc<Bridge>,
        servers: Vec<ServerConfig>,
        user: &UserName,
    ) -> Arc<Bridge> {
        if servers.is_empty() {
            return Arc::clone(parent);
        }
        let known = self.lock().get(user).cloned();
        if let Some(known) = known {
            let mut source = known.lock();
            let is_recent = source.checked.elapsed() < CHECK_INTERVAL && source.servers == servers;
            if !is_recent {
                self.refresh(&known.bridge, &mut source, servers, user);
            }
            drop(source);
            return Arc::clone(&known.bridge);
        }
        let mut logins = HashMap::new();
        let secrets_version = self.secrets_version(user, &servers);
        let own = self.user_servers(user, &servers, &mut logins);
        let common = UserServers { user: user.clone(), processes: self.processes.clone() };
        let bridge = Bridge::for_user(parent, own, common);
        let source = BridgeSource { servers, secrets_version, logins, checked: Instant::now() };
        let made = Arc::new(UserBridge { bridge, source: Mutex::new(source) });
        // Another request of the user may have made one meanwhile.
        let mut bridges = self.lock();
        Arc::clone(&bridges.entry(user.clone()).or_insert(made).bridge)
    }

    /// The bridges that exist.
    pub(crate) fn all(&self) -> Vec<Arc<Bridge>> {
        self.lock().values().map(|known| Arc::clone(&known.bridge)).collect()
    }

    /// Whether the secrets of a user were read a short time ago, so that [`Self::bridge`] reads none.
    /// This never waits: if it cannot find out at once, the result is `false`.
    pub(crate) fn is_checked(&self, user: &UserName) -> bool {
        let Some(known) = self.lock().get(user).cloned() else { return false };
        known.source.try_lock().is_ok_and(|source| source.checked.elapsed() < CHECK_INTERVAL)
    }

    /// Applies new servers to the bridges that exist, which reads the store.
    pub(crate) fn reconfigure(&self, servers: &[ServerConfig]) {
        let all: Vec<_> =
            self.lock().iter().map(|(user, known)| (user.clone(), Arc::clone(known))).collect();
        for (user, known) in all {
            self.refresh(&known.bridge, &mut known.lock(), servers.to_vec(), &user);
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
        bridge: &Bridge,
        source: &mut BridgeSource,
        servers: Vec<ServerConfig>,
        user: &UserName,
    ) {
        source.checked = Instant::now();
        let version = self.secrets_version(user, &servers);
        if source.servers == servers && source.secrets_version == version {
            return;
        }
        let own = self.user_servers(user, &servers, &mut source.logins);
        bridge.reconfigure_own(own);
        (source.servers, source.secrets_version) = (servers, version);
    }

    /// Changes whenever a secret that one of the servers needs does. A vault that cannot be read is
    /// reported by the servers.
    fn secrets_version(&self, user: &UserName, servers: &[ServerConfig]) -> Vec<String> {
        let version = |server| self.credentials.secrets_version(user, server).unwrap_or_default();
        servers.iter().map(version).collect()
    }

    /// The servers with the credentials of a user. Their identities separate cached answers.
    fn user_servers(
        &self,
        user: &UserName,
        servers: &[ServerConfig],
        logins: &mut HashMap<ServerName, Arc<Login>>,
    ) -> Vec<UserServer> {
        logins.retain(|name, _| servers.iter().any(|it| it.name == *name && it.per_user.login));
        let mut identities = Vec::new();
        let own = servers.iter().map(|server| {
            let login = server.per_user.login.then(|| self.login(user, server, logins)).flatten();
            let (own, login_version) = self.user_server(user, server, login);
            let identity = ServerIdentity::of_user(user, &own.config, login_version);
            identities.push((server.name.clone(), identity));
            own
        });
        let own = own.collect();
        self.identities.set_user(user, identities);
        own
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

    fn user_server(
        &self,
        user: &UserName,
        server: &ServerConfig,
        login: Option<Arc<Login>>,
    ) -> (UserServer, Option<LoginVersion>) {
        let config = match self.credentials.resolve(user, server) {
            Ok(config) => config,
            Err(error) => {
                if !matches!(error, CredentialsError::Missing(_)) {
                    tracing::warn!(user = user.as_str(), "{error}");
                }
                let reason = match error {
                    CredentialsError::Missing(missing) => missing.reason(),
                    _ => "cannot be used: the secrets of users cannot be read".to_owned(),
                };
                let hint = AccessHint::new(move || reason.clone());
                let config = server.clone();
                let credentials = UserCredentials::Missing;
                return (UserServer { config, credentials, hint }, None);
            }
        };
        match login {
            Some(login) => {
                let version = login
                    .version()
                    .map(|version| Arc::new(move || version.current()) as LoginVersion);
                let hint = login_hint(Arc::clone(&login), user);
                let credentials = UserCredentials::Login(login);
                (UserServer { config, credentials, hint }, version)
            }
            None => {
                let advice =
                    format!("needs other credentials of user '{user}': these may have expired");
                let hint = AccessHint::new(move || advice.clone());
                (UserServer { config, credentials: UserCredentials::InEntry, hint }, None)
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<UserName, Arc<UserBridge>>> {
        self.bridges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads which login is stored at the moment.
type LoginVersion = Arc<dyn Fn() -> String + Send + Sync>;

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
