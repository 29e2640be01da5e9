//! A configured server to which the user can log in.

use onecall_config::{OAuthConfig, ServerConfig, Transport};
use onecall_core::ServerName;
use reqwest::Url;

use crate::error::LoginError;
use crate::vault::LoginFile;

/// A server to which the user can log in, with its settings and its file in the vault.
pub(crate) struct LoginTarget<'a> {
    pub name: &'a ServerName,
    pub settings: &'a OAuthConfig,
    pub url: Url,
    pub login_file: LoginFile,
}

impl<'a> LoginTarget<'a> {
    pub fn of(server: &'a ServerConfig) -> Result<Self, LoginError> {
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
        let login_file = LoginFile::of_user(&url, settings.client_id.as_deref());
        let login_file = login_file.ok_or(LoginError::NoVault)?;
        Ok(Self { name, settings, url, login_file })
    }
}
