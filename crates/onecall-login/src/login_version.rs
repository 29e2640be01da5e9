//! Detects whether the login of a server has changed, without reading its tokens.

use onecall_config::RemoteTransport;
use reqwest::Url;

use crate::vault::LoginFile;

/// Reads which version of the login of a server is stored.
#[derive(Clone, Debug)]
pub struct LoginVersion(LoginFile);

impl LoginVersion {
    /// The login of a server that supports logins; `None` for any other.
    #[must_use]
    pub fn of(transport: &RemoteTransport) -> Option<Self> {
        let settings = transport.oauth.as_ref()?;
        let url = Url::parse(&transport.url).ok()?;
        LoginFile::of_user(&url, settings.client_id.as_deref()).map(Self)
    }

    /// A text that changes whenever the login is replaced or renewed. A renewal cannot be
    /// distinguished from a new login without reading the tokens.
    #[must_use]
    pub fn current(&self) -> String {
        format!("{:?}", self.0.stamp())
    }
}
