//! Routes HTTP requests and decides, before rmcp sees a request, whether it is authorised and
//! valid.

use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use onecall_gateway::Gateway;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::de::IgnoredAny;

use super::answer::{Answer, Content, numbers, on_its_way, rpc_error, text};
use super::body::{MAX_BODY, Memory, Read, Share};
use super::connections::{Asking, MAX_ADMITTED};
use super::cors;
use super::names::{Foreign, Names};
use super::sessions::Sessions;
use super::streams::RETRY;
use super::token::Token;
use crate::handler::Handler;
use crate::unread::Unread;

const MCP: &str = "/mcp";
const HEALTH: &str = "/health";
const METRICS: &str = "/metrics";

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Error codes of JSON-RPC.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

/// Answers the requests of all connections.
pub(super) struct Front {
    names: Names,
    token: Option<Token>,
    memory: Memory,
    unread: Arc<Unread>,
    sessions: Arc<Sessions>,
    gateway: Arc<Gateway>,
    mcp: StreamableHttpService<Handler, Sessions>,
}

impl Front {
    pub fn new(names: Names, token: Option<Token>, gateway: Arc<Gateway>) -> Self {
        let sessions = Arc::new(Sessions::new());
        let config = StreamableHttpServerConfig::default()
            // Hosts and origins are checked by this module instead.
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_sse_retry(Some(RETRY))
            .with_max_request_body_bytes(MAX_BODY);
        let unread = Unread::new();
        let (served, shared) = (Arc::clone(&gateway), Arc::clone(&unread));
        let handler = move || Ok(Handler::new(Arc::clone(&served), Arc::clone(&shared)));
        let mcp = StreamableHttpService::new(handler, Arc::clone(&sessions), config);
        Self { names, token, memory: Memory::new(), unread, sessions, gateway, mcp }
    }

    /// The answers that clients have not read yet.
    pub fn unread(&self) -> &Arc<Unread> {
        &self.unread
    }

    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Ends every event stream.
    pub fn stop(&self) {
        self.mcp.config.cancellation_token.cancel();
    }

    /// Answers one request, which arrived at the local address `here`.
    pub async fn answer(
        &self,
        request: Request<Incoming>,
        here: SocketAddr,
        asking: Asking,
    ) -> Response<Answer> {
        let (response, share) = self.respond(request, here, &asking).await;
        on_its_way(response, &self.unread, share, asking)
    }

    async fn respond(
        &self,
        request: Request<Incoming>,
        here: SocketAddr,
        asking: &Asking,
    ) -> (Response<Content>, Share) {
        if request.uri().path() == HEALTH {
            return (health(request.method()), Share::default());
        }
        if let Err(foreign) = self.names.check(request.uri(), request.headers(), here) {
            return (forbidden(foreign), Share::default());
        }
        let origin = cors::origin(request.headers());
        let (mut response, share) = match self.refusal(&request) {
            Some(refusal) => (refusal, Share::default()),
            None if asking.admit().is_err() => (full(), Share::default()),
            None if request.uri().path() == METRICS => {
                (self.metrics(request.method()), Share::default())
            }
            None => self.serve(request).await,
        };
        if let Some(origin) = origin {
            cors::permit(response.headers_mut(), origin);
        }
        (response, share)
    }

    /// The response that follows from path and headers alone, if there is one: a refusal, or the
    /// answer to a preflight request.
    fn refusal(&self, request: &Request<Incoming>) -> Option<Response<Content>> {
        if !matches!(request.uri().path(), MCP | METRICS) {
            return Some(text(StatusCode::NOT_FOUND, "Not Found: MCP is served at /mcp\n"));
        }
        // A browser sends the preflight request without the token.
        if let Some(preflight) = cors::preflight(request) {
            return Some(preflight);
        }
        if let Some(token) = &self.token
            && !token.is_shown_in(request.headers())
        {
            return Some(unauthorized());
        }
        if request.headers().get_all(SESSION).iter().count() > 1 {
            let words = "Bad Request: more than one Mcp-Session-Id\n";
            return Some(text(StatusCode::BAD_REQUEST, words));
        }
        None
    }

    fn metrics(&self, method: &Method) -> Response<Content> {
        match *method {
            Method::GET | Method::HEAD => numbers(self.gateway.metrics()),
            _ => only_get(),
        }
    }

    async fn serve(&self, request: Request<Incoming>) -> (Response<Content>, Share) {
        let (head, body) = request.into_parts();
        if head.method != Method::POST {
            let request = Request::from_parts(head, Full::new(Bytes::new()));
            return (self.mcp.handle(request).await, Share::default());
        }
        let Read { bytes, share } = match self.memory.read(body).await {
            Ok(read) => read,
            Err(status) => return (unread(status), Share::default()),
        };
        let says_json = is_json(&head.headers);
        if says_json && let Some(refusal) = no_message(&bytes) {
            return (refusal, share);
        }
        let response = self.mcp.handle(Request::from_parts(head, Full::new(bytes))).await;
        if says_json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            // This is how rmcp responds to JSON that is not an MCP message.
            let words = "Invalid Request: this is no MCP message";
            return (rpc_error(StatusCode::BAD_REQUEST, INVALID_REQUEST, words), share);
        }
        (response, share)
    }
}

fn health(method: &Method) -> Response<Content> {
    match *method {
        Method::GET | Method::HEAD => text(StatusCode::OK, "ok"),
        _ => only_get(),
    }
}

fn only_get() -> Response<Content> {
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed\n");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}

fn forbidden(foreign: Foreign) -> Response<Content> {
    let words = match foreign {
        Foreign::Host => {
            "Forbidden: the Host of this request is not allowed; `onecall serve --allow-host` \
             adds one\n"
        }
        Foreign::Origin => {
            "Forbidden: the Origin of this request is not allowed; `onecall serve --allow-origin` \
             adds one\n"
        }
    };
    text(StatusCode::FORBIDDEN, words)
}

fn unauthorized() -> Response<Content> {
    let words = "Unauthorized: send the token as 'Authorization: Bearer TOKEN'\n";
    let mut response = text(StatusCode::UNAUTHORIZED, words);
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

fn full() -> Response<Content> {
    let words = format!(
        "Service Unavailable: {MAX_ADMITTED} connections are open, and all of them are in use\n"
    );
    let mut response = text(StatusCode::SERVICE_UNAVAILABLE, &words);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

fn unread(status: StatusCode) -> Response<Content> {
    match status {
        StatusCode::PAYLOAD_TOO_LARGE => {
            text(status, &format!("Payload Too Large: a request has at most {MAX_BODY} bytes\n"))
        }
        StatusCode::REQUEST_TIMEOUT => {
            text(status, "Request Timeout: the body did not arrive in time\n")
        }
        StatusCode::SERVICE_UNAVAILABLE => {
            text(status, "Service Unavailable: too many long requests are under way\n")
        }
        _ => text(status, "Bad Request: the body could not be read\n"),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.is_some_and(|value| value.starts_with("application/json"))
}

/// An error response if the body cannot be an MCP message.
fn no_message(bytes: &[u8]) -> Option<Response<Content>> {
    if serde_json::from_slice::<IgnoredAny>(bytes).is_err() {
        let words = "Parse error: the body is not JSON";
        return Some(rpc_error(StatusCode::BAD_REQUEST, PARSE_ERROR, words));
    }
    if bytes.trim_ascii_start().starts_with(b"[") {
        let words = "Invalid Request: send the messages of a batch one by one";
        return Some(rpc_error(StatusCode::BAD_REQUEST, INVALID_REQUEST, words));
    }
    None
}
