//! A configured server to which a user can log in.

use onecall_config::{OAuthConfig, ServerConfig, Transport};
use onecall_core::ServerName;
use reqwest::Url;

use crate::error::LoginError;
use crate::login_place::{LoginOwner, LoginPlace};
use crate::vault;

/// A server to which a user can log in, with its settings and the place of the login.
pub(crate) struct LoginTarget {
    pub name: ServerName,
    pub settings: OAuthConfig,
    pub url: Url,
    pub place: LoginPlace,
}

impl LoginTarget {
    pub fn of(server: &ServerConfig, owner: &LoginOwner) -> Result<Self, LoginError> {
        let name = &server.name;
        let transport = match &server.transport {
            Transport::Stdio(_) => return Err(LoginError::NotRemote { server: name.clone() }),
            Transport::Unresolved(unresolved) => {
                let (server, reason) = (name.clone(), unresolved.to_string());
                return Err(LoginError::Unresolved { server, reason });
            }
            Transport::Auto(transport)
            | Transport::Either { http: transport, .. }
            | Transport::Http(transport)
            | Transport::Sse(transport) => transport,
        };
        let Some(settings) = &transport.oauth else {
            return Err(LoginError::Configured { server: name.clone() });
        };
        let url = Url::parse(&transport.url)
            .map_err(|_| LoginError::NoAddress { text: "'url'".to_owned() })?;
        let place = owner.place(&url, settings.client_id.as_deref());
        let place = place.ok_or(LoginError::NoVault)?;
        Ok(Self { name: name.clone(), settings: settings.clone(), url, place })
    }
}

/// The name under which logins of users to `server` are stored; `None` if the server supports no logins.
#[must_use]
pub fn login_name(server: &ServerConfig) -> Option<String> {
    let transport = match &server.transport {
        Transport::Stdio(_) | Transport::Unresolved(_) => return None,
        Transport::Auto(transport)
        | Transport::Either { http: transport, .. }
        | Transport::Http(transport)
        | Transport::Sse(transport) => transport,
    };
    let client_id = transport.oauth.as_ref()?.client_id.as_deref();
    let url = Url::parse(&transport.url).ok()?;
    Some(vault::login_name(&url, client_id).to_string())
}
