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

use super::allowed_names::{AllowedNames, RejectedHeader};
use super::connections::{ActiveRequest, MAX_ADMITTED};
use super::request_body::{BodyMemory, MAX_BODY_BYTES, MemoryReservation, ReceivedBody};
use super::response::{PlainBody, ResponseBody, metrics_page, rpc_error, text, with_budget};
use super::sessions::HttpSessions;
use super::streams::RECONNECT_DELAY;
use super::token::BearerToken;
use super::{cors, login_pages};
use crate::handler::Handler;
use crate::response_budget::ResponseBudget;

const MCP_PATH: &str = "/mcp";
const HEALTH_PATH: &str = "/health";
const METRICS_PATH: &str = "/metrics";

const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// Error codes of JSON-RPC.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

/// Answers the requests of all connections.
pub(super) struct HttpRouter {
    names: AllowedNames,
    token: Option<BearerToken>,
    memory: BodyMemory,
    budget: Arc<ResponseBudget>,
    sessions: Arc<HttpSessions>,
    gateway: Arc<Gateway>,
    mcp: StreamableHttpService<Handler, HttpSessions>,
}

impl HttpRouter {
    pub fn new(names: AllowedNames, token: Option<BearerToken>, gateway: Arc<Gateway>) -> Self {
        let sessions = Arc::new(HttpSessions::new());
        let config = StreamableHttpServerConfig::default()
            // Hosts and origins are checked by this module instead.
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_sse_retry(Some(RECONNECT_DELAY))
            .with_max_request_body_bytes(MAX_BODY_BYTES);
        let budget = ResponseBudget::new();
        let (served, shared) = (Arc::clone(&gateway), Arc::clone(&budget));
        let handler = move || Ok(Handler::new(Arc::clone(&served), Arc::clone(&shared)));
        let mcp = StreamableHttpService::new(handler, Arc::clone(&sessions), config);
        Self { names, token, memory: BodyMemory::new(), budget, sessions, gateway, mcp }
    }

    /// The answers that clients have not read yet.
    pub fn response_budget(&self) -> &Arc<ResponseBudget> {
        &self.budget
    }

    pub fn sessions(&self) -> &HttpSessions {
        &self.sessions
    }

    /// Ends every event stream.
    pub fn stop(&self) {
        self.mcp.config.cancellation_token.cancel();
    }

    /// Answers one request, which arrived at `local_address`.
    pub async fn handle(
        &self,
        request: Request<Incoming>,
        local_address: SocketAddr,
        active_request: ActiveRequest,
    ) -> Response<ResponseBody> {
        let (response, reservation) = self.respond(request, local_address, &active_request).await;
        with_budget(response, &self.budget, reservation, active_request)
    }

    async fn respond(
        &self,
        request: Request<Incoming>,
        local_address: SocketAddr,
        active_request: &ActiveRequest,
    ) -> (Response<PlainBody>, MemoryReservation) {
        if request.uri().path() == HEALTH_PATH {
            return (health(request.method()), MemoryReservation::default());
        }
        if let Err(rejected) = self.names.check(request.uri(), request.headers(), local_address) {
            return (forbidden(rejected), MemoryReservation::default());
        }
        if login_pages::is_login_path(request.uri().path())
            && let Some(logins) = self.gateway.user_logins()
        {
            let page = login_pages::respond(logins, request, &self.memory).await;
            return (page, MemoryReservation::default());
        }
        let origin = cors::origin(request.headers());
        let (mut response, reservation) = match self.early_response(&request) {
            Some(refusal) => (refusal, MemoryReservation::default()),
            None if active_request.admit().is_err() => {
                (too_many_connections(), MemoryReservation::default())
            }
            None if request.uri().path() == METRICS_PATH => {
                (self.metrics(request.method()), MemoryReservation::default())
            }
            None => self.serve(request).await,
        };
        if let Some(origin) = origin {
            cors::allow_origin(response.headers_mut(), origin);
        }
        (response, reservation)
    }

    /// The response that follows from path and headers alone, if there is one: a refusal, or the
    /// answer to a preflight request.
    fn early_response(&self, request: &Request<Incoming>) -> Option<Response<PlainBody>> {
        if !matches!(request.uri().path(), MCP_PATH | METRICS_PATH) {
            return Some(text(StatusCode::NOT_FOUND, "Not Found: MCP is served at /mcp\n"));
        }
        // A browser sends the preflight request without the token.
        if let Some(preflight) = cors::preflight(request) {
            return Some(preflight);
        }
        if let Some(token) = &self.token
            && !token.is_sent_in(request.headers())
        {
            return Some(unauthorized());
        }
        if request.headers().get_all(SESSION_HEADER).iter().count() > 1 {
            let message = "Bad Request: more than one Mcp-Session-Id\n";
            return Some(text(StatusCode::BAD_REQUEST, message));
        }
        None
    }

    fn metrics(&self, method: &Method) -> Response<PlainBody> {
        match *method {
            Method::GET | Method::HEAD => metrics_page(self.gateway.metrics()),
            _ => method_not_allowed(),
        }
    }

    async fn serve(&self, request: Request<Incoming>) -> (Response<PlainBody>, MemoryReservation) {
        let (head, body) = request.into_parts();
        if head.method != Method::POST {
            let request = Request::from_parts(head, Full::new(Bytes::new()));
            return (self.mcp.handle(request).await, MemoryReservation::default());
        }
        let ReceivedBody { bytes, reservation } = match self.memory.read(body).await {
            Ok(read) => read,
            Err(status) => return (body_error(status), MemoryReservation::default()),
        };
        let says_json = is_json(&head.headers);
        if says_json && let Some(refusal) = invalid_message(&bytes) {
            return (refusal, reservation);
        }
        let response = self.mcp.handle(Request::from_parts(head, Full::new(bytes))).await;
        if says_json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            // This is how rmcp responds to JSON that is not an MCP message.
            let message = "Invalid Request: this is not an MCP message";
            return (rpc_error(StatusCode::BAD_REQUEST, INVALID_REQUEST, message), reservation);
        }
        (response, reservation)
    }
}

fn health(method: &Method) -> Response<PlainBody> {
    match *method {
        Method::GET | Method::HEAD => text(StatusCode::OK, "ok"),
        _ => method_not_allowed(),
    }
}

fn method_not_allowed() -> Response<PlainBody> {
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed\n");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}

fn forbidden(rejected: RejectedHeader) -> Response<PlainBody> {
    let message = match rejected {
        RejectedHeader::Host => {
            "Forbidden: the Host of this request is not allowed; `onecall serve --allow-host` \
             adds one\n"
        }
        RejectedHeader::Origin => {
            "Forbidden: the Origin of this request is not allowed; `onecall serve --allow-origin` \
             adds one\n"
        }
    };
    text(StatusCode::FORBIDDEN, message)
}

fn unauthorized() -> Response<PlainBody> {
    let message = "Unauthorized: send the token as 'Authorization: Bearer TOKEN'\n";
    let mut response = text(StatusCode::UNAUTHORIZED, message);
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

fn too_many_connections() -> Response<PlainBody> {
    let message = format!(
        "Service Unavailable: {MAX_ADMITTED} connections are open, and all of them are in use\n"
    );
    let mut response = text(StatusCode::SERVICE_UNAVAILABLE, &message);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

fn body_error(status: StatusCode) -> Response<PlainBody> {
    match status {
        StatusCode::PAYLOAD_TOO_LARGE => text(
            status,
            &format!("Payload Too Large: a request has at most {MAX_BODY_BYTES} bytes\n"),
        ),
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
fn invalid_message(bytes: &[u8]) -> Option<Response<PlainBody>> {
    if serde_json::from_slice::<IgnoredAny>(bytes).is_err() {
        let message = "Parse error: the body is not JSON";
        return Some(rpc_error(StatusCode::BAD_REQUEST, PARSE_ERROR, message));
    }
    if bytes.trim_ascii_start().starts_with(b"[") {
        let message = "Invalid Request: send the messages of a batch one by one";
        return Some(rpc_error(StatusCode::BAD_REQUEST, INVALID_REQUEST, message));
    }
    None
}
