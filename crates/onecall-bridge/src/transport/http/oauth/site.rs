//! A server of the configuration as one that a person can log in to.

use std::time::Duration;

use onecall_config::{OAuth, RemoteTransport, ServerConfig, Transport};
use onecall_core::ServerName;
use reqwest::{Method, Url};
use tokio::time::timeout;

use super::challenge::{Challenge, Wanted};
use super::error::LoginError;
use super::vault::Slot;
use crate::setting::Setting;
use crate::transport::http::endpoint::Endpoint;

/// How long the server may take to say what it wants.
const ASKING: Duration = Duration::from_secs(20);

/// A server that one can log in to.
pub(super) struct Site<'a> {
    pub name: &'a ServerName,
    transport: &'a RemoteTransport,
    /// How its transports begin.
    methods: &'static [Method],
    pub settings: &'a OAuth,
    pub url: Url,
    pub slot: Slot,
}

impl<'a> Site<'a> {
    pub fn of(server: &'a ServerConfig) -> Result<Self, LoginError> {
        let name = &server.name;
        let (transport, methods): (_, &[Method]) = match &server.transport {
            Transport::Stdio(_) => return Err(LoginError::NotRemote { server: name.clone() }),
            Transport::Unresolved(unresolved) => {
                let (server, reason) = (name.clone(), unresolved.to_string());
                return Err(LoginError::Unresolved { server, reason });
            }
            Transport::Sse(transport) => (transport, &[Method::GET]),
            Transport::Auto(transport)
            | Transport::Either { http: transport, .. }
            | Transport::Http(transport) => (transport, &[Method::POST, Method::GET]),
        };
        let Some(settings) = &transport.oauth else {
            return Err(LoginError::Configured { server: name.clone() });
        };
        let url = Url::parse(&transport.url)
            .map_err(|_| LoginError::NoAddress { text: "'url'".to_owned() })?;
        let slot = Slot::of_user(&url, settings.client_id.as_deref());
        let slot = slot.ok_or(LoginError::NoVault)?;
        Ok(Self { name, transport, methods, settings, url, slot })
    }

    /// What the server says when it is asked without a token; `None` if it lets us in.
    pub async fn challenge(&self) -> Result<Option<Challenge>, LoginError> {
        let not_reached =
            |detail: String| LoginError::NotReached { server: self.name.clone(), detail };
        let endpoint = Endpoint::new(self.transport, None, &Setting::default());
        let endpoint = endpoint.map_err(|error| not_reached(error.to_string()))?;
        let Ok(wanted) = timeout(ASKING, endpoint.wanted(self.methods)).await else {
            return Err(not_reached(format!("no answer within {}s", ASKING.as_secs())));
        };
        match wanted.map_err(|error| not_reached(error.to_string()))? {
            Some(Wanted::Other) => Err(not_reached(
                "it wants something else than a token; see 'headers' in its entry".to_owned(),
            )),
            wanted => Ok(wanted.and_then(Wanted::into_challenge)),
        }
    }
}
