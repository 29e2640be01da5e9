//! Who may use a gateway over HTTP: people with a personal token, or with a token of the identity
//! provider. Every request is checked by itself, so a user or token that was removed is refused at
//! once.

mod browser_login;
mod claims;
mod directory;
mod earlier_entries;
mod issuer;
mod key_cache;
mod key_set;
mod page_session;
mod personal_token;
mod provider_token;
mod refusal;
mod signature;

use std::sync::Arc;

use onecall_config::UsersConfig;
use onecall_core::storage::{StoreError, UserLogin, Users};
use onecall_core::{Digest, Principal, Timestamp, UserName};
use thiserror::Error;

use self::browser_login::BrowserLogin;
pub use self::browser_login::{
    BrowserLoginError, LoginPrompt, PendingBrowserLogin, StartedBrowserLogin,
};
use self::claims::Identity;
use self::directory::UserDirectory;
use self::issuer::Issuer;
use self::key_cache::KeySource as _;
pub use self::page_session::{ProvenUser, SessionState};
pub use self::personal_token::{DEFAULT_TOKEN_LIFETIME, MAX_TOKEN_LIFETIME, PersonalToken};
use self::provider_token::TokenVerifier;
pub use self::refusal::{LoginRefusal, RefusalKind};

/// The longest token of either kind, in bytes.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// Finds out which user a request comes from.
pub struct Authenticator {
    config: UsersConfig,
    directory: Arc<UserDirectory>,
    verifier: Option<TokenVerifier>,
    browser_login: Option<BrowserLogin>,
}

/// The configured issuer is not an address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'issuer' in 'oidc' in users is not an address: '{0}'")]
pub struct InvalidIssuer(String);

/// Why the identity provider cannot be used.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct IssuerProblem(String);

/// Fetches the metadata and keys of an identity provider once, to find out whether tokens of it can be
/// checked.
///
/// # Errors
/// If the provider cannot be reached, or its metadata or keys cannot be used.
pub async fn check_issuer(issuer: &str) -> Result<(), IssuerProblem> {
    let Some(found) = Issuer::new(issuer) else {
        return Err(IssuerProblem(InvalidIssuer(issuer.to_owned()).to_string()));
    };
    found.fetch().await.map(drop).map_err(|error| IssuerProblem(error.to_string()))
}

impl Authenticator {
    /// Begins to fetch the keys of the identity provider, if there is one. Must be called inside a
    /// tokio runtime.
    ///
    /// # Errors
    /// If the issuer is not an address.
    pub fn start(config: UsersConfig, store: Arc<dyn Users>) -> Result<Arc<Self>, InvalidIssuer> {
        let verifier = match &config.oidc {
            Some(oidc) => {
                let issuer = Issuer::new(&oidc.issuer);
                let issuer = issuer.ok_or_else(|| InvalidIssuer(oidc.issuer.clone()))?;
                Some(TokenVerifier::start(oidc.clone(), Box::new(issuer)))
            }
            None => None,
        };
        let browser_login = config.oidc.as_ref().and_then(BrowserLogin::new);
        let directory = Arc::new(UserDirectory::new(store));
        tokio::spawn(UserDirectory::watch(Arc::downgrade(&directory)));
        Ok(Arc::new(Self { config, directory, verifier, browser_login }))
    }

    /// The settings for users.
    #[must_use]
    pub fn config(&self) -> &UsersConfig {
        &self.config
    }

    /// The user that a token belongs to, with the user's groups at this moment.
    ///
    /// # Errors
    /// If the token is not accepted.
    pub async fn authenticate(&self, token: &str) -> Result<Arc<Principal>, LoginRefusal> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(LoginRefusal::TooLong);
        }
        if PersonalToken::is_one(token) {
            return self.personal(Digest::of(token)).await;
        }
        let verifier = self.verifier.as_ref().ok_or(LoginRefusal::UnknownToken)?;
        self.log_in(verifier.verify(token).await?).await
    }

    /// Lets a user in whom the identity provider has named.
    async fn log_in(&self, identity: Identity) -> Result<Arc<Principal>, LoginRefusal> {
        let login = self.directory.log_in(&identity.name, &identity.groups, Timestamp::now()).await;
        match login.map_err(|error| unavailable(&error))? {
            UserLogin::Accepted(user) => {
                let mut groups = identity.groups;
                groups.extend(user.groups);
                Ok(Arc::new(Principal { user: user.name, groups }))
            }
            UserLogin::Removed => Err(LoginRefusal::RemovedUser),
            UserLogin::SimilarName(other) => {
                tracing::warn!(
                    "'{}' is not let in: '{other}' is known, and the names differ only in case or \
                     Unicode form",
                    identity.name
                );
                Err(LoginRefusal::SimilarName)
            }
        }
    }

    /// Whether a user has been removed, here or by another process.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn is_removed(&self, user: &UserName) -> Result<bool, StoreError> {
        self.directory.is_removed(user).await
    }

    /// Whether a user is in the group that sees the runs of all users.
    #[must_use]
    pub fn is_admin(&self, principal: &Principal) -> bool {
        principal.groups.contains(&self.config.admin_group)
    }

    /// The user of the personal token with this digest.
    async fn personal(&self, digest: Digest) -> Result<Arc<Principal>, LoginRefusal> {
        if !self.config.tokens {
            return Err(LoginRefusal::UnknownToken);
        }
        let found = self.directory.token(digest, Timestamp::now()).await;
        let found = found.map_err(|error| unavailable(&error))?;
        let (_, user) = found.ok_or(LoginRefusal::UnknownToken)?;
        Ok(Arc::new(Principal { user: user.name, groups: user.groups }))
    }
}

fn unavailable(error: &StoreError) -> LoginRefusal {
    if !error.was_reported() {
        tracing::warn!("users cannot be read: {error}");
    }
    LoginRefusal::StoreUnavailable
}
