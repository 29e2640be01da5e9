//! Where a remote server is, and the HTTP client that talks to it and to nobody
//! else: what the configuration gives it as headers goes to this origin only.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use onecall_config::RemoteTransport;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION,
};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Method, Response, StatusCode, Url};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::confinement::confine;
use super::failure::{HttpError, Words};
use super::mirror;
use super::oauth::{Login, Token, Wanted};
use super::session::SESSION_ID;
use crate::error::{RequestError, StartError};
use crate::plain::plain;
use crate::protocol::request::{Era, Request};
use crate::setting::Setting;

/// How long a connection may take, TLS included.
const CONNECT: Duration = Duration::from_secs(10);

/// Shorter than what common servers keep idle connections for (5 s): a request
/// must not meet a connection that is just being closed.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// A peer that vanished without a word is noticed after about this time.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// How many redirections within the origin are followed.
const MAX_HOPS: usize = 5;

/// How much of the body of a failure is read, and how long that may take.
const MAX_FAILURE: usize = 16 * 1024;
const FAILURE_TIME: Duration = Duration::from_secs(2);

/// What is read of a body before its size is trusted.
const FIRST_ROOM: usize = 64 * 1024;

/// How long the server may take to open a stream that no deadline waits for.
const OPENING: Duration = Duration::from_secs(30);

/// An answer that grows beyond this takes its turn: only so many of them are in
/// memory at a time, whatever the server sends.
const LARGE: usize = 1024 * 1024;
const MAX_LARGE: usize = 2;

/// A secret shorter than this is not looked for in what a server says: it would
/// be found everywhere.
const MIN_SECRET: usize = 6;

pub(crate) const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const JSON_OR_EVENTS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct Endpoint {
    client: Client,
    url: Url,
    shared: Arc<Shared>,
}

struct Shared {
    /// The longest message taken, in bytes.
    longest: usize,
    large: Arc<Semaphore>,
    headers: HeaderMap,
    /// What must not be shown even if the server sends it back.
    secrets: Vec<String>,
    /// Where tokens come from, if somebody can log in.
    login: Option<Arc<Login>>,
    /// Whether messages quote what the server says that is not MCP. For a server that a plan
    /// brought along, that would let a program read what any service answers.
    is_quoted: bool,
}

/// What the body of a response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Json,
    Events,
}

impl Endpoint {
    pub fn new(
        transport: &RemoteTransport,
        login: Option<Arc<Login>>,
        setting: &Setting,
    ) -> Result<Self, StartError> {
        let no_client = |detail: &str| StartError::NoClient { detail: detail.to_owned() };
        let url = Url::parse(&transport.url).map_err(|_| no_client("'url' is not an address"))?;
        let mut client = client_builder(&url);
        if let Some(policy) = &setting.confined_to {
            client = confine(client, &url, policy).map_err(|it| no_client(&it.to_string()))?;
        }
        let client = client.build().map_err(|error| no_client(&innermost(&error)))?;
        let mut headers = HeaderMap::new();
        let mut secrets: Vec<String> = url.password().into_iter().map(str::to_owned).collect();
        for (name, secret) in &transport.headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            let value = HeaderValue::from_str(secret.reveal());
            let (Ok(name), Ok(mut value)) = (name, value) else {
                return Err(no_client("one of 'headers' cannot be sent"));
            };
            value.set_sensitive(true);
            headers.insert(name, value);
            secrets.push(secret.reveal().to_owned());
        }
        // A user in the address becomes a header, too.
        let example = client.get(url.clone()).build().ok();
        let implied = example.as_ref().and_then(|request| request.headers().get(AUTHORIZATION));
        secrets.extend(implied.and_then(|value| value.to_str().ok()).map(str::to_owned));
        // Of `Bearer abc`, the second word alone is a secret too.
        let token = |secret: &String| Some(secret.split_once(' ')?.1.to_owned());
        secrets.extend(secrets.iter().filter_map(token).collect::<Vec<_>>());
        secrets.retain(|secret| secret.len() >= MIN_SECRET);
        let large = Arc::new(Semaphore::new(MAX_LARGE));
        let longest = setting.limits.max_message_bytes;
        let is_quoted = setting.confined_to.is_none();
        let shared = Shared { longest, large, headers, secrets, login, is_quoted };
        Ok(Self { client, url, shared: Arc::new(shared) })
    }

    /// The same server at another address of its own; `None` if it is not its own.
    pub fn at(&self, address: &str) -> Result<Self, HttpError> {
        let foreign = |target| HttpError::ForeignEndpoint { target: self.quoted(target) };
        let url = self.url.join(address).map_err(|_| foreign(plain(address, 100)))?;
        if url.origin() != self.url.origin() {
            return Err(foreign(shown_origin(&url)));
        }
        Ok(Self { client: self.client.clone(), url, shared: Arc::clone(&self.shared) })
    }

    /// Sends a message; the response is a success.
    pub async fn post(&self, line: Vec<u8>, mut headers: HeaderMap) -> Result<Response, HttpError> {
        headers.insert(ACCEPT, JSON_OR_EVENTS);
        headers.insert(CONTENT_TYPE, JSON);
        self.exchange(Method::POST, headers, Some(line)).await
    }

    /// Asks for an event stream; the response is one.
    pub async fn stream(&self, mut headers: HeaderMap) -> Result<Response, HttpError> {
        headers.insert(ACCEPT, EVENT_STREAM);
        let opened = timeout(OPENING, self.exchange(Method::GET, headers, None)).await;
        let response = opened.unwrap_or(Err(HttpError::NotTaken { limit: OPENING }))?;
        match self.content(response).await? {
            (response, Content::Events) => Ok(response),
            (response, Content::Json) => Err(self.not_mcp(response).await),
        }
    }

    /// Ends the session that `headers` names.
    pub async fn delete(&self, headers: HeaderMap) -> Result<(), HttpError> {
        self.exchange(Method::DELETE, headers, None).await.map(drop)
    }

    /// Finds out what a successful response holds.
    pub async fn content(&self, response: Response) -> Result<(Response, Content), HttpError> {
        let is = |wanted| media_type(&response).is_some_and(|it| it.eq_ignore_ascii_case(wanted));
        if is("application/json") {
            Ok((response, Content::Json))
        } else if is("text/event-stream") {
            Ok((response, Content::Events))
        } else {
            Err(self.not_mcp(response).await)
        }
    }

    /// The longest message taken, in bytes.
    pub fn longest(&self) -> usize {
        self.shared.longest
    }

    /// Reads a body that is one message.
    pub async fn body(&self, mut response: Response) -> Result<Vec<u8>, RequestError> {
        let longest = self.longest();
        let too_large = || RequestError::TooLarge { limit_bytes: longest };
        let length = response.content_length().unwrap_or(0);
        if usize::try_from(length).is_ok_and(|length| length > longest) {
            return Err(too_large());
        }
        let mut body = Vec::with_capacity(FIRST_ROOM.min(usize::try_from(length).unwrap_or(0)));
        let mut room = self.room();
        while let Some(chunk) = self.chunk(&mut response).await? {
            if body.len().saturating_add(chunk.len()) > longest {
                return Err(too_large());
            }
            room.hold(body.len()).await;
            let wanted = body.len() + chunk.len();
            if wanted > body.capacity() {
                // Doubling, but never beyond the longest answer allowed.
                let doubled = (body.capacity() * 2).min(longest).max(wanted);
                body.reserve_exact(doubled - body.len());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// Room for one answer.
    pub fn room(&self) -> Room {
        Room { large: Arc::clone(&self.shared.large), permit: None }
    }

    /// The next piece of a body.
    pub async fn chunk(
        &self,
        response: &mut Response,
    ) -> Result<Option<impl std::ops::Deref<Target = [u8]> + use<>>, HttpError> {
        let chunk = response.chunk().await;
        chunk.map_err(|error| HttpError::from_client(&error, &shown_origin(&self.url)))
    }

    /// What the server wants of those who bring no token; `None` if it lets them in.
    /// It is greeted in the ways of these methods.
    pub async fn wanted(&self, methods: &[Method]) -> Result<Option<Wanted>, HttpError> {
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

    /// What a server that greets everybody wants of those who ask for more.
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

    /// Sends a request with the token of a login, if there is one. The response is a
    /// success.
    async fn exchange(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Option<Vec<u8>>,
    ) -> Result<Response, HttpError> {
        let token = match &self.shared.login {
            Some(login) => login.token().await?,
            None => None,
        };
        let send = |token| self.send(&method, &headers, body.as_ref(), token);
        let mut response = send(token.as_ref()).await?;
        if let Some(login) = &self.shared.login {
            if wants_login(&response) {
                // The server has not looked at the request, so it may be sent again.
                let other = login.instead_of(token.clone()).await?;
                response = send(Some(&other)).await?;
                if wants_login(&response) {
                    return Err(login.needed());
                }
            }
            if response.status() == StatusCode::FORBIDDEN
                && let Wanted::Token(challenge) = Wanted::of(response.headers())
                && challenge.error.as_deref() == Some("insufficient_scope")
            {
                return Err(login.falls_short(&challenge).await);
            }
        }
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        Err(HttpError::refused(status, &self.words(response).await))
    }

    /// Redirections are followed here and not by the client: only within the
    /// origin, and a POST stays a POST.
    async fn send(
        &self,
        method: &Method,
        headers: &HeaderMap,
        body: Option<&Vec<u8>>,
        token: Option<&Token>,
    ) -> Result<Response, HttpError> {
        let mut url = self.url.clone();
        let token = token.and_then(Token::bearer);
        for _ in 0..=MAX_HOPS {
            // Ours last: what the protocol needs cannot be configured away.
            let mut request = self
                .client
                .request(method.clone(), url.clone())
                .headers(self.shared.headers.clone())
                .headers(headers.clone());
            if let Some(token) = &token {
                request = request.header(AUTHORIZATION, token.clone());
            }
            if let Some(body) = body {
                request = request.body(body.clone());
            }
            let response = request.send().await;
            let response = response
                .map_err(|error| HttpError::from_client(&error, &shown_origin(&self.url)))?;
            if !response.status().is_redirection() {
                return Ok(response);
            }
            url = self.redirected(&url, &response)?;
        }
        Err(HttpError::Redirected { target: "one address after the other".to_owned() })
    }

    fn redirected(&self, from: &Url, response: &Response) -> Result<Url, HttpError> {
        let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let target = location.and_then(|location| from.join(location).ok());
        match target {
            Some(target)
                if target.origin() == self.url.origin()
                    && response.status() != StatusCode::SEE_OTHER =>
            {
                Ok(target)
            }
            Some(target) => {
                Err(HttpError::Redirected { target: self.quoted(shown_origin(&target)) })
            }
            None => Err(HttpError::refused(response.status(), "")),
        }
    }

    async fn not_mcp(&self, response: Response) -> HttpError {
        let found = match media_type(&response) {
            Some(found) => plain(found, 60),
            None => "something unnamed".to_owned(),
        };
        let words = match self.shared.is_quoted {
            true => Words::new(&self.words(response).await),
            false => Words::default(),
        };
        HttpError::NotMcp { found, words }
    }

    /// An address that the server named, for an error message.
    fn quoted(&self, target: String) -> String {
        if self.shared.is_quoted { target } else { "another address".to_owned() }
    }

    /// What a server said instead of an answer, for an error message.
    pub fn shown(&self, body: &[u8]) -> Words {
        if self.shared.is_quoted {
            Words::new(&self.without_secrets(body))
        } else {
            Words::default()
        }
    }

    /// The beginning of what a failure says, without our secrets.
    async fn words(&self, mut response: Response) -> String {
        let mut body = Vec::new();
        let _ = timeout(FAILURE_TIME, async {
            while let Ok(Some(chunk)) = response.chunk().await {
                body.extend_from_slice(&chunk);
                if body.len() >= MAX_FAILURE {
                    break;
                }
            }
        })
        .await;
        if self.shared.is_quoted || is_json_rpc(&body) {
            self.without_secrets(&body)
        } else {
            String::new()
        }
    }

    fn without_secrets(&self, body: &[u8]) -> String {
        let body = body.get(..MAX_FAILURE.min(body.len())).unwrap_or_default();
        let mut words = String::from_utf8_lossy(body).into_owned();
        let tokens = self.shared.login.as_ref().map(|login| login.secrets()).unwrap_or_default();
        let tokens = tokens.iter().map(Token::reveal).filter(|token| token.len() >= MIN_SECRET);
        for secret in self.shared.secrets.iter().map(String::as_str).chain(tokens) {
            words = words.replace(secret, "[secret]");
        }
        words
    }
}

/// The memory that an answer takes while it is read.
pub(crate) struct Room {
    large: Arc<Semaphore>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Room {
    /// Waits until this much may be held.
    pub async fn hold(&mut self, bytes: usize) {
        if bytes < LARGE {
            self.permit = None;
        } else if self.permit.is_none() {
            // It is never closed.
            self.permit = Arc::clone(&self.large).acquire_owned().await.ok();
        }
    }
}

/// Whether a body is a message of the protocol.
fn is_json_rpc(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Envelope {
        jsonrpc: String,
    }
    serde_json::from_slice::<Envelope>(body).is_ok_and(|it| it.jsonrpc == "2.0")
}

/// A client for this address. It follows no redirections.
///
/// # Errors
/// If it cannot be made.
pub fn client(url: &Url) -> reqwest::Result<Client> {
    client_builder(url).build()
}

fn client_builder(url: &Url) -> ClientBuilder {
    // Fails if there is one already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = Client::builder()
        .user_agent(concat!("onecall/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .referer(false)
        .connect_timeout(CONNECT)
        .pool_idle_timeout(POOL_IDLE)
        .tcp_keepalive(KEEPALIVE)
        .tcp_nodelay(true);
    if is_loopback(url) {
        client = client.no_proxy();
    }
    if url.scheme() == "http" {
        // No certificate will be looked at, and reading the system's takes time.
        client = client.tls_certs_only([]);
    }
    client
}

pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Scheme, host and port: what of an address is no secret.
pub(super) fn shown_origin(url: &Url) -> String {
    plain(&url.origin().ascii_serialization(), 200)
}

/// Whether the server refused a request for want of a (better) token.
fn wants_login(response: &Response) -> bool {
    response.status() == StatusCode::UNAUTHORIZED && Wanted::of(response.headers()) != Wanted::Other
}

fn media_type(response: &Response) -> Option<&str> {
    let value = response.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next().unwrap_or_default().trim())
}

/// What the client library says is at the bottom of an error.
pub(super) fn innermost(error: &reqwest::Error) -> String {
    match HttpError::from_client(error, "") {
        HttpError::Unreachable { detail, .. } | HttpError::Broken { detail, .. } => detail,
        other => other.to_string(),
    }
}
