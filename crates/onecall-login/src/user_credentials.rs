//! The credentials of users for servers: fills secrets into entries of the configuration, and provides
//! logins.

use std::cell::RefCell;
use std::sync::Arc;

use onecall_config::{
    Config, MissingSecrets, PerUserSettings, RemoteTransport, Secrets, SecretsError, SecretsFile,
    ServerConfig, Transport, UnresolvedTransport,
};
use onecall_core::{Secret, UserName};
use thiserror::Error;

use crate::login::Login;
use crate::login_links::LoginLinkIssuer;
use crate::user_vault::{UserVault, VaultError};

/// The credentials of all users.
#[derive(Clone)]
pub struct UserCredentials {
    vault: Option<Arc<UserVault>>,
    /// The secrets of the person who runs onecall, for the local user.
    secrets_file: Option<SecretsFile>,
    links: Option<Arc<dyn LoginLinkIssuer>>,
}

/// Why a server has no usable credentials of a user. The text is for the person who reads the error of
/// the call.
#[derive(Debug, Error)]
pub enum CredentialsError {
    /// Secrets of the user are missing.
    #[error(transparent)]
    Missing(#[from] MissingSecrets),
    /// The vault cannot be used.
    #[error("server '{server}' cannot be used: {source}")]
    Vault {
        /// The server.
        server: String,
        /// The reason.
        source: VaultError,
    },
    /// The secrets of the local user cannot be read.
    #[error(transparent)]
    File(#[from] SecretsError),
}

impl UserCredentials {
    /// Credentials from `vault`, and for the local user also from `secrets_file`. Without a vault, only
    /// the local user has secrets.
    #[must_use]
    pub fn new(vault: Option<Arc<UserVault>>, secrets_file: Option<SecretsFile>) -> Self {
        Self { vault, secrets_file, links: None }
    }

    /// Adds links to the login page, for users who have to log in to a server.
    #[must_use]
    pub fn with_links(self, links: Arc<dyn LoginLinkIssuer>) -> Self {
        Self { links: Some(links), ..self }
    }

    /// The vault, if there is one.
    #[must_use]
    pub fn vault(&self) -> Option<&Arc<UserVault>> {
        self.vault.as_ref()
    }

    /// The entry of `server` with the secrets of `user`. It can be started as it is, except that a
    /// server with [`login`](onecall_config::PerUserSettings::login) needs the [`login`](Self::login) of
    /// the user.
    ///
    /// # Errors
    /// If secrets are missing or cannot be read.
    pub fn resolve(
        &self,
        user: &UserName,
        server: &ServerConfig,
    ) -> Result<ServerConfig, CredentialsError> {
        let names = server.user_secret_names();
        if names.is_empty() {
            return Ok(server.for_user(|_| None)?);
        }
        let file = match &self.secrets_file {
            Some(file) if user.is_local() => file.read()?,
            _ => Secrets::default(),
        };
        let failure = RefCell::new(None);
        let lookup = |name: &str| -> Option<Secret> {
            let stored = self.vault.as_ref().map(|vault| vault.secret(user, name)).transpose();
            match stored {
                Ok(stored) => stored.flatten().or_else(|| file.get(name).cloned()),
                Err(error) => {
                    failure.borrow_mut().get_or_insert(error);
                    None
                }
            }
        };
        let resolved = server.for_user(lookup);
        if let Some(source) = failure.into_inner() {
            return Err(CredentialsError::Vault { server: server.name.to_string(), source });
        }
        resolved.map_err(|missing| MissingSecrets { user: Some(user.clone()), ..missing }.into())
    }

    /// A text that changes whenever a secret of `user` for `server` is set or removed. A process or
    /// connection that was started with another version has old secrets.
    ///
    /// # Errors
    /// If the vault cannot be read.
    pub fn secrets_version(
        &self,
        user: &UserName,
        server: &ServerConfig,
    ) -> Result<String, VaultError> {
        let names = server.user_secret_names();
        self.vault.as_ref().map_or_else(
            || Ok(String::new()),
            |vault| vault.secrets_version(user, names.iter().copied()),
        )
    }

    /// The login of `user` to `server`; `None` if the server does not support logins, or if there is no
    /// vault for logins of users.
    #[must_use]
    pub fn login(&self, user: &UserName, server: &ServerConfig) -> Option<Arc<Login>> {
        let remote = remote(&server.transport)?;
        let login = match &self.vault {
            _ if user.is_local() => Login::new(&server.name, remote, self.vault.as_ref()),
            Some(vault) => Login::of_user(&server.name, remote, user, vault, self.links.clone()),
            None => None,
        };
        login.map(Arc::new)
    }

    /// Fills the secrets of the local user into all servers of a configuration. A server whose secrets
    /// are missing is not available, and says which they are.
    pub fn resolve_for_local_user(&self, config: &mut Config) {
        let user = UserName::local();
        for server in config.servers.iter_mut().filter(|server| server.is_per_user()) {
            match self.resolve(&user, server) {
                Ok(resolved) => *server = resolved,
                Err(error) => {
                    let problem = match &error {
                        CredentialsError::Missing(missing) => format!("it {}", missing.reason()),
                        CredentialsError::Vault { source, .. } => source.to_string(),
                        CredentialsError::File(error) => error.to_string(),
                    };
                    *server = unavailable(server, problem);
                }
            }
        }
    }
}

/// The entry of a server that is not started, for this reason.
fn unavailable(server: &ServerConfig, problem: String) -> ServerConfig {
    let kind = match server.transport {
        Transport::Stdio(_) => "stdio",
        _ => "http",
    };
    let names = server.user_secret_names();
    let unresolved = UnresolvedTransport {
        kind,
        variables: names.into_iter().map(str::to_owned).collect(),
        credentials_problem: Some(problem),
    };
    let transport = Transport::Unresolved(unresolved);
    ServerConfig { transport, per_user: PerUserSettings::default(), ..server.clone() }
}

fn remote(transport: &Transport) -> Option<&RemoteTransport> {
    match transport {
        Transport::Stdio(_) | Transport::Unresolved(_) => None,
        Transport::Auto(remote)
        | Transport::Either { http: remote, .. }
        | Transport::Http(remote)
        | Transport::Sse(remote) => Some(remote),
    }
}
