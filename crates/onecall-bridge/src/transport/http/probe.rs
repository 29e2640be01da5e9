//! Asks a remote server, without a token, whether it requires a login.

use onecall_config::{ServerConfig, Transport};
use onecall_login::Wanted;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Method, Response, StatusCode};
use thiserror::Error;

use super::HttpError;
use super::endpoint::{Endpoint, JSON, JSON_OR_EVENTS};
use super::mirror;
use super::session::SESSION_ID;
use crate::error::StartError;
use crate::protocol::request::{Era, Request};
use crate::setting::Setting;

/// Why it could not be determined whether a server requires a login.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct ProbeError(#[from] Cause);

#[derive(Debug, Error)]
enum Cause {
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
pub async fn wanted_login(server: &ServerConfig) -> Result<Option<Wanted>, ProbeError> {
    let (transport, methods): (_, &[Method]) = match &server.transport {
        Transport::Stdio(_) | Transport::Unresolved(_) => return Ok(None),
        Transport::Sse(transport) => (transport, &[Method::GET]),
        Transport::Auto(transport)
        | Transport::Either { http: transport, .. }
        | Transport::Http(transport) => (transport, &[Method::POST, Method::GET]),
    };
    let endpoint = Endpoint::new(transport, None, &Setting::default()).map_err(Cause::from)?;
    Ok(endpoint.wanted(methods).await.map_err(Cause::from)?)
}

impl Endpoint {
    /// Sends a first request with each of these methods until one of them gives a result.
    async fn wanted(&self, methods: &[Method]) -> Result<Option<Wanted>, HttpError> {
        let hello = Request::Initialize { capabilities: "{}" }.line(1, Era::Handshake);
        let headers = HeaderMap::from_iter([(ACCEPT, JSON_OR_EVENTS), (CONTENT_TYPE, JSON)]);
        for method in methods {
            let body = (*method == Method::POST).then_some(&hello);
            let response = self.send(method, &headers, body, None).await?;
            if response.status() == StatusCode::UNAUTHORIZED {
                return Ok(Some(Wanted::of(response.headers())));
            }
            if *method == Method::POST
                && let Some(wanted) = self.wanted_later(&response).await
            {
                return Ok(Some(wanted));
            }
            if response.status().is_success() {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// The login that a server requires for other requests although it accepts the handshake
    /// without one.
    async fn wanted_later(&self, greeting: &Response) -> Option<Wanted> {
        let (request, era, mut headers) = if greeting.status().is_success() {
            let session = greeting.headers().get(SESSION_ID).cloned();
            let headers = session.map(|id| (SESSION_ID, id)).into_iter().collect();
            (Request::ListTools { cursor: None }, Era::Handshake, headers)
        } else {
            (Request::Discover, Era::Stateless, mirror::headers(&Request::Discover))
        };
        headers.extend([(ACCEPT, JSON_OR_EVENTS), (CONTENT_TYPE, JSON)]);
        let line = request.line(2, era);
        let response = self.send(&Method::POST, &headers, Some(&line), None).await.ok()?;
        let is_refused = response.status() == StatusCode::UNAUTHORIZED;
        is_refused.then(|| Wanted::of(response.headers()))
    }
}
