//! The login of one user to one server, as a person sees it who may log in or out. A user of a gateway logs in
//! with a link to the login page; the person who runs onecall logs in with a browser on the same machine.

use std::sync::Arc;
use std::time::Duration;

use onecall_bridge::probe_auth_requirement;
use onecall_config::ServerConfig;
use onecall_core::ServerName;
use onecall_login::{
    IssuerTrust, LoginError, LogoutOutcome, PendingLogin, UserVault, is_logged_in, log_out,
};
use thiserror::Error;
use tokio::sync::oneshot;

use crate::Gateway;

/// How long the person may take at the authorization server.
const LOGIN_LIMIT: Duration = Duration::from_secs(600);

/// Whether a user is logged in to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerLogin {
    /// The user cannot log in to this server, or not here.
    Unsupported,
    /// The user is not logged in.
    LoggedOut,
    /// The user is logged in.
    LoggedIn,
}

/// Where a browser goes to log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginAddress {
    /// A path of this gateway: the login page for one user and one server.
    Path(String),
    /// The page of the authorization server. The response comes back to this machine.
    AuthorizationServer(String),
}

/// Why a login or a logout on the page has failed.
#[derive(Debug, Error)]
pub enum ServerLoginError {
    /// The user cannot log in to this server, or not here.
    #[error("there is no server '{0}' to which you can log in here")]
    Unsupported(ServerName),
    /// The login or the logout has failed.
    #[error(transparent)]
    Failed(#[from] LoginError),
}

impl Gateway {
    /// Whether the user of this gateway is logged in to a server. `is_here` says whether the person's browser
    /// runs on this machine, as the login of the local user needs.
    #[must_use]
    pub async fn server_login(&self, name: &ServerName, is_here: bool) -> ServerLogin {
        let Some(server) = self.entry(name) else { return ServerLogin::Unsupported };
        let is_logged_in = match self.login_kind(&server, is_here) {
            Some(LoginKind::Link) => match self.user_logins() {
                Some(logins) => logins.is_logged_in(&server, self.user()).await.ok(),
                None => None,
            },
            Some(LoginKind::Local) => is_logged_in(&server, self.login_vault()).await.ok(),
            None => None,
        };
        match is_logged_in {
            Some(true) => ServerLogin::LoggedIn,
            Some(false) => ServerLogin::LoggedOut,
            None => ServerLogin::Unsupported,
        }
    }

    /// Begins a login of the user of this gateway, and returns the address that the browser opens.
    ///
    /// # Errors
    /// If the user cannot log in to the server, or the login cannot begin.
    pub async fn begin_server_login(
        &self,
        name: &ServerName,
        is_here: bool,
    ) -> Result<LoginAddress, ServerLoginError> {
        let unsupported = || ServerLoginError::Unsupported(name.clone());
        let server = self.entry(name).ok_or_else(unsupported)?;
        match self.login_kind(&server, is_here).ok_or_else(unsupported)? {
            LoginKind::Link => {
                let logins = self.user_logins().ok_or_else(unsupported)?;
                let link = logins.links().login_link(self.user(), name).ok_or_else(unsupported)?;
                let path = link.strip_prefix(logins.public_url()).unwrap_or(&link);
                Ok(LoginAddress::Path(path.to_owned()))
            }
            LoginKind::Local => begin_local_login(&server, self.login_vault()).await,
        }
    }

    /// Ends the login of the user of this gateway to a server.
    ///
    /// # Errors
    /// If the login cannot be deleted.
    pub async fn end_server_login(
        &self,
        name: &ServerName,
        is_here: bool,
    ) -> Result<LogoutOutcome, ServerLoginError> {
        let unsupported = || ServerLoginError::Unsupported(name.clone());
        let server = self.entry(name).ok_or_else(unsupported)?;
        Ok(match self.login_kind(&server, is_here).ok_or_else(unsupported)? {
            LoginKind::Link => {
                let logins = self.user_logins().ok_or_else(unsupported)?;
                logins.log_out(&server, self.user()).await?
            }
            LoginKind::Local => log_out(&server, self.login_vault()).await?,
        })
    }

    /// The entry of a server in the current configuration.
    fn entry(&self, name: &ServerName) -> Option<ServerConfig> {
        self.config().servers.iter().find(|server| server.name == *name).cloned()
    }

    /// The vault that has the logins to shared servers, unless they are in files.
    fn login_vault(&self) -> Option<&Arc<UserVault>> {
        self.shared.identities.vault()
    }

    fn login_kind(&self, server: &ServerConfig, is_here: bool) -> Option<LoginKind> {
        match (server.per_user.login, self.user().is_local()) {
            (true, false) if self.user_logins().is_some() => Some(LoginKind::Link),
            (false, true) if is_here => Some(LoginKind::Local),
            _ => None,
        }
    }
}

/// How a user logs in to a server.
enum LoginKind {
    /// With a link to the login page.
    Link,
    /// With a browser on this machine.
    Local,
}

/// Begins a login of the local user, which goes on until the browser comes back or the time is over.
async fn begin_local_login(
    server: &ServerConfig,
    vault: Option<&Arc<UserVault>>,
) -> Result<LoginAddress, ServerLoginError> {
    let pending = PendingLogin::prepare(server, vault, probe_auth_requirement(server)).await?;
    let (sender, address) = oneshot::channel();
    let name = server.name.clone();
    let login = tokio::spawn(async move {
        // A person at the page is not asked about warnings: `onecall login` does that.
        let show = |address: &str| _ = sender.send(address.to_owned());
        pending.complete(IssuerTrust::Configuration, LOGIN_LIMIT, show).await
    });
    if let Ok(address) = address.await {
        return Ok(LoginAddress::AuthorizationServer(address));
    }
    match login.await {
        Ok(Err(error)) => Err(error.into()),
        Ok(Ok(_)) | Err(_) => Err(ServerLoginError::Unsupported(name)),
    }
}
