//! Logins for which a browser is at an authorization server. Each is for one browser and is used once.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use onecall_config::ServerConfig;
use onecall_core::{Digest, UserName};
use onecall_login::StartedLogin;

use super::error::UserLoginError;

/// How long a person may take at the authorization server.
const LIFETIME: Duration = Duration::from_secs(600);

/// How many logins of one user may wait at a time. A new one replaces the oldest.
const MAX_PER_USER: usize = 4;

/// How many logins of all users may wait at a time.
const MAX_LOGINS: usize = 1_000;

/// A login that waits for its browser to come back.
pub(super) struct WaitingLogin {
    pub(super) user: UserName,
    /// The entry of the server when the login began.
    pub(super) server: ServerConfig,
    pub(super) started: StartedLogin,
    /// The digest of the state that names the login in the response.
    state: Digest,
    /// The digest of the secret of the browser.
    browser: Digest,
    expires: Instant,
}

impl WaitingLogin {
    pub(super) fn new(
        user: UserName,
        server: ServerConfig,
        started: StartedLogin,
        browser: &str,
    ) -> Self {
        let (state, browser) = (Digest::of(started.state()), Digest::of(browser));
        Self { user, server, started, state, browser, expires: Instant::now() + LIFETIME }
    }
}

/// All logins that wait for their browser, the oldest first.
#[derive(Default)]
pub(super) struct PendingLogins(Mutex<Vec<WaitingLogin>>);

impl PendingLogins {
    pub(super) fn add(&self, login: WaitingLogin) {
        let mut logins = self.current();
        let is_own = |other: &WaitingLogin| other.user == login.user;
        if logins.iter().filter(|other| is_own(other)).count() >= MAX_PER_USER
            && let Some(oldest) = logins.iter().position(is_own)
        {
            logins.remove(oldest);
        }
        if logins.len() >= MAX_LOGINS {
            logins.remove(0);
        }
        logins.push(login);
    }

    /// Takes the login that a response belongs to. A response that another browser brings does not end
    /// the login.
    pub(super) fn take(
        &self,
        state: &str,
        browser: Option<&str>,
    ) -> Result<WaitingLogin, UserLoginError> {
        let (state, browser) = (Digest::of(state), browser.map(Digest::of));
        let mut logins = self.current();
        let position = logins.iter().position(|login| login.state == state);
        let position = position.filter(|position| {
            let login = logins.get(*position);
            login.is_some_and(|login| Some(login.browser) == browser)
        });
        position.map(|position| logins.remove(position)).ok_or(UserLoginError::NoSuchLogin)
    }

    /// Ends all logins of a user.
    pub(super) fn remove_user(&self, user: &UserName) {
        self.current().retain(|login| login.user != *user);
    }

    fn current(&self) -> MutexGuard<'_, Vec<WaitingLogin>> {
        let mut logins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        logins.retain(|login| now < login.expires);
        logins
    }
}
