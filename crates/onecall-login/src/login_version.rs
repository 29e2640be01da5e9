//! Detects whether the login of a server has changed, without reading its tokens.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use onecall_config::RemoteTransport;
use reqwest::Url;

use crate::login_place::{LoginOwner, LoginPlace};
use crate::secrecy;
use crate::user_vault::UserVault;

/// Identifies this process among all processes that share a store.
static PROCESS: LazyLock<String> =
    LazyLock::new(|| secrecy::random_text().unwrap_or_else(|_| std::process::id().to_string()));

/// Reads which version of the login of a server is stored.
#[derive(Clone, Debug)]
pub struct LoginVersion(LoginPlace);

impl LoginVersion {
    /// The login of the local user to a server that supports logins; `None` for any other server. It is in
    /// `vault` if that keeps the logins of the local user.
    #[must_use]
    pub fn of(transport: &RemoteTransport, vault: Option<&Arc<UserVault>>) -> Option<Self> {
        let settings = transport.oauth.as_ref()?;
        let url = Url::parse(&transport.url).ok()?;
        LoginOwner::local(vault).place(&url, settings.client_id.as_deref()).map(Self)
    }

    /// The login that is stored here.
    pub(crate) fn at(place: LoginPlace) -> Self {
        Self(place)
    }

    /// A text that changes whenever the login is replaced or renewed. A renewal cannot be
    /// distinguished from a new login without reading the tokens. While the version is not known, each
    /// text is another one, so that it stands for no account.
    #[must_use]
    pub fn current(&self) -> String {
        static UNKNOWN: AtomicU64 = AtomicU64::new(0);
        match self.0.last_seen_stamp() {
            Some(stamp) => format!("{stamp:?}"),
            None => {
                let number = UNKNOWN.fetch_add(1, Ordering::Relaxed);
                format!("unknown {} {number}", *PROCESS)
            }
        }
    }
}
