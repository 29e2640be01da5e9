//! Logins of users to remote servers over HTTP: a call that needs a login fails with a link, the user
//! opens it in a browser, confirms who they are, logs in at the authorization server, and comes back.
//! The pages themselves are made by the server crate.

mod error;
mod pending;
mod proof;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use onecall_bridge::probe_auth_requirement;
use onecall_config::ServerConfig;
use onecall_core::{GatewayId, ServerName, UserName};
use onecall_login::{
    AuthorizationResponse, IssuerTrust, LoginError, LoginLinkIssuer, LoginLinks, LogoutOutcome,
    OpenLink, PendingLogin, SecretObserver, UserVault, is_user_logged_in, log_out_user,
};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::{info, warn};

pub use error::UserLoginError;
use pending::{PendingLogins, WaitingLogin};
pub use proof::{BrowserProof, PersonalTokenProof, ProofKind, TypedUserName};

/// The path of the login page, which the secret of a link is appended to.
pub const LOGIN_PATH: &str = "/login/";

/// The path that authorization servers send browsers to.
pub const CALLBACK_PATH: &str = "/login/callback";

/// How many logins may talk to authorization servers at a time.
const MAX_CONCURRENT: usize = 8;

/// How long a browser waits for its turn.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// The logins of users of one gateway.
pub struct UserLogins {
    vault: Arc<UserVault>,
    public_url: String,
    links: Arc<LoginLinks>,
    pending: PendingLogins,
    servers: RwLock<Vec<ServerConfig>>,
    proof: Arc<dyn BrowserProof>,
    permits: Semaphore,
    /// The name of this gateway, if it is one of several.
    gateway: Option<GatewayId>,
}

/// What the page of a link shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginQuestion {
    /// The user who is to log in.
    pub user: UserName,
    /// The server to log in to.
    pub server: ServerName,
    /// How the person at the browser shows that they are this user.
    pub proof: ProofKind,
}

/// Where the browser goes on after the user has confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginContinuation {
    /// The address at the authorization server.
    pub url: String,
    /// The scheme, host and port of the address.
    pub origin: String,
}

impl UserLogins {
    /// Logins that are stored in `vault`, with pages at `public_url`. If several gateways are there,
    /// `gateway` is the name of this one.
    #[must_use]
    pub fn new(
        vault: Arc<UserVault>,
        public_url: impl Into<String>,
        gateway: Option<GatewayId>,
    ) -> Self {
        let public_url = public_url.into();
        let base = format!("{public_url}{LOGIN_PATH}");
        let observing = Arc::clone(&vault);
        let observer: SecretObserver =
            Arc::new(move |what, secret| observing.observe(what, secret));
        Self {
            vault,
            public_url,
            links: Arc::new(LoginLinks::new(base, Some(observer)).with_gateway(gateway.clone())),
            pending: PendingLogins::default(),
            servers: RwLock::default(),
            proof: Arc::new(TypedUserName),
            permits: Semaphore::new(MAX_CONCURRENT),
            gateway,
        }
    }

    /// Sets how people at a browser show who they are. The default is [`TypedUserName`].
    #[must_use]
    pub fn with_proof(self, proof: Arc<dyn BrowserProof>) -> Self {
        Self { proof, ..self }
    }

    /// Replaces the servers of the configuration.
    pub fn set_servers(&self, servers: &[ServerConfig]) {
        *self.servers.write().unwrap_or_else(PoisonError::into_inner) = servers.to_vec();
    }

    /// Ends the links and unfinished logins of a user who was removed. What the vault has of the user is
    /// removed by [`UserVault::remove_user`].
    pub fn forget_user(&self, user: &UserName) {
        self.links.remove_user(user);
        self.pending.remove_user(user);
    }

    /// Makes the links, for [`UserCredentials::with_links`](onecall_login::UserCredentials::with_links).
    #[must_use]
    pub fn links(&self) -> Arc<dyn LoginLinkIssuer> {
        Arc::clone(&self.links) as Arc<dyn LoginLinkIssuer>
    }

    /// Whether a user is logged in to a server.
    ///
    /// # Errors
    /// If the server supports no logins, or the login cannot be read.
    pub async fn is_logged_in(
        &self,
        server: &ServerConfig,
        user: &UserName,
    ) -> Result<bool, LoginError> {
        is_user_logged_in(server, user, &self.vault).await
    }

    /// Ends the login of a user to a server.
    ///
    /// # Errors
    /// If the login cannot be deleted.
    pub async fn log_out(
        &self,
        server: &ServerConfig,
        user: &UserName,
    ) -> Result<LogoutOutcome, LoginError> {
        let outcome = log_out_user(server, user, &self.vault).await?;
        info!(%user, server = %server.name, "the user has logged out on the page");
        Ok(outcome)
    }

    /// The address of the gateway, without a slash at its end.
    #[must_use]
    pub fn public_url(&self) -> &str {
        &self.public_url
    }

    /// What a link is for. The link stays usable, because programs that preview links open them, too.
    ///
    /// # Errors
    /// If the link cannot be used, or its server is not configured any more.
    pub async fn question(&self, link: &str) -> Result<LoginQuestion, UserLoginError> {
        let OpenLink { user, server } = self.links.find(link)?;
        self.server(&server)?;
        let proof = self.proof_kind(&user).await;
        Ok(LoginQuestion { user, server, proof })
    }

    /// Begins the login of a link, after the person at the browser has answered who they are. The link
    /// is used up if the answer is right. `browser` is a secret that only this browser has.
    ///
    /// # Errors
    /// If the link cannot be used, the answer is wrong, or the login cannot begin.
    pub async fn confirm(
        &self,
        link: &str,
        answer: &str,
        browser: &str,
    ) -> Result<LoginContinuation, UserLoginError> {
        let found = self.links.find(link)?;
        if !self.is_valid_proof(&found.user, answer).await {
            self.links.count_wrong_answer(link);
            warn!(user = %found.user, server = %found.server, "a wrong answer on the login page");
            let proof = self.proof_kind(&found.user).await;
            return Err(UserLoginError::WrongAnswer { proof });
        }
        // The link stays usable if there is no room for another login at the moment.
        let Ok(Ok(_permit)) = timeout(MAX_WAIT, self.permits.acquire()).await else {
            return Err(UserLoginError::Busy);
        };
        let OpenLink { user, server: name } = self.links.redeem(link)?;
        let server = self.server(&name)?;
        let probe = probe_auth_requirement(&server);
        let failed = |source| UserLoginError::Login { server: name.clone(), source };
        let pending = PendingLogin::prepare_for_user(&server, &user, &self.vault, probe).await;
        let redirect = format!("{}{CALLBACK_PATH}", self.public_url);
        // There is no person who could decide about warnings: the one at the browser may be an attacker.
        let (trust, gateway) = (IssuerTrust::Configuration, self.gateway.as_ref());
        let started = pending.map_err(failed)?.start(trust, &redirect, gateway).await;
        let started = started.map_err(failed)?;
        let continuation = LoginContinuation {
            url: started.authorization_url().to_owned(),
            origin: started.authorization_origin(),
        };
        self.pending.add(WaitingLogin::new(user, server, started, browser));
        Ok(continuation)
    }

    /// Ends a login with the response of the authorization server, which `browser` has brought back.
    ///
    /// # Errors
    /// If the response belongs to no login of this browser, the server's entry has changed, or the login
    /// failed.
    pub async fn finish(
        &self,
        response: AuthorizationResponse,
        browser: Option<&str>,
    ) -> Result<LoginQuestion, UserLoginError> {
        let waiting = self.pending.take(response.state(), browser)?;
        let WaitingLogin { user, server, started, .. } = waiting;
        let name = server.name.clone();
        // The tokens must not reach a server that the configuration has put in its place.
        if self.server(&name)? != server {
            return Err(UserLoginError::Changed { server: name });
        }
        let Ok(_permit) = self.permits.acquire().await else { return Err(UserLoginError::Busy) };
        match started.finish(response).await {
            Ok(_) => {
                info!(%user, server = %name, "the user has logged in on the login page");
                let proof = self.proof_kind(&user).await;
                Ok(LoginQuestion { user, server: name, proof })
            }
            Err(source) => {
                warn!(%user, server = %name, "a login on the login page has failed: {source}");
                Err(UserLoginError::Login { server: name, source })
            }
        }
    }

    /// What the person at the browser is asked for. The store may take long to answer.
    async fn proof_kind(&self, user: &UserName) -> ProofKind {
        let (proof, user) = (Arc::clone(&self.proof), user.clone());
        let kind = spawn_blocking(move || proof.kind(&user)).await;
        kind.unwrap_or(ProofKind::PersonalToken)
    }

    /// Whether the answer shows that the person is this user. The store may take long to answer.
    async fn is_valid_proof(&self, user: &UserName, answer: &str) -> bool {
        let (proof, user, answer) = (Arc::clone(&self.proof), user.clone(), answer.to_owned());
        spawn_blocking(move || proof.is_valid(&user, &answer)).await.unwrap_or(false)
    }

    /// The entry of a server to which users log in.
    fn server(&self, name: &ServerName) -> Result<ServerConfig, UserLoginError> {
        let servers = self.servers.read().unwrap_or_else(PoisonError::into_inner);
        let found = servers.iter().find(|server| server.name == *name && server.per_user.login);
        found.cloned().ok_or_else(|| UserLoginError::Removed { server: name.clone() })
    }
}

impl From<onecall_login::LinkError> for UserLoginError {
    fn from(error: onecall_login::LinkError) -> Self {
        Self::Link(error)
    }
}
