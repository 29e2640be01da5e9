//! Routes HTTP requests and decides, before rmcp sees a request, whether it is authorised and
//! valid.

use std::borrow::Cow;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use onecall_core::Principal;
use onecall_gateway::{
    ALIVE_PATH, Fleet, Gateway, InvalidProof, LoginRefusal, PROOF_HEADER, ProvenRequest, UserLogins,
};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::sync::watch;

use super::active_users::ActiveUsers;
use super::allowed_names::{AllowedNames, RejectedHeader};
use super::authorization::{UserAuthorization, is_metadata_path};
use super::connections::{ActiveRequest, MAX_ADMITTED};
use super::departed_clients::{CLIENT_LEFT_PATH, DepartedClient, DepartureNotice, forwarding_name};
use super::detached_requests::DetachedRequests;
use super::forwarding::{
    Destination, destination, forward, handle_in, lost_session, unknown_destination,
};
use super::pending_requests::PendingRequests;
use super::request_body::{BodyMemory, MAX_BODY_BYTES, ReceivedBody};
use super::response::{
    KeptUntilSent, PlainBody, ResponseBody, metrics_page, rpc_error, text, with_budget,
};
use super::sessions::{HttpSessions, with_session_owner, with_stream_peer};
use super::streams::{RECONNECT_DELAY, StreamPeer};
use super::token::BearerToken;
use super::{cors, login_pages};
use crate::handler::Handler;
use crate::page::{BrowserState, MAX_FORM_BYTES, OneTimeKey, Page, PageSettings, SignIn};
use crate::response_budget::{ResponseBudget, ResponseBudgets};

const MCP_PATH: &str = "/mcp";
const HEALTH_PATH: &str = "/health";
const READY_PATH: &str = "/ready";
const METRICS_PATH: &str = "/metrics";

pub(super) const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// Error codes of JSON-RPC.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const INTERNAL_ERROR: i32 = -32603;

/// Who may send requests.
pub(super) enum Access {
    /// Everybody, as the local user.
    Open,
    /// Everybody who has this token, as the local user.
    Token(BearerToken),
    /// Users with a token of their own.
    Users(UserAuthorization),
    /// No client: there is only the page, which is opened with a key of its own.
    Page,
}

impl Access {
    /// Creates the page, if people can prove who they are. Where every process of the machine may send
    /// requests without a token there is no page; `onecall ui` shows one.
    fn page(&self, mut settings: PageSettings, gateway: &Arc<Gateway>) -> Option<Arc<Page>> {
        let sign_in = match (self, settings.owner.take()) {
            (Self::Page, Some(owner)) => SignIn::Key(OneTimeKey::new(owner)),
            (Self::Token(token), _) => SignIn::Token(token.clone()),
            (Self::Users(users), _) => SignIn::Users(Arc::clone(users.authenticator())),
            (Self::Open | Self::Page, _) => return None,
        };
        Some(Page::new(settings, sign_in, Arc::clone(gateway)))
    }
}

/// Answers the requests of all connections.
pub(super) struct HttpRouter {
    names: AllowedNames,
    access: Access,
    active_users: ActiveUsers,
    memory: BodyMemory,
    pending: PendingRequests,
    budgets: Arc<ResponseBudgets>,
    sessions: Arc<HttpSessions>,
    /// Requests without a session that other gateways have forwarded.
    detached: DetachedRequests,
    gateway: Arc<Gateway>,
    mcp: StreamableHttpService<Handler, HttpSessions>,
    page: Option<Arc<Page>>,
    /// Becomes true when event streams have to end.
    stopped: watch::Sender<bool>,
}

impl HttpRouter {
    pub fn new(
        names: AllowedNames,
        access: Access,
        page: Option<PageSettings>,
        gateway: Arc<Gateway>,
    ) -> Self {
        let gateway_id = gateway.fleet().map(|fleet| fleet.id().clone());
        let sessions = Arc::new(HttpSessions::new(gateway_id));
        let config = StreamableHttpServerConfig::default()
            // Hosts and origins are checked by this module instead.
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_sse_retry(Some(RECONNECT_DELAY))
            .with_max_request_body_bytes(MAX_BODY_BYTES);
        let budgets = match &access {
            Access::Users(_) => ResponseBudgets::for_users(),
            Access::Open | Access::Token(_) | Access::Page => ResponseBudgets::for_one_user(),
        };
        let (served, shared) = (Arc::clone(&gateway), Arc::clone(&budgets));
        let handler = move || Ok(Handler::new(Arc::clone(&served), Arc::clone(&shared)));
        let mcp = StreamableHttpService::new(handler, Arc::clone(&sessions), config);
        let (active_users, memory) = (ActiveUsers::default(), BodyMemory::new());
        let pending = PendingRequests::default();
        let page = page.and_then(|page| access.page(page, &gateway));
        let stopped = watch::Sender::new(false);
        Self {
            names,
            access,
            active_users,
            memory,
            pending,
            budgets,
            sessions,
            detached: DetachedRequests::default(),
            gateway,
            mcp,
            page,
            stopped,
        }
    }

    /// Whether agents are served, and not only the page.
    pub fn serves_mcp(&self) -> bool {
        !matches!(self.access, Access::Page)
    }

    /// The answers that clients have not read yet.
    pub fn response_budget(&self) -> &Arc<ResponseBudget> {
        self.budgets.total()
    }

    /// Closes sessions that are not used any more, and ends the requests of users who were removed.
    pub async fn maintain(&self) -> Infallible {
        match &self.access {
            Access::Users(users) => tokio::select! {
                never = self.sessions.maintain() => never,
                never = self.active_users.watch(users.authenticator(), &self.gateway) => never,
            },
            Access::Open | Access::Token(_) | Access::Page => self.sessions.maintain().await,
        }
    }

    /// Completes when no request is being answered.
    pub async fn all_answered(&self) {
        self.pending.all_answered().await;
    }

    /// Ends every event stream.
    pub fn stop(&self) {
        self.mcp.config.cancellation_token.cancel();
        self.stopped.send_replace(true);
    }

    /// Answers one request, which arrived at `local_address`.
    pub async fn handle(
        self: &Arc<Self>,
        request: Request<Incoming>,
        local_address: SocketAddr,
        active_request: ActiveRequest,
    ) -> Response<ResponseBody> {
        let Reply { response, kept } = self.respond(request, local_address, &active_request).await;
        let budget = match &kept.user {
            Some(user) => self.budgets.of(user.name()),
            None => Arc::clone(self.budgets.total()),
        };
        with_budget(response, budget, kept, active_request)
    }

    async fn respond(
        self: &Arc<Self>,
        request: Request<Incoming>,
        local_address: SocketAddr,
        active_request: &ActiveRequest,
    ) -> Reply {
        let (uri, headers) = (request.uri(), request.headers());
        if uri.path() == HEALTH_PATH {
            return health(request.method()).into();
        }
        if uri.path() == READY_PATH {
            return self.readiness(request.method()).await.into();
        }
        if let Access::Users(users) = &self.access
            && is_metadata_path(uri.path())
        {
            // Pages of every origin may read it, so only the host is checked.
            return match self.names.check_host(uri, headers, local_address) {
                Ok(()) => users.metadata(&request).into(),
                Err(rejected) => forbidden(rejected).into(),
            };
        }
        if let Some(fleet) = self.gateway.fleet()
            && let Some(proof) = headers.get(PROOF_HEADER)
        {
            return self.respond_to_gateway(fleet, proof.clone(), request, active_request).await;
        }
        if let Err(rejected) = self.names.check(uri, headers, local_address) {
            return forbidden(rejected).into();
        }
        if login_pages::is_login_path(uri.path())
            && let Some(logins) = self.gateway.user_logins()
        {
            return self.login_page(logins, &RequestOrigin::Client, request).await;
        }
        if let Some(page) = &self.page
            && Page::has_path(uri.path())
        {
            return self.respond_with_page(page, request, local_address, active_request).await;
        }
        let origin = cors::origin(headers);
        let mut reply = match self.early_response(&request) {
            Some(refusal) => refusal.into(),
            None => self.respond_to_client(request, active_request).await,
        };
        if let Some(origin) = origin {
            cors::allow_origin(reply.response.headers_mut(), origin);
        }
        reply
    }

    /// Answers a request of a browser.
    async fn respond_with_page(
        &self,
        page: &Arc<Page>,
        request: Request<Incoming>,
        local_address: SocketAddr,
        active_request: &ActiveRequest,
    ) -> Reply {
        let (head, body) = request.into_parts();
        let browser = page.browser_state(&head.headers, local_address.port()).await;
        let mut kept = KeptUntilSent::default();
        if let BrowserState::SignedIn(signed_in) = &browser {
            if active_request.admit().is_err() {
                return too_many_connections().into();
            }
            kept.user = Some(self.active_users.register(signed_in.user()));
        }
        let ReceivedBody { bytes, reservation } = match head.method {
            Method::POST => match self.memory.read(body).await {
                Ok(read) if read.bytes.len() <= MAX_FORM_BYTES => read,
                Ok(_) => return body_error(StatusCode::PAYLOAD_TOO_LARGE).into(),
                Err(status) => return body_error(status).into(),
            },
            _ => ReceivedBody::default(),
        };
        kept.memory = reservation;
        let (stopped, pending) = (self.stopped.subscribe(), self.pending.begin());
        let response = page.respond(browser, &head, &bytes, local_address, stopped).await;
        // A stream of events only ends when it is stopped.
        kept.pending = (!is_event_stream(&response)).then_some(pending);
        Reply { response, kept }
    }

    /// Answers a request for which it matters who sends it.
    async fn respond_to_client(
        self: &Arc<Self>,
        mut request: Request<Incoming>,
        active_request: &ActiveRequest,
    ) -> Reply {
        let principal = match &self.access {
            Access::Users(users) => match users.authorize(&request).await {
                Ok(principal) => Some(principal),
                Err(refusal) => return refusal.into(),
            },
            Access::Open | Access::Token(_) | Access::Page => None,
        };
        // Nothing behind this point needs the token.
        request.headers_mut().remove(AUTHORIZATION);
        if active_request.admit().is_err() {
            return too_many_connections().into();
        }
        if request.uri().path() == METRICS_PATH {
            return self.metrics(request.method(), principal.as_deref()).into();
        }
        self.serve_as(principal, RequestOrigin::Client, request).await
    }

    /// Answers a request that another gateway has forwarded, which has authorised it.
    async fn respond_to_gateway(
        self: &Arc<Self>,
        fleet: &Fleet,
        proof: HeaderValue,
        request: Request<Incoming>,
        active_request: &ActiveRequest,
    ) -> Reply {
        let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
        let proof = proof.to_str().unwrap_or_default();
        let proven = match fleet.check_proof(proof, request.method().as_str(), target) {
            Ok(proven) => proven,
            Err(error) => {
                tracing::warn!("a forwarded request is refused: {error}");
                if error == InvalidProof::OtherGateway {
                    let message = format!("Misdirected Request: {error}\n");
                    return text(StatusCode::MISDIRECTED_REQUEST, &message).into();
                }
                return text(StatusCode::FORBIDDEN, &format!("Forbidden: {error}\n")).into();
            }
        };
        if request.uri().path() == ALIVE_PATH {
            return text(StatusCode::OK, Fleet::ALIVE).into();
        }
        if active_request.admit().is_err() {
            return too_many_connections().into();
        }
        if login_pages::is_login_path(request.uri().path())
            && let Some(logins) = self.gateway.user_logins()
        {
            return self.login_page(logins, &RequestOrigin::Gateway(proven), request).await;
        }
        let principal = proven.principal.clone().map(Arc::new);
        if principal.is_some() != matches!(self.access, Access::Users(_)) {
            let message = "Forbidden: the gateways of this fleet do not have the same `users`\n";
            return text(StatusCode::FORBIDDEN, message).into();
        }
        if request.uri().path() == CLIENT_LEFT_PATH {
            return self.note_departure(principal.as_deref(), &proven, request).await;
        }
        self.serve_as(principal, RequestOrigin::Gateway(proven), request).await
    }

    /// Notes that a client has left whose request another gateway has forwarded.
    async fn note_departure(
        &self,
        principal: Option<&Principal>,
        proven: &ProvenRequest,
        request: Request<Incoming>,
    ) -> Reply {
        let read = match self.memory.read(request.into_body()).await {
            Ok(read) => read,
            Err(status) => return body_error(status).into(),
        };
        if !proven.has_body(&read.bytes) {
            return other_request().into();
        }
        let user = principal.map(|principal| &principal.user);
        let is_known = match serde_json::from_slice(&read.bytes) {
            Ok(DepartedClient { session: Some(session), forwarding }) => {
                user.is_none_or(|user| self.sessions.belongs_to(&session, user))
                    && self.sessions.note_departure(&session, &forwarding)
            }
            Ok(DepartedClient { session: None, forwarding }) => {
                self.detached.note_departure(&forwarding, user)
            }
            Err(_) => false,
        };
        match is_known {
            true => text(StatusCode::OK, "noted").into(),
            false => unknown_session().into(),
        }
    }

    /// Answers a request for a page of a login. The gateway that has begun the login answers it.
    async fn login_page(
        &self,
        logins: &UserLogins,
        origin: &RequestOrigin,
        request: Request<Incoming>,
    ) -> Reply {
        let (head, body) = request.into_parts();
        let form = match login_pages::read_form(&head, body, &self.memory).await {
            Ok(form) => form,
            Err(response) => return response.into(),
        };
        let pending = Some(self.pending.begin());
        let kept = KeptUntilSent { memory: form.reservation, pending, ..KeptUntilSent::default() };
        let response = match (origin, self.gateway.fleet()) {
            (RequestOrigin::Gateway(proven), _) if !proven.has_body(&form.bytes) => other_request(),
            (RequestOrigin::Client, Some(fleet)) => {
                match destination(fleet, &login_pages::handle_in(&head)).await {
                    Destination::Other(gateway) => {
                        forward(fleet, &gateway, head, form.bytes, None, None).await
                    }
                    Destination::Unknown => unknown_destination(),
                    // The page says that the link cannot be used.
                    Destination::Here | Destination::Lost => {
                        login_pages::respond(logins, &head, &form.bytes).await
                    }
                }
            }
            _ => login_pages::respond(logins, &head, &form.bytes).await,
        };
        Reply { response, kept }
    }

    /// Answers a request of this user, or of the only one.
    async fn serve_as(
        self: &Arc<Self>,
        principal: Option<Arc<Principal>>,
        origin: RequestOrigin,
        mut request: Request<Incoming>,
    ) -> Reply {
        let Some(principal) = principal else { return self.serve(origin, request).await };
        let user = self.active_users.register(&principal.user);
        let owner = principal.user.clone();
        request.extensions_mut().insert(principal);
        let reply = tokio::select! {
            reply = with_session_owner(owner, self.serve(origin, request)) => reply,
            () = user.removed() => return removed_user().into(),
        };
        Reply { kept: KeptUntilSent { user: Some(user), ..reply.kept }, ..reply }
    }

    /// Whether a request names no session, or one that its user has begun.
    fn may_use_session(&self, head: &Parts) -> bool {
        let Some(principal) = head.extensions.get::<Arc<Principal>>() else { return true };
        let Some(id) = head.headers.get(SESSION_HEADER) else { return true };
        id.to_str().is_ok_and(|id| self.sessions.belongs_to(id, &principal.user))
    }

    /// Where a request is answered: by the gateway that has the session that it names.
    async fn destination(&self, origin: &RequestOrigin, head: &Parts, body: &[u8]) -> Destination {
        let (Some(fleet), RequestOrigin::Client) = (self.gateway.fleet(), origin) else {
            // A request is forwarded once.
            return Destination::Here;
        };
        if let Some(id) = head.headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok()) {
            return destination(fleet, id).await;
        }
        match handle_in(body) {
            Some(handle) => match destination(fleet, &handle).await {
                // The program is told that its session is gone.
                Destination::Lost => Destination::Here,
                found => found,
            },
            None => Destination::Here,
        }
    }

    /// The response that follows from path and headers alone, if there is one: a refusal, or the
    /// answer to a preflight request.
    fn early_response(&self, request: &Request<Incoming>) -> Option<Response<PlainBody>> {
        if let Access::Page = self.access {
            return Some(text(StatusCode::NOT_FOUND, "Not Found: the page is at /page/\n"));
        }
        if !matches!(request.uri().path(), MCP_PATH | METRICS_PATH) {
            return Some(text(StatusCode::NOT_FOUND, "Not Found: MCP is served at /mcp\n"));
        }
        // A browser sends the preflight request without the token.
        if let Some(preflight) = cors::preflight(request) {
            return Some(preflight);
        }
        if let Access::Token(token) = &self.access
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

    /// Whether the gateway can take requests.
    async fn readiness(&self, method: &Method) -> Response<PlainBody> {
        match *method {
            Method::GET | Method::HEAD => match self.gateway.check_ready().await {
                Ok(()) => text(StatusCode::OK, "ready"),
                Err(reason) => {
                    text(StatusCode::SERVICE_UNAVAILABLE, &format!("not ready: {reason}\n"))
                }
            },
            _ => method_not_allowed(),
        }
    }

    /// The metrics of the gateway. With users, only administrators see them.
    fn metrics(&self, method: &Method, principal: Option<&Principal>) -> Response<PlainBody> {
        if let (Access::Users(users), Some(principal)) = (&self.access, principal)
            && !users.authenticator().is_admin(principal)
        {
            return text(StatusCode::FORBIDDEN, "Forbidden: only administrators see the metrics\n");
        }
        match *method {
            Method::GET | Method::HEAD => metrics_page(self.gateway.metrics()),
            _ => method_not_allowed(),
        }
    }

    async fn serve(self: &Arc<Self>, origin: RequestOrigin, request: Request<Incoming>) -> Reply {
        let (mut head, body) = request.into_parts();
        let ReceivedBody { bytes, reservation } = match head.method {
            Method::POST => match self.memory.read(body).await {
                Ok(read) => read,
                Err(status) => return body_error(status).into(),
            },
            _ => ReceivedBody::default(),
        };
        let kept = KeptUntilSent { memory: reservation, ..KeptUntilSent::default() };
        if let RequestOrigin::Gateway(proven) = &origin
            && !proven.has_body(&bytes)
        {
            return Reply { response: other_request(), kept };
        }
        match self.destination(&origin, &head, &bytes).await {
            Destination::Here => match origin {
                RequestOrigin::Client => {
                    with_stream_peer(StreamPeer::Client, self.serve_here(head, bytes, kept)).await
                }
                RequestOrigin::Gateway(_) => self.serve_forwarded(head, bytes, kept).await,
            },
            Destination::Lost => Reply { response: lost_session(), kept },
            Destination::Unknown => Reply { response: unknown_destination(), kept },
            Destination::Other(gateway) => {
                let Some(fleet) = self.gateway.fleet() else { return unknown_session().into() };
                let principal = head.extensions.get::<Arc<Principal>>().cloned();
                let is_answered = head.method == Method::POST;
                let pending = is_answered.then(|| self.pending.begin());
                let kept = KeptUntilSent { pending, ..kept };
                let stopped = self.stopped.subscribe();
                let departure = DepartureNotice::of(fleet, &gateway, &mut head, stopped);
                let departure = Some(departure);
                let response = forward(fleet, &gateway, head, bytes, principal, departure).await;
                Reply { response, kept }
            }
        }
    }

    /// Answers a request that another gateway has forwarded.
    async fn serve_forwarded(
        self: &Arc<Self>,
        head: Parts,
        bytes: Bytes,
        kept: KeptUntilSent,
    ) -> Reply {
        let name = forwarding_name(&head);
        if let (Some(name), false) = (&name, head.headers.contains_key(SESSION_HEADER)) {
            let principal = head.extensions.get::<Arc<Principal>>();
            let user = principal.map(|principal| self.active_users.register(&principal.user));
            let (router, name) = (Arc::clone(self), name.clone());
            let work = async move { router.serve_here(head, bytes, kept).await };
            let response = self.detached.answer(name, user, work).await;
            return response.unwrap_or_else(removed_user).into();
        }
        let peer = StreamPeer::Gateway(name);
        with_stream_peer(peer, self.serve_here(head, bytes, kept)).await
    }

    /// Answers a request for which this gateway has what it needs.
    async fn serve_here(&self, head: Parts, bytes: Bytes, kept: KeptUntilSent) -> Reply {
        if !self.may_use_session(&head) {
            return Reply { response: unknown_session(), kept };
        }
        if head.method != Method::POST {
            let ends_session = head.method == Method::DELETE;
            let mut response = self.mcp.handle(Request::from_parts(head, Full::new(bytes))).await;
            // rmcp says `202 Accepted`, which clients take for a failure: the session has ended.
            if ends_session && response.status() == StatusCode::ACCEPTED {
                *response.status_mut() = StatusCode::NO_CONTENT;
            }
            return Reply { response, kept };
        }
        let says_json = is_json(&head.headers);
        if says_json && let Some(refusal) = invalid_message(&bytes) {
            return Reply { response: refusal, kept };
        }
        if self.gateway.is_draining() && begins_work(&bytes) {
            return Reply { response: stopping(), kept };
        }
        let kept = KeptUntilSent { pending: Some(self.pending.begin()), ..kept };
        let mut response = self.mcp.handle(Request::from_parts(head, Full::new(bytes))).await;
        if says_json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            // This is how rmcp responds to JSON that is not an MCP message.
            let message = "Invalid Request: this is not an MCP message";
            response = rpc_error(StatusCode::BAD_REQUEST, INVALID_REQUEST, message);
        }
        if self.gateway.is_draining() && response.status() == StatusCode::INTERNAL_SERVER_ERROR {
            // This is how rmcp responds to a request that ends without an answer.
            let message = "Bad Gateway: this gateway stops before the program has ended; if it is durable, it \
                           goes on at another one\n";
            response = text(StatusCode::BAD_GATEWAY, message);
        }
        Reply { response, kept }
    }
}

/// Where a request comes from.
enum RequestOrigin {
    Client,
    /// Another gateway has forwarded it.
    Gateway(ProvenRequest),
}

/// A response, and what has to be kept until it is sent.
pub(super) struct Reply {
    pub(super) response: Response<PlainBody>,
    pub(super) kept: KeptUntilSent,
}

impl From<Response<PlainBody>> for Reply {
    fn from(response: Response<PlainBody>) -> Self {
        Self { response, kept: KeptUntilSent::default() }
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

/// The response of rmcp for a session that does not exist.
fn unknown_session() -> Response<PlainBody> {
    text(StatusCode::NOT_FOUND, "Not Found: Session not found")
}

/// The response to a forwarded request whose proof is for another one.
fn other_request() -> Response<PlainBody> {
    let message = format!("Forbidden: {}\n", InvalidProof::OtherRequest);
    text(StatusCode::FORBIDDEN, &message)
}

fn removed_user() -> Response<PlainBody> {
    let message = format!("Forbidden: {}\n", LoginRefusal::RemovedUser);
    text(StatusCode::FORBIDDEN, &message)
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

fn is_event_stream(response: &Response<PlainBody>) -> bool {
    let value = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    value.is_some_and(|value| value.starts_with(b"text/event-stream"))
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.is_some_and(|value| value.starts_with("application/json"))
}

/// Whether a message asks for something to be done. What finishes other work passes: responses,
/// notifications, and pings, which keep a client from leaving.
fn begins_work(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        method: Option<Cow<'a, str>>,
        id: Option<IgnoredAny>,
    }
    match serde_json::from_slice(bytes) {
        Ok(Message { method: Some(method), id: Some(_) }) => method != "ping",
        Ok(_) => false,
        Err(_) => true,
    }
}

/// The response to new work while the gateway is about to end.
fn stopping() -> Response<PlainBody> {
    let message = "this gateway is stopping; send the request again, so that another one gets it";
    let mut response = rpc_error(StatusCode::SERVICE_UNAVAILABLE, INTERNAL_ERROR, message);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
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
