//! The address of a remote server and the HTTP client for it. The configured headers are sent to
//! this origin only.

use std::sync::Arc;
use std::time::Duration;

use onecall_config::RemoteTransport;
use onecall_core::text::one_line;
use onecall_login::http::{cause, client_builder, shown_origin};
use onecall_login::{AuthRequirement, Login, Token};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, Method, Response, StatusCode, Url};
use tokio::time::timeout;

use super::body::{BodyFormat, LargeAnswers, MemoryPermit};
use super::confinement::confine;
use super::failure::HttpError;
use super::secrets::{self, Secrets};
use crate::connection_options::ConnectionOptions;
use crate::error::StartError;

/// How many redirects within the origin are followed.
const MAX_REDIRECTS: usize = 5;

/// How long the server may take to open a stream that has no other deadline.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);

const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const JSON_OR_EVENTS: HeaderValue =
    HeaderValue::from_static("application/json, text/event-stream");

/// The address, HTTP client and credentials of a server. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Endpoint {
    client: Client,
    url: Url,
    shared: Arc<SharedEndpoint>,
}

struct SharedEndpoint {
    /// The longest message that is accepted, in bytes.
    max_message_bytes: usize,
    large: LargeAnswers,
    headers: HeaderMap,
    /// Values that must not be shown even if the server sends them back.
    secrets: Secrets,
    /// The source of tokens, if the server supports a login.
    login: Option<Arc<Login>>,
    /// Whether error messages quote responses that are not MCP. For a server that a plan defines,
    /// quoting would let a program read the responses of any service.
    quotes_responses: bool,
}

impl Endpoint {
    pub fn new(
        transport: &RemoteTransport,
        login: Option<Arc<Login>>,
        options: &ConnectionOptions,
    ) -> Result<Self, StartError> {
        let no_client = |detail: String| StartError::NoClient { detail };
        let url = Url::parse(&transport.url)
            .map_err(|_| no_client("'url' is not an address".to_owned()))?;
        let mut client = client_builder(&url);
        if let Some(policy) = &options.confined_to {
            client = confine(client, &url, policy).map_err(|it| no_client(it.to_string()))?;
        }
        let client = client.build().map_err(|error| no_client(cause(&error)))?;
        let headers = secrets::headers(transport).map_err(|it| no_client(it.to_string()))?;
        let shared = SharedEndpoint {
            max_message_bytes: options.limits.max_message_bytes,
            large: LargeAnswers::default(),
            headers,
            secrets: Secrets::new(&client, &url, transport, login.clone()),
            login,
            quotes_responses: options.confined_to.is_none(),
        };
        Ok(Self { client, url, shared: Arc::new(shared) })
    }

    /// An endpoint of the same server at another address of its origin.
    pub fn at(&self, address: &str) -> Result<Self, HttpError> {
        let foreign = |target| HttpError::ForeignEndpoint { target: self.quoted(target) };
        let url = self.url.join(address).map_err(|_| foreign(one_line(address, 100)))?;
        if url.origin() != self.url.origin() {
            return Err(foreign(shown_origin(&url)));
        }
        Ok(Self { client: self.client.clone(), url, shared: Arc::clone(&self.shared) })
    }

    pub fn url(&self) -> &Url {
        &self.url
    }

    pub fn secrets(&self) -> &Secrets {
        &self.shared.secrets
    }

    /// Whether error messages quote responses that are not MCP.
    pub fn quotes_responses(&self) -> bool {
        self.shared.quotes_responses
    }

    /// The longest message that is accepted, in bytes.
    pub fn max_message_bytes(&self) -> usize {
        self.shared.max_message_bytes
    }

    /// The memory permit of one answer.
    pub fn memory_permit(&self) -> MemoryPermit {
        self.shared.large.memory_permit()
    }

    /// Sends a message; returns only successful responses.
    pub async fn post(&self, line: Vec<u8>, mut headers: HeaderMap) -> Result<Response, HttpError> {
        headers.insert(ACCEPT, JSON_OR_EVENTS);
        headers.insert(CONTENT_TYPE, JSON);
        self.exchange(Method::POST, headers, Some(line)).await
    }

    /// Requests an event stream; returns only a response that is one.
    pub async fn stream(&self, mut headers: HeaderMap) -> Result<Response, HttpError> {
        headers.insert(ACCEPT, EVENT_STREAM);
        let opened = timeout(OPEN_TIMEOUT, self.exchange(Method::GET, headers, None)).await;
        let response = opened.unwrap_or(Err(HttpError::NotAccepted { limit: OPEN_TIMEOUT }))?;
        match self.body_format(response).await? {
            (response, BodyFormat::Events) => Ok(response),
            (response, BodyFormat::Json) => Err(self.not_mcp(response).await),
        }
    }

    /// Ends the session that `headers` names.
    pub async fn delete(&self, headers: HeaderMap) -> Result<(), HttpError> {
        self.exchange(Method::DELETE, headers, None).await.map(drop)
    }

    /// Sends a request with the token of a login, if there is one. Returns only successful
    /// responses.
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
                // The server rejected the request without processing it, so it may be sent again.
                let other = login.token_after_rejection(token.clone()).await?;
                response = send(Some(&other)).await?;
                if wants_login(&response) {
                    return Err(login.login_required_error().into());
                }
            }
            if response.status() == StatusCode::FORBIDDEN
                && let AuthRequirement::Token(challenge) = AuthRequirement::of(response.headers())
                && challenge.error.as_deref() == Some("insufficient_scope")
            {
                return Err(login.insufficient_scope_error(&challenge).await.into());
            }
        }
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        Err(HttpError::refused(status, &self.error_text(response).await))
    }

    /// Sends a request and follows redirects. That is done here and not by the HTTP client, because
    /// only redirects within the origin are followed, and a POST stays a POST.
    pub async fn send(
        &self,
        method: &Method,
        headers: &HeaderMap,
        body: Option<&Vec<u8>>,
        token: Option<&Token>,
    ) -> Result<Response, HttpError> {
        let mut url = self.url.clone();
        let token = token.and_then(Token::bearer);
        for _ in 0..=MAX_REDIRECTS {
            // The protocol headers come last, so that the configuration cannot override them.
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
        Err(HttpError::Redirected { target: "too many addresses in a row".to_owned() })
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

    /// An address from the server, for an error message.
    fn quoted(&self, target: String) -> String {
        if self.shared.quotes_responses { target } else { "another address".to_owned() }
    }
}

/// Whether the server rejected a request because of a missing or invalid token.
fn wants_login(response: &Response) -> bool {
    response.status() == StatusCode::UNAUTHORIZED
        && AuthRequirement::of(response.headers()) != AuthRequirement::Unsupported
}
