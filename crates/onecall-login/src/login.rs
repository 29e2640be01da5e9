//! The login of a server as its connections use it: it provides a token for each request, renews it
//! in time, and reports when the user has to log in (again).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onecall_config::{OAuthConfig, RemoteTransport};
use onecall_core::text::{one_line, shell_word};
use onecall_core::{ServerName, UserName};
use reqwest::Url;
use thiserror::Error;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep};
use tracing::{debug, info, warn};

use crate::Token;
use crate::challenge::Challenge;
use crate::error::{AccessError, LoginError};
use crate::login_links::LoginLinkIssuer;
use crate::login_place::{LockedLogin, LoginOwner, LoginPlace, Stamp};
use crate::login_version::LoginVersion;
use crate::token::{TokenEndpoint, TokenError, Tokens};
use crate::user_vault::UserVault;
use crate::vault::StoredLogin;
use crate::web::LoginHttpClient;
use crate::{address, scope};

/// The interval at which the vault is checked for a new login.
const VAULT_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How long a token that still works is used after its renewal failed.
const RENEWAL_RETRY_DELAY: Duration = Duration::from_secs(10);

/// How long onecall tries to store new tokens in a store that cannot be reached, and how often.
const STORE_LATER_TIMEOUT: Duration = Duration::from_secs(600);
const STORE_LATER_INTERVAL: Duration = Duration::from_millis(500);

/// How many used tokens are remembered, so that they can be removed from error messages.
const MAX_USED_TOKENS: usize = 8;

/// The login of one server.
pub struct Login {
    server: ServerName,
    settings: OAuthConfig,
    web: LoginHttpClient,
    /// Where the login is stored; `None` if there is no state directory.
    place: Option<LoginPlace>,
    /// The user of the gateway that the login belongs to; `None` for the local user.
    user: Option<UserLogin>,
    cache: Mutex<VaultCache>,
    /// Serializes renewals: waiting requests use the result of the first one.
    renewal_lock: tokio::sync::Mutex<()>,
    /// Whether the user has to log in.
    login_required: watch::Sender<bool>,
    /// Ends a wait for a new login as soon as one is known.
    found_change: Notify,
}

/// The user of a gateway that a login belongs to.
struct UserLogin {
    name: UserName,
    /// Makes links to the login page, if it is served.
    links: Option<Arc<dyn LoginLinkIssuer>>,
}

/// Why a token could not be replaced.
#[derive(Debug, Error)]
enum RenewalError {
    #[error(transparent)]
    Login(#[from] LoginError),
    #[error(transparent)]
    NoTokens(#[from] TokenError),
    #[error("the renewal was interrupted")]
    Aborted,
}

/// The content of the vault when it was last read.
#[derive(Default)]
struct VaultCache {
    tokens: Option<Tokens>,
    stamp: Stamp,
    /// Until then, no renewal is attempted while the old token works.
    retry_renewal_at: Option<Instant>,
    /// Tokens that were used, which must not be shown.
    used_tokens: Vec<Token>,
}

impl Login {
    /// The login of the local user to this server; `None` if its transport does not support one. It is in
    /// `vault` if that keeps the logins of the local user.
    #[must_use]
    pub fn new(
        server: &ServerName,
        transport: &RemoteTransport,
        vault: Option<&Arc<UserVault>>,
    ) -> Option<Self> {
        Self::of_owner(server, transport, &LoginOwner::local(vault))
    }

    /// The login of a user of the gateway to this server; `None` if its transport does not support one.
    /// If the user has to log in, `links` makes a link to the login page.
    #[must_use]
    pub fn of_user(
        server: &ServerName,
        transport: &RemoteTransport,
        user: &UserName,
        vault: &Arc<UserVault>,
        links: Option<Arc<dyn LoginLinkIssuer>>,
    ) -> Option<Self> {
        let mut login = Self::of_owner(server, transport, &LoginOwner::of(user, vault))?;
        login.user = (!user.is_local()).then(|| UserLogin { name: user.clone(), links });
        Some(login)
    }

    fn of_owner(
        server: &ServerName,
        transport: &RemoteTransport,
        owner: &LoginOwner,
    ) -> Option<Self> {
        let settings = transport.oauth.clone()?;
        let url = Url::parse(&transport.url).ok()?;
        Some(Self {
            server: server.clone(),
            place: owner.place(&url, settings.client_id.as_deref()),
            user: None,
            web: LoginHttpClient::new(&url),
            settings,
            cache: Mutex::default(),
            renewal_lock: tokio::sync::Mutex::default(),
            login_required: watch::Sender::new(false),
            found_change: Notify::new(),
        })
    }

    /// The instruction to the user when a login is needed. It has no link, so that it can be logged.
    #[must_use]
    pub fn advice(&self) -> String {
        match &self.user {
            None => {
                format!("needs login; run `onecall login {}`", shell_word(self.server.as_str()))
            }
            Some(UserLogin { name, links: Some(_) }) => {
                format!("needs a login of user '{name}'")
            }
            Some(UserLogin { name, links: None }) => format!(
                "needs a login of user '{name}', for which onecall has no page; an administrator has to \
                 set 'public_url' under 'users' and serve over HTTP"
            ),
        }
    }

    /// The rest of an error message for a call that failed because a login is needed: where the user
    /// logs in. It has a new link that can be used once, so it must not be logged. `None` if the advice
    /// says everything.
    #[must_use]
    pub fn link_advice(&self) -> Option<String> {
        let UserLogin { name, links } = self.user.as_ref()?;
        let link = links.as_ref()?.login_link(name, &self.server)?;
        Some(format!("open {link} in a browser to log in, then try again"))
    }

    /// Reads which version of the login is stored.
    #[must_use]
    pub fn version(&self) -> Option<LoginVersion> {
        self.place.clone().map(LoginVersion::at)
    }

    /// The token to use now; `None` if there is no login.
    ///
    /// # Errors
    /// If the token has expired and cannot be replaced.
    pub async fn token(self: &Arc<Self>) -> Result<Option<Token>, AccessError> {
        match self.cached_token() {
            Some(token) => Ok(Some(token)),
            None => self.renew_in_task(None).await,
        }
    }

    /// The token to use after the server rejected `refused`, or rejected a request without a token.
    ///
    /// # Errors
    /// If there is none.
    pub async fn token_after_rejection(
        self: &Arc<Self>,
        refused: Option<Token>,
    ) -> Result<Token, AccessError> {
        let had_token = refused.is_some();
        match self.renew_in_task(refused).await? {
            Some(token) => Ok(token),
            None => {
                // A server may answer some requests without a token.
                self.login_required.send_if_modified(|login_required| {
                    had_token && !std::mem::replace(login_required, true)
                });
                Err(self.login_required_error())
            }
        }
    }

    /// The error that tells the user to log in.
    #[must_use]
    pub fn login_required_error(&self) -> AccessError {
        AccessError::NeedsLogin { server: self.server.clone(), advice: self.advice() }
    }

    /// The error for a token that lacks scopes. The missing scopes are stored for the next login.
    pub async fn insufficient_scope_error(&self, challenge: &Challenge) -> AccessError {
        if let Err(error) = self.store_missing_scopes(&challenge.scopes).await {
            debug!(server = %self.server, "cannot store the missing scopes: {error}");
        }
        let missing = one_line(&challenge.scopes.join(" "), 300);
        match &self.user {
            None => {
                let command = format!("onecall login {}", shell_word(self.server.as_str()));
                AccessError::NeedsScope { missing, command }
            }
            Some(user) => AccessError::UserNeedsScope { missing, user: user.name.clone() },
        }
    }

    /// Returns when the user has to log in before the server can be used.
    pub async fn login_required(&self) {
        // This object holds the sender, so there is no error.
        let _ = self.login_required.subscribe().wait_for(|login_required| *login_required).await;
    }

    /// Resets the state before the server is tried again.
    pub fn reset(&self) {
        self.login_required.send_replace(false);
    }

    /// Returns when the stored login has changed.
    pub async fn changed(&self) {
        let Some(place) = &self.place else { return std::future::pending().await };
        loop {
            // A vault that cannot be read now is read again.
            if place.read_stamp().await.is_ok_and(|stamp| stamp != self.cache().stamp) {
                return;
            }
            tokio::select! {
                () = sleep(VAULT_POLL_INTERVAL) => {}
                () = self.found_change.notified() => {}
            }
        }
    }

    /// Reads which login is stored, so that [`has_changed`](Self::has_changed) compares with it.
    pub async fn look_for_change(&self) {
        if let Some(place) = &self.place
            && let Err(error) = place.read_stamp().await
        {
            debug!(server = %self.server, "cannot see whether the login has changed: {error}");
        }
    }

    /// Whether the stored login has changed since it was last read, as far as that is known. If so,
    /// [`changed`](Self::changed) returns at once instead of at its next check.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        let has_changed = !self.is_current(&self.cache());
        if has_changed {
            self.found_change.notify_one();
        }
        has_changed
    }

    /// Whether the cache has what is stored, as far as that is known.
    fn is_current(&self, cache: &VaultCache) -> bool {
        let stored = self.place.as_ref().and_then(LoginPlace::last_seen_stamp);
        stored.is_none_or(|stored| stored == cache.stamp)
    }

    /// The tokens that must not be shown, even if the server sends them back.
    #[must_use]
    pub fn secrets(&self) -> Vec<Token> {
        self.cache().used_tokens.clone()
    }

    /// The last token, if it can still be used and the vault is unchanged.
    fn cached_token(&self) -> Option<Token> {
        let cache = self.cache();
        let tokens = cache.tokens.as_ref()?;
        let is_good = tokens.are_fresh()
            || tokens.are_valid()
                && cache.retry_renewal_at.is_some_and(|until| Instant::now() < until);
        (is_good && self.is_current(&cache)).then(|| tokens.access.clone())
    }

    /// Renews the token in a separate task: a caller may be cancelled, but a new token must be
    /// stored, because it invalidates the old one.
    async fn renew_in_task(
        self: &Arc<Self>,
        refused: Option<Token>,
    ) -> Result<Option<Token>, AccessError> {
        let login = Arc::clone(self);
        let renewal = tokio::spawn(async move { login.renew(refused).await });
        let renewed = renewal.await.unwrap_or(Err(RenewalError::Aborted));
        renewed.map_err(|error| AccessError::NoToken { detail: error.to_string() })
    }

    async fn renew(&self, refused: Option<Token>) -> Result<Option<Token>, RenewalError> {
        let _renewal = self.renewal_lock.lock().await;
        let Some(place) = &self.place else { return Ok(None) };
        match self.renew_in(place, refused.as_ref()).await {
            Err(RenewalError::Login(error)) if error.is_temporary() => {
                // The token is used as long as it works.
                let token = self.valid_token(refused.as_ref()).ok_or(error)?;
                self.cache().retry_renewal_at = Some(Instant::now() + RENEWAL_RETRY_DELAY);
                Ok(Some(token))
            }
            renewed => renewed,
        }
    }

    async fn renew_in(
        &self,
        place: &LoginPlace,
        refused: Option<&Token>,
    ) -> Result<Option<Token>, RenewalError> {
        place.take_over_earlier().await?;
        let entry = self.read_vault(place).await?;
        if let Some(token) = usable_token(entry.as_ref(), refused) {
            return Ok(token);
        }
        // Another process may be renewing the token at the same time.
        let locked = place.lock().await?;
        let entry = self.read_vault(place).await?;
        if let Some(token) = usable_token(entry.as_ref(), refused) {
            return Ok(token);
        }
        let Some(entry) = entry else { return Ok(None) };
        self.refresh(locked, entry, refused).await
    }

    /// Exchanges the refresh token for new tokens and stores them.
    async fn refresh(
        &self,
        locked: LockedLogin,
        mut entry: StoredLogin,
        refused: Option<&Token>,
    ) -> Result<Option<Token>, RenewalError> {
        let Some(old) = entry.tokens.take() else { return Ok(None) };
        let Some(refresh_token) = &old.refresh else { return Ok(None) };
        let client = entry.client(&self.settings);
        let url = &address::parse_checked(&entry.token_endpoint, self.web.server())?;
        let resource = entry.resource.as_str();
        let endpoint = TokenEndpoint { web: &self.web, url, client: &client, resource };
        let refreshed = endpoint.refresh(refresh_token).await;
        match refreshed {
            Ok((tokens, scopes)) => {
                debug!(server = %self.server, "replaced the token of the server");
                if let Some(scopes) = scopes {
                    entry.scopes = scopes;
                }
                let token = tokens.access.clone();
                entry.tokens = Some(tokens.clone());
                match locked.write(&entry).await {
                    Ok(stamp) => self.update_cache(stamp, Some(tokens)),
                    Err(error) => {
                        // The token still works for this process until it expires.
                        warn!(server = %self.server, "cannot store the server's new token, so other processes cannot use it: {error}");
                        let stamp = self.cache().stamp.clone();
                        self.update_cache(stamp, Some(tokens));
                        if error.is_temporary() {
                            tokio::spawn(store_later(self.server.clone(), locked, entry));
                        }
                    }
                }
                Ok(Some(token))
            }
            Err(TokenError::Refused { message }) => {
                warn!(server = %self.server, "the login of the server has ended: {message}");
                let stamp = locked.write(&entry).await.unwrap_or_else(|error| {
                    debug!(server = %self.server, "cannot store that the login has ended: {error}");
                    self.cache().stamp.clone()
                });
                self.update_cache(stamp, None);
                Ok(None)
            }
            Err(error) => {
                if refused == Some(&old.access) || !old.are_valid() {
                    return Err(error.into());
                }
                debug!(server = %self.server, "cannot replace the server's token yet: {error}");
                self.cache().retry_renewal_at = Some(Instant::now() + RENEWAL_RETRY_DELAY);
                Ok(Some(old.access))
            }
        }
    }

    async fn store_missing_scopes(&self, scopes: &[String]) -> Result<(), LoginError> {
        let Some(place) = &self.place else { return Ok(()) };
        let locked = place.lock().await?;
        if let Some(mut entry) = locked.read().await? {
            entry.wanted_scopes = scope::union([&entry.wanted_scopes, &scopes.to_vec()]);
            let stamp = locked.write(&entry).await?;
            self.update_cache(stamp, entry.tokens);
        }
        Ok(())
    }

    /// Reads the vault. A login from an authorization server that the configuration does not allow
    /// is ignored.
    async fn read_vault(&self, place: &LoginPlace) -> Result<Option<StoredLogin>, LoginError> {
        let (stamp, entry) = place.read().await?;
        let entry = entry.filter(|entry| entry.is_allowed(&self.settings));
        self.update_cache(stamp, entry.as_ref().and_then(|entry| entry.tokens.clone()));
        Ok(entry)
    }

    fn update_cache(&self, stamp: Stamp, tokens: Option<Tokens>) {
        let mut cache = self.cache();
        let used = tokens.iter().flat_map(|tokens| [Some(&tokens.access), tokens.refresh.as_ref()]);
        for token in used.flatten() {
            if !cache.used_tokens.contains(token) {
                cache.used_tokens.push(token.clone());
                self.place.iter().for_each(|place| place.observe(token.reveal()));
            }
        }
        let excess = cache.used_tokens.len().saturating_sub(MAX_USED_TOKENS);
        cache.used_tokens.drain(..excess);
        *cache = VaultCache {
            tokens,
            stamp,
            retry_renewal_at: None,
            used_tokens: std::mem::take(&mut cache.used_tokens),
        };
    }

    /// The last token, if it has not expired and is another one than `refused`.
    fn valid_token(&self, refused: Option<&Token>) -> Option<Token> {
        let cache = self.cache();
        let tokens = cache.tokens.as_ref().filter(|tokens| tokens.are_valid())?;
        Some(tokens.access.clone()).filter(|token| refused != Some(token))
    }

    fn cache(&self) -> MutexGuard<'_, VaultCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stores a login with new tokens when the store can be reached again. The tokens that are stored are of
/// no use any more, and the lock keeps other processes from using them as long as it can.
async fn store_later(server: ServerName, locked: LockedLogin, entry: StoredLogin) {
    let deadline = Instant::now() + STORE_LATER_TIMEOUT;
    while Instant::now() < deadline {
        sleep(STORE_LATER_INTERVAL).await;
        match locked.write(&entry).await {
            Ok(_) => {
                info!(%server, "the server's new token is stored now");
                return;
            }
            Err(error) if error.is_temporary() => {}
            Err(error) => {
                warn!(%server, "the server's new token is not stored: {error}");
                return;
            }
        }
    }
    warn!(%server, "the server's new token is not stored: the store did not come back in time");
}

/// The result that needs no network: a usable token, or `Some(None)` if there is none. `None` means
/// that the token has to be renewed.
fn usable_token(entry: Option<&StoredLogin>, refused: Option<&Token>) -> Option<Option<Token>> {
    let Some(tokens) = entry.and_then(|entry| entry.tokens.as_ref()) else { return Some(None) };
    let is_refused = refused == Some(&tokens.access);
    if !is_refused && (tokens.are_fresh() || tokens.refresh.is_none() && tokens.are_valid()) {
        return Some(Some(tokens.access.clone()));
    }
    tokens.refresh.is_none().then_some(None)
}
