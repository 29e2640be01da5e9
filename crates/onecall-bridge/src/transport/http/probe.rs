//! Asks a remote server, without a token, whether it requires a login.

use onecall_config::{ServerConfig, Transport};
use onecall_login::AuthRequirement;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Method, Response, StatusCode};
use thiserror::Error;

use super::HttpError;
use super::endpoint::{Endpoint, JSON, JSON_OR_EVENTS};
use super::request_headers;
use super::session::SESSION_ID;
use crate::connection_options::ConnectionOptions;
use crate::error::StartError;
use crate::protocol::request::{ProtocolMode, Request};

/// Why it could not be determined whether a server requires a login.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct ProbeError(#[from] ProbeFailure);

#[derive(Debug, Error)]
enum ProbeFailure {
    #[error(transparent)]
    NotStarted(#[from] StartError),
    #[error(transparent)]
    NotAsked(#[from] HttpError),
}

/// The login that the server requires; `None` if it requires none, or if it is not reached over
/// HTTP.
///
/// # Errors
/// If the server cannot be reached.
pub async fn probe_auth_requirement(
    server: &ServerConfig,
) -> Result<Option<AuthRequirement>, ProbeError> {
    let (transport, methods): (_, &[Method]) = match &server.transport {
        Transport::Stdio(_) | Transport::Unresolved(_) => return Ok(None),
        Transport::Sse(transport) => (transport, &[Method::GET]),
        Transport::Auto(transport)
        | Transport::Either { http: transport, .. }
        | Transport::Http(transport) => (transport, &[Method::POST, Method::GET]),
    };
    let endpoint = Endpoint::new(transport, None, &ConnectionOptions::default())
        .map_err(ProbeFailure::from)?;
    Ok(endpoint.auth_requirement(methods).await.map_err(ProbeFailure::from)?)
}

impl Endpoint {
    /// Sends a first request with each of these methods until one of them gives a result.
    async fn auth_requirement(
        &self,
        methods: &[Method],
    ) -> Result<Option<AuthRequirement>, HttpError> {
        let initialize =
            Request::Initialize { capabilities: "{}" }.line(1, ProtocolMode::Handshake);
        let headers = HeaderMap::from_iter([(ACCEPT, JSON_OR_EVENTS), (CONTENT_TYPE, JSON)]);
        for method in methods {
            let body = (*method == Method::POST).then_some(&initialize);
            let response = self.send(method, &headers, body, None).await?;
            if response.status() == StatusCode::UNAUTHORIZED {
                return Ok(Some(AuthRequirement::of(response.headers())));
            }
            if *method == Method::POST
                && let Some(requirement) = self.requirement_after_handshake(&response).await
            {
                return Ok(Some(requirement));
            }
            if response.status().is_success() {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// The login that a server requires for other requests although it accepts the handshake
    /// without one.
    async fn requirement_after_handshake(
        &self,
        initialize_response: &Response,
    ) -> Option<AuthRequirement> {
        let (request, mode, mut headers) = if initialize_response.status().is_success() {
            let session = initialize_response.headers().get(SESSION_ID).cloned();
            let headers = session.map(|id| (SESSION_ID, id)).into_iter().collect();
            (Request::ListTools { cursor: None }, ProtocolMode::Handshake, headers)
        } else {
            (
                Request::Discover,
                ProtocolMode::Stateless,
                request_headers::headers(&Request::Discover),
            )
        };
        headers.extend([(ACCEPT, JSON_OR_EVENTS), (CONTENT_TYPE, JSON)]);
        let line = request.line(2, mode);
        let response = self.send(&Method::POST, &headers, Some(&line), None).await.ok()?;
        let is_refused = response.status() == StatusCode::UNAUTHORIZED;
        is_refused.then(|| AuthRequirement::of(response.headers()))
    }
}
