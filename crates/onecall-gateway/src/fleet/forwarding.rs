//! Forwards a request to the gateway that holds what it needs, and passes the answer on as it comes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use onecall_core::Principal;
use onecall_core::storage::StoredGateway;
use reqwest::header::{HeaderMap, HeaderName};
use reqwest::{Client, Method, StatusCode, Url};
use thiserror::Error;

use super::{Fleet, PROOF_HEADER};

/// Headers that are about one connection, or that another gateway must not get: it trusts the proof,
/// not the token or the page that the request comes from.
const NOT_FORWARDED: [&str; 13] = [
    "authorization",
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "origin",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    PROOF_HEADER,
];

/// For how many gateways a client is kept.
const MAX_CLIENTS: usize = 64;

/// The length up to which a body is a short text.
const MAX_SHORT_TEXT: usize = 1024;

/// A request that another gateway is to answer.
pub struct ForwardedRequest {
    /// The method.
    pub method: Method,
    /// The path and the query.
    pub target: String,
    /// The headers, as they were received. Cookies are forwarded, because pages need them.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
    /// The user of the request, if there are users.
    pub principal: Option<Arc<Principal>>,
}

/// The answer of another gateway.
pub struct ForwardedResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers that are passed on.
    pub headers: HeaderMap,
    response: reqwest::Response,
    gateway: StoredGateway,
}

/// The HTTP clients for other gateways, by address.
#[derive(Default)]
pub(super) struct Clients(Mutex<HashMap<String, Client>>);

impl Clients {
    fn of(&self, address: &str, url: &Url) -> reqwest::Result<Client> {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(address) {
            return Ok(client.clone());
        }
        if clients.len() >= MAX_CLIENTS {
            clients.clear();
        }
        let client = onecall_login::http::client_builder(url).no_proxy().build()?;
        clients.insert(address.to_owned(), client.clone());
        Ok(client)
    }
}

/// Why a request could not be forwarded.
#[derive(Debug, Error)]
pub enum ForwardError {
    /// The address of the other gateway cannot be used.
    #[error("its address cannot be used")]
    Address,
    /// The other gateway cannot be reached, so it has begun nothing.
    #[error("{0}")]
    Unreachable(String),
    /// Another gateway is at the address now: the one that is meant has ended.
    #[error("another gateway has its address")]
    Replaced,
    /// The other gateway has ended while it was to answer.
    #[error("it has ended")]
    Ended,
    /// The other gateway has not answered. It may have begun what it was asked for.
    #[error("{0}")]
    Unanswered(String),
}

impl Fleet {
    /// Sends a request to another gateway, and returns its answer as soon as that begins.
    ///
    /// # Errors
    /// If the gateway cannot be reached, does not answer, or ends before it does.
    pub async fn forward(
        &self,
        to: &StoredGateway,
        request: ForwardedRequest,
    ) -> Result<ForwardedResponse, ForwardError> {
        tokio::select! {
            response = self.send(to, request) => response,
            () = self.has_ended(to) => Err(ForwardError::Ended),
        }
    }

    /// Sends a request to another gateway, which may take as long to answer as it likes.
    pub(super) async fn send(
        &self,
        to: &StoredGateway,
        request: ForwardedRequest,
    ) -> Result<ForwardedResponse, ForwardError> {
        let url = format!("{}{}", to.address, request.target);
        let url = Url::parse(&url).map_err(|_| ForwardError::Address)?;
        let unreachable = |error: reqwest::Error| {
            let cause = onecall_login::http::cause(&error);
            match error.is_connect() || error.is_builder() {
                true => ForwardError::Unreachable(cause),
                false => ForwardError::Unanswered(cause),
            }
        };
        let client = self.clients.of(&to.address, &url).map_err(unreachable)?;
        let proof = self.prove(&to.id, &request);
        let response = client
            .request(request.method, url)
            .headers(forwarded_headers(request.headers))
            .header(PROOF_HEADER, proof)
            .body(request.body)
            .send()
            .await
            .map_err(unreachable)?;
        if response.status() == StatusCode::MISDIRECTED_REQUEST {
            return Err(ForwardError::Replaced);
        }
        let headers = forwarded_headers(response.headers().clone());
        let gateway = to.clone();
        Ok(ForwardedResponse { status: response.status(), headers, response, gateway })
    }
}

impl ForwardedResponse {
    /// The whole body, unless it is longer than a line or is no text.
    pub(super) async fn short_text(mut self) -> Option<String> {
        let mut body = Vec::new();
        while let Some(part) = self.response.chunk().await.ok()? {
            body.extend_from_slice(&part);
            if body.len() > MAX_SHORT_TEXT {
                return None;
            }
        }
        String::from_utf8(body).ok()
    }

    /// The next part of the body; `None` at its end, or if the other gateway ends in between.
    pub async fn next_part(&mut self, fleet: &Fleet) -> Option<Vec<u8>> {
        let part = tokio::select! {
            part = self.response.chunk() => part,
            () = fleet.has_ended(&self.gateway) => {
                tracing::debug!("a forwarded answer ends early: its gateway has ended");
                return None;
            }
        };
        match part {
            Ok(part) => part.map(Vec::from),
            Err(error) => {
                let cause = onecall_login::http::cause(&error);
                tracing::debug!("a forwarded answer ends early: {cause}");
                None
            }
        }
    }
}

fn forwarded_headers(mut headers: HeaderMap) -> HeaderMap {
    for name in NOT_FORWARDED {
        headers.remove(HeaderName::from_static(name));
    }
    headers
}
