//! The login of a server as its connections use it: it provides a token for each request, renews it
//! in time, and reports when the user has to log in (again).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onecall_config::{OAuth, RemoteTransport};
use onecall_core::ServerName;
use onecall_core::text::{plain, shell_word};
use reqwest::Url;
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tracing::{debug, warn};

use crate::Token;
use crate::challenge::Challenge;
use crate::error::{AccessError, LoginError};
use crate::token::{TokenEndpoint, TokenError, Tokens};
use crate::vault::{Entry, Held, Slot, Stamp};
use crate::web::Web;
use crate::{address, scope};

/// The interval at which the vault is checked for a new login.
const LOOK: Duration = Duration::from_secs(1);

/// How long a token that still works is used after its renewal failed.
const HOLD_OFF: Duration = Duration::from_secs(10);

/// How many used tokens are remembered, so that they can be removed from error messages.
const REMEMBERED: usize = 8;

/// The login of one server.
pub struct Login {
    server: ServerName,
    settings: OAuth,
    web: Web,
    /// The place in the vault; `None` if the user has no state directory.
    slot: Option<Slot>,
    known: Mutex<Known>,
    /// Serializes renewals: waiting requests use the result of the first one.
    turn: tokio::sync::Mutex<()>,
    /// Whether the user has to log in.
    lost: watch::Sender<bool>,
}

/// Why a token could not be replaced.
#[derive(Debug, Error)]
enum RenewalError {
    #[error(transparent)]
    Login(#[from] LoginError),
    #[error(transparent)]
    NoTokens(#[from] TokenError),
    #[error("it was broken off")]
    BrokenOff,
}

/// The content of the vault when it was last read.
#[derive(Default)]
struct Known {
    tokens: Option<Tokens>,
    stamp: Option<Stamp>,
    /// Until then, no renewal is attempted while the old token works.
    hold_off: Option<Instant>,
    /// Tokens that were used, which must not be shown.
    seen: Vec<Token>,
}

impl Login {
    /// The login of this server; `None` if its transport does not support one.
    #[must_use]
    pub fn new(server: &ServerName, transport: &RemoteTransport) -> Option<Self> {
        let settings = transport.oauth.clone()?;
        let url = Url::parse(&transport.url).ok()?;
        Some(Self {
            server: server.clone(),
            slot: Slot::of_user(&url, settings.client_id.as_deref()),
            web: Web::new(&url),
            settings,
            known: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            lost: watch::Sender::new(false),
        })
    }

    /// The instruction to the user when a login is needed.
    #[must_use]
    pub fn advice(&self) -> String {
        format!("needs login; run `onecall login {}`", shell_word(self.server.as_str()))
    }

    /// The token to use now; `None` if there is no login.
    ///
    /// # Errors
    /// If the token has expired and cannot be replaced.
    pub async fn token(self: &Arc<Self>) -> Result<Option<Token>, AccessError> {
        match self.at_hand() {
            Some(token) => Ok(Some(token)),
            None => self.renewed(None).await,
        }
    }

    /// The token to use after the server rejected `refused`, or rejected a request without a token.
    ///
    /// # Errors
    /// If there is none.
    pub async fn instead_of(
        self: &Arc<Self>,
        refused: Option<Token>,
    ) -> Result<Token, AccessError> {
        let was_let_in = refused.is_some();
        match self.renewed(refused).await? {
            Some(token) => Ok(token),
            None => {
                // A server may answer some requests without a token.
                self.lost.send_if_modified(|lost| was_let_in && !std::mem::replace(lost, true));
                Err(self.needed())
            }
        }
    }

    /// The error that tells the user to log in.
    #[must_use]
    pub fn needed(&self) -> AccessError {
        AccessError::NeedsLogin { server: self.server.clone(), advice: self.advice() }
    }

    /// The error for a token that lacks scopes. The missing scopes are stored for the next login.
    pub async fn falls_short(&self, challenge: &Challenge) -> AccessError {
        if let Err(error) = self.remember_wanted(&challenge.scopes).await {
            debug!(server = %self.server, "the missing scopes are not remembered: {error}");
        }
        let missing = plain(&challenge.scopes.join(" "), 300);
        let command = format!("onecall login {}", shell_word(self.server.as_str()));
        AccessError::NeedsScope { missing, command }
    }

    /// Returns when the user has to log in before the server can be used.
    pub async fn lost(&self) {
        // This object holds the sender, so there is no error.
        let _ = self.lost.subscribe().wait_for(|lost| *lost).await;
    }

    /// Resets the state before the server is tried again.
    pub fn begin(&self) {
        self.lost.send_replace(false);
    }

    /// Returns when the stored login has changed.
    pub async fn changed(&self) {
        let Some(slot) = &self.slot else { return std::future::pending().await };
        while slot.stamp() == self.known().stamp {
            sleep(LOOK).await;
        }
    }

    /// The tokens that must not be shown, even if the server sends them back.
    #[must_use]
    pub fn secrets(&self) -> Vec<Token> {
        self.known().seen.clone()
    }

    /// The last token, if it can still be used and the vault is unchanged.
    fn at_hand(&self) -> Option<Token> {
        let known = self.known();
        let tokens = known.tokens.as_ref()?;
        let is_good = tokens.are_fresh()
            || tokens.are_valid() && known.hold_off.is_some_and(|until| Instant::now() < until);
        let is_current = self.slot.as_ref().and_then(Slot::stamp) == known.stamp;
        (is_good && is_current).then(|| tokens.access.clone())
    }

    /// Renews the token in a separate task: a caller may be cancelled, but a new token must be
    /// stored, because it invalidates the old one.
    async fn renewed(
        self: &Arc<Self>,
        refused: Option<Token>,
    ) -> Result<Option<Token>, AccessError> {
        let login = Arc::clone(self);
        let renewal = tokio::spawn(async move { login.renew(refused).await });
        let renewed = renewal.await.unwrap_or(Err(RenewalError::BrokenOff));
        renewed.map_err(|error| AccessError::NoToken { detail: error.to_string() })
    }

    async fn renew(&self, refused: Option<Token>) -> Result<Option<Token>, RenewalError> {
        let _turn = self.turn.lock().await;
        let Some(slot) = &self.slot else { return Ok(None) };
        let entry = self.look(slot)?;
        if let Some(settled) = settled(entry.as_ref(), refused.as_ref()) {
            return Ok(settled);
        }
        // Another process may be renewing the token at the same time.
        let held = slot.lock().await?;
        let entry = self.look(slot)?;
        if let Some(settled) = settled(entry.as_ref(), refused.as_ref()) {
            return Ok(settled);
        }
        let Some(entry) = entry else { return Ok(None) };
        self.refresh(slot, &held, entry, refused).await
    }

    /// Exchanges the refresh token for new tokens and stores them.
    async fn refresh(
        &self,
        slot: &Slot,
        held: &Held<'_>,
        mut entry: Entry,
        refused: Option<Token>,
    ) -> Result<Option<Token>, RenewalError> {
        let Some(old) = entry.tokens.take() else { return Ok(None) };
        let Some(price) = &old.refresh else { return Ok(None) };
        let client = entry.client(&self.settings);
        let url = &address::read(&entry.token_endpoint, self.web.server())?;
        let resource = entry.resource.as_str();
        let endpoint = TokenEndpoint { web: &self.web, url, client: &client, resource };
        let refreshed = endpoint.refresh(price).await;
        match refreshed {
            Ok((tokens, scopes)) => {
                debug!(server = %self.server, "the token of the server was replaced");
                if let Some(scopes) = scopes {
                    entry.scopes = scopes;
                }
                let token = tokens.access.clone();
                entry.tokens = Some(tokens);
                if let Err(error) = held.write(&entry) {
                    // The token still works for this process until it expires.
                    warn!(server = %self.server, "the new token could not be kept: {error}");
                }
                self.remember(slot.stamp(), entry.tokens);
                Ok(Some(token))
            }
            Err(TokenError::Refused { words }) => {
                warn!(server = %self.server, "the login of the server has ended: {words}");
                if let Err(error) = held.write(&entry) {
                    debug!(server = %self.server, "that could not be noted: {error}");
                }
                self.remember(slot.stamp(), None);
                Ok(None)
            }
            Err(error) => {
                if refused.as_ref() == Some(&old.access) || !old.are_valid() {
                    return Err(error.into());
                }
                debug!(server = %self.server, "the token could not be replaced yet: {error}");
                self.known().hold_off = Some(Instant::now() + HOLD_OFF);
                Ok(Some(old.access))
            }
        }
    }

    async fn remember_wanted(&self, scopes: &[String]) -> Result<(), LoginError> {
        let Some(slot) = &self.slot else { return Ok(()) };
        let held = slot.lock().await?;
        if let Some(mut entry) = held.read()? {
            entry.wanted_scopes = scope::union([&entry.wanted_scopes, &scopes.to_vec()]);
            held.write(&entry)?;
            self.remember(slot.stamp(), entry.tokens);
        }
        Ok(())
    }

    /// Reads the vault. A login from an authorization server that the configuration does not allow
    /// is ignored.
    fn look(&self, slot: &Slot) -> Result<Option<Entry>, LoginError> {
        // The stamp is read first, so that a change in the meantime is noticed at the next check.
        let stamp = slot.stamp();
        let entry = slot.read()?.filter(|entry| entry.is_allowed(&self.settings));
        self.remember(stamp, entry.as_ref().and_then(|entry| entry.tokens.clone()));
        Ok(entry)
    }

    fn remember(&self, stamp: Option<Stamp>, tokens: Option<Tokens>) {
        let mut known = self.known();
        let used = tokens.iter().flat_map(|tokens| [Some(&tokens.access), tokens.refresh.as_ref()]);
        for token in used.flatten() {
            if !known.seen.contains(token) {
                known.seen.push(token.clone());
            }
        }
        let excess = known.seen.len().saturating_sub(REMEMBERED);
        known.seen.drain(..excess);
        *known = Known { tokens, stamp, hold_off: None, seen: std::mem::take(&mut known.seen) };
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The result that needs no network: a usable token, or `Some(None)` if there is none. `None` means
/// that the token has to be renewed.
fn settled(entry: Option<&Entry>, refused: Option<&Token>) -> Option<Option<Token>> {
    let Some(tokens) = entry.and_then(|entry| entry.tokens.as_ref()) else { return Some(None) };
    let is_refused = refused == Some(&tokens.access);
    if !is_refused && (tokens.are_fresh() || tokens.refresh.is_none() && tokens.are_valid()) {
        return Some(Some(tokens.access.clone()));
    }
    tokens.refresh.is_none().then_some(None)
}
