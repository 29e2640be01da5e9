//! Detects whether the login of a server has changed, without reading its tokens.

use std::sync::Arc;

use onecall_config::RemoteTransport;
use onecall_core::UserName;
use reqwest::Url;

use crate::login_place::{LoginOwner, LoginPlace};
use crate::user_vault::UserVault;

/// Reads which version of the login of a server is stored.
#[derive(Clone, Debug)]
pub struct LoginVersion(LoginPlace);

impl LoginVersion {
    /// The login of the local user to a server that supports logins; `None` for any other server.
    #[must_use]
    pub fn of(transport: &RemoteTransport) -> Option<Self> {
        Self::of_owner(transport, &LoginOwner::Local)
    }

    /// The login of a user of the gateway to a server that supports logins; `None` for any other server.
    #[must_use]
    pub fn of_user(
        transport: &RemoteTransport,
        user: &UserName,
        vault: &Arc<UserVault>,
    ) -> Option<Self> {
        Self::of_owner(transport, &LoginOwner::of(user, vault))
    }

    /// The login that is stored here.
    pub(crate) fn at(place: LoginPlace) -> Self {
        Self(place)
    }

    fn of_owner(transport: &RemoteTransport, owner: &LoginOwner) -> Option<Self> {
        let settings = transport.oauth.as_ref()?;
        let url = Url::parse(&transport.url).ok()?;
        owner.place(&url, settings.client_id.as_deref()).map(Self)
    }

    /// A text that changes whenever the login is replaced or renewed. A renewal cannot be
    /// distinguished from a new login without reading the tokens.
    #[must_use]
    pub fn current(&self) -> String {
        format!("{:?}", self.0.stamp())
    }
}
