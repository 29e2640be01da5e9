//! Tells whether a login is still the one it was.

use onecall_config::RemoteTransport;
use reqwest::Url;

use crate::vault::Slot;

/// Where to look for the login of a server.
#[derive(Clone, Debug)]
pub struct LoginMark(Slot);

impl LoginMark {
    /// Of a server that the user may log in to.
    #[must_use]
    pub fn of(transport: &RemoteTransport) -> Option<Self> {
        let settings = transport.oauth.as_ref()?;
        let url = Url::parse(&transport.url).ok()?;
        Slot::of_user(&url, settings.client_id.as_deref()).map(Self)
    }

    /// Different whenever the login is another one, or a renewed one: nobody could tell these
    /// apart without a look into the tokens.
    #[must_use]
    pub fn now(&self) -> String {
        format!("{:?}", self.0.stamp())
    }
}
