//! Streamable HTTP: every message is a POST, and its response contains the answer, as one JSON body
//! or as an event stream that can be resumed when it breaks.

use std::sync::{Arc, Weak};
use std::time::Duration;

use onecall_config::RemoteTransport;
use onecall_core::ServerName;
use onecall_core::lines::Line;
use onecall_login::Login;
use reqwest::header::{HeaderMap, HeaderName};
use reqwest::{Response, StatusCode};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tracing::debug;

use super::HttpError;
use super::body::BodyFormat;
use super::endpoint::Endpoint;
use super::events::EventParser;
use super::request_headers;
use super::resumption::Resumptions;
use super::session::{SESSION_ID, Session, SessionUse, Sessions};
use super::tasks::Tasks;
use crate::connection_options::ConnectionOptions;
use crate::error::{METHOD_NOT_FOUND, RequestError, SendError, StartError};
use crate::protocol::peer::{MessageSender, Outgoing, Peer, Purpose};
use crate::protocol::request::ProtocolMode;

/// How many calls are in progress at the same time; further ones wait.
const MAX_CALLS: usize = 128;

/// How many automatic answers to requests of the server may be in progress, so that a server cannot
/// flood the gateway with requests.
const MAX_AUTOMATIC_REPLIES: usize = 16;

/// The time limit for messages that have no answer.
const NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a stream is still read after its answer, so that its connection can be reused.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(250);

/// A stream that lasted this long does not count as a failure.
const STABLE_AFTER: Duration = Duration::from_secs(10);

/// How long the server's own stream may be silent before it is opened again.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// The time limit for ending the session.
const SESSION_END_TIMEOUT: Duration = Duration::from_secs(2);

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// A connection over streamable HTTP. Dropping it aborts all exchanges in progress.
pub(crate) struct StreamableConnection {
    peer: Arc<Peer>,
    client: Arc<StreamableClient>,
}

impl StreamableConnection {
    /// Prepares the connection; nothing is sent before the handshake. Must be called inside a tokio
    /// runtime.
    pub fn start(
        server: &ServerName,
        transport: &RemoteTransport,
        login: Option<Arc<Login>>,
        options: &ConnectionOptions,
    ) -> Result<Self, StartError> {
        let endpoint = Endpoint::new(transport, login, options)?;
        let mut client = None;
        let peer = Arc::new_cyclic(|peer| {
            let new = Arc::new(StreamableClient::new(endpoint, Weak::clone(peer)));
            client = Some(Arc::clone(&new));
            Peer::new(server.clone(), options.clone(), StreamableSender(new))
        });
        // The closure above has already run.
        let client = client.ok_or(StartError::NoClient { detail: String::new() })?;
        Ok(Self { peer, client })
    }

    pub fn peer(&self) -> &Arc<Peer> {
        &self.peer
    }

    /// Aborts all exchanges in progress and ends the session on the server.
    pub async fn stop(self) {
        self.client.tasks.close().shutdown().await;
        let session = self.client.sessions.current();
        if session.has_id() {
            let mut headers = HeaderMap::new();
            session.add_to(&mut headers);
            // A server that rejects the request ends the session by its own timeout.
            let _ = timeout(SESSION_END_TIMEOUT, self.client.endpoint.delete(headers)).await;
        }
    }
}

impl Drop for StreamableConnection {
    fn drop(&mut self) {
        drop(self.client.tasks.close());
    }
}

struct StreamableClient {
    endpoint: Endpoint,
    peer: Weak<Peer>,
    sessions: Sessions,
    tasks: Tasks,
    calls: Semaphore,
    automatic_replies: Arc<Semaphore>,
}

/// The sending side of the transport, for the peer.
struct StreamableSender(Arc<StreamableClient>);

/// A request that is waiting to be sent.
struct Post {
    id: u64,
    line: Vec<u8>,
    /// The headers that repeat parts of the request for stateless servers.
    request_headers: HeaderMap,
    /// The headers with the trace context.
    trace_headers: HeaderMap,
    session_use: SessionUse,
}

impl MessageSender for StreamableSender {
    fn allows_discovery_first(&self) -> bool {
        true
    }

    fn send(&self, message: Outgoing<'_>) -> Result<(), SendError> {
        let client = Arc::clone(&self.0);
        let peer = client.peer.upgrade().ok_or(SendError::Closed)?;
        let tasks = client.tasks.clone();
        let line = message.line;
        match message.purpose {
            Purpose::Request { id, request, trace } => {
                let session_use = client.sessions.session_use(&request);
                let trace_headers = trace.map(request_headers::trace_headers).unwrap_or_default();
                let post = Post {
                    id,
                    line,
                    request_headers: request_headers::headers(&request),
                    trace_headers,
                    session_use,
                };
                tasks.spawn_for(id, async move { client.run_request(&peer, post).await })
            }
            Purpose::Initialized => tasks.spawn(async move {
                let session = client.sessions.current();
                client.send_notification(&session, line).await;
                client.sessions.mark_open();
                client.listen(&peer, &session).await;
            }),
            Purpose::Cancellation { id } => {
                // For a stateless server, closing the connection is the cancellation.
                tasks.abandon(id);
                let session = client.sessions.current();
                if session.protocol_mode() == ProtocolMode::Stateless {
                    return Ok(());
                }
                tasks.spawn(async move { client.send_notification(&session, line).await })
            }
            Purpose::AutomaticReply | Purpose::Forwarded => {
                let permit = Arc::clone(&client.automatic_replies).try_acquire_owned();
                let Ok(permit) = permit else { return Err(SendError::Busy) };
                let session = client.sessions.current();
                tasks.spawn(async move {
                    client.send_notification(&session, line).await;
                    drop(permit);
                })
            }
        }
    }

    fn abandon(&self, id: u64) {
        self.0.tasks.abandon(id);
    }

    fn handshake_finished(&self, outcome: Result<&str, &str>) {
        self.0.sessions.handshake_finished(outcome);
    }
}

impl StreamableClient {
    fn new(endpoint: Endpoint, peer: Weak<Peer>) -> Self {
        Self {
            endpoint,
            peer: Weak::clone(&peer),
            sessions: Sessions::new(peer),
            tasks: Tasks::new(),
            calls: Semaphore::new(MAX_CALLS),
            automatic_replies: Arc::new(Semaphore::new(MAX_AUTOMATIC_REPLIES)),
        }
    }

    /// Sends a request and makes sure that it gets an answer or an error.
    async fn run_request(&self, peer: &Peer, post: Post) {
        let id = post.id;
        if let Err(error) = self.request(peer, post).await {
            peer.fail(id, error);
        } else if peer.awaits(id) {
            peer.fail(id, HttpError::NotAnswered.into());
        }
    }

    async fn request(&self, peer: &Peer, post: Post) -> Result<(), RequestError> {
        if post.session_use == SessionUse::Opening {
            let response =
                self.endpoint.post(post.line, post.request_headers).await.map_err(explain)?;
            if let Some(id) = response.headers().get(SESSION_ID) {
                self.sessions.set_id(id);
            }
            return self.receive(peer, post.id, &self.sessions.current(), response).await;
        }
        let mut session = self.sessions.wait_until_open().await?;
        // A handshake needs no permit: calls that wait for the handshake could hold all of them.
        let _permit = match post.session_use {
            SessionUse::Call => self.calls.acquire().await.ok(),
            SessionUse::Opening | SessionUse::Ordinary => None,
        };
        let mut posted = self.post(&session, &post).await;
        if matches!(posted, Err(HttpError::SessionLost)) && post.session_use == SessionUse::Call {
            // The server rejected the call without processing it, so it may be sent again.
            if self.sessions.mark_lost(&session) {
                peer.report_session_lost();
            }
            session = self.sessions.wait_until_open().await?;
            posted = self.post(&session, &post).await;
        }
        self.receive(peer, post.id, &session, posted.map_err(explain)?).await
    }

    async fn post(&self, session: &Session, post: &Post) -> Result<Response, HttpError> {
        let mut headers = match session.protocol_mode() {
            ProtocolMode::Stateless => post.request_headers.clone(),
            ProtocolMode::Handshake => HeaderMap::new(),
        };
        headers.extend(post.trace_headers.clone());
        session.add_to(&mut headers);
        let posted = self.endpoint.post(post.line.clone(), headers).await;
        posted
            .map_err(|error| if is_lost(session, &error) { HttpError::SessionLost } else { error })
    }

    /// Handles the response to request `id`, which may be a stream that breaks and is resumed over
    /// another connection.
    async fn receive(
        &self,
        peer: &Peer,
        id: u64,
        session: &Session,
        response: Response,
    ) -> Result<(), RequestError> {
        if response.status() == StatusCode::ACCEPTED || response.status() == StatusCode::NO_CONTENT
        {
            return Ok(());
        }
        let (response, format) = self.endpoint.body_format(response).await?;
        if format == BodyFormat::Json {
            let body = self.endpoint.body(response).await?;
            peer.receive_during(Some(id), Line::Whole(&body));
            if peer.awaits(id) {
                let server_text = self.endpoint.quote(&body);
                return Err(HttpError::UnexpectedAnswer { server_text }.into());
            }
            return Ok(());
        }
        let mut events = EventParser::new(self.endpoint.max_message_bytes());
        let mut resumptions = Resumptions::default();
        let mut ending = self.read(peer, Some(id), &mut events, response).await;
        while peer.awaits(id) {
            if let Err(error @ RequestError::TooLarge { .. }) = ending {
                return Err(error);
            }
            let resumable =
                session.protocol_mode() == ProtocolMode::Handshake && resumptions.next(&events);
            let Some(last_id) = events.last_id().filter(|_| resumable) else {
                return ending.and(Err(HttpError::Unfinished.into()));
            };
            let mut headers = HeaderMap::new();
            session.add_to(&mut headers);
            headers.insert(LAST_EVENT_ID, last_id.clone());
            sleep(resumptions.pause(&events)).await;
            ending = match self.endpoint.stream(headers).await {
                Ok(response) => {
                    events.reconnected();
                    self.read(peer, Some(id), &mut events, response).await
                }
                Err(error @ HttpError::Refused { .. }) => return Err(error.into()),
                Err(error) => Err(error.into()),
            };
        }
        Ok(())
    }

    /// Reads a stream to its end, or until shortly after the answer to request `id`.
    async fn read(
        &self,
        peer: &Peer,
        id: Option<u64>,
        events: &mut EventParser,
        mut response: Response,
    ) -> Result<(), RequestError> {
        // The deadline of a request is enforced by the peer.
        let mut quiet_until = id.is_none().then(|| Instant::now() + IDLE_TIMEOUT);
        let mut memory = self.endpoint.memory_permit();
        let mut too_large = false;
        loop {
            let next = self.endpoint.chunk(&mut response);
            let chunk = match quiet_until {
                Some(limit) => timeout_at(limit, next).await,
                None => Ok(next.await),
            };
            let Ok(chunk) = chunk else { return Ok(()) };
            let Some(chunk) = chunk? else { return Ok(()) };
            events.feed(&chunk, |event| {
                too_large |= matches!(event.data, Line::TooLong(_));
                peer.receive_during(id, event.data);
            });
            memory.reserve(events.unfinished()).await;
            match (id, quiet_until) {
                (Some(_), _) if too_large => {
                    return Err(RequestError::TooLarge {
                        limit_bytes: self.endpoint.max_message_bytes(),
                    });
                }
                (Some(id), None) if !peer.awaits(id) => {
                    quiet_until = Some(Instant::now() + DRAIN_TIMEOUT)
                }
                (Some(_), Some(limit)) if Instant::now() >= limit => return Ok(()),
                (Some(_), _) => {}
                (None, _) => quiet_until = Some(Instant::now() + IDLE_TIMEOUT),
            }
        }
    }

    /// Reads the server's own stream until the session ends.
    async fn listen(&self, peer: &Peer, session: &Session) {
        tokio::select! {
            () = self.keep_listening(peer, session) => {}
            () = self.sessions.wait_until_replaced(session) => {}
        }
    }

    /// Keeps the server's own stream open. Returns if the server does not offer one, or closes it
    /// repeatedly.
    async fn keep_listening(&self, peer: &Peer, session: &Session) {
        let mut events = EventParser::new(self.endpoint.max_message_bytes());
        let mut resumptions = Resumptions::default();
        loop {
            let mut headers = HeaderMap::new();
            session.add_to(&mut headers);
            if let Some(last_id) = events.last_id() {
                headers.insert(LAST_EVENT_ID, last_id.clone());
            }
            let started = Instant::now();
            match self.endpoint.stream(headers).await {
                Ok(response) => {
                    events.reconnected();
                    // Whatever the reason of the end, the stream is opened again.
                    let _ = self.read(peer, None, &mut events, response).await;
                }
                Err(error @ (HttpError::Refused { .. } | HttpError::NotMcp { .. })) => {
                    debug!(%error, "the server offers no stream of its own");
                    return;
                }
                Err(_) => {}
            }
            if started.elapsed() >= STABLE_AFTER {
                resumptions = Resumptions::default();
            }
            if !resumptions.next(&events) {
                debug!("the server keeps closing its event stream; onecall continues without it");
                return;
            }
            sleep(resumptions.background_pause(&events)).await;
        }
    }

    /// Sends a message that has no answer. Errors are only logged.
    async fn send_notification(&self, session: &Session, line: Vec<u8>) {
        let mut headers = HeaderMap::new();
        session.add_to(&mut headers);
        match timeout(NOTIFICATION_TIMEOUT, self.endpoint.post(line, headers)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => debug!(%error, "the server did not accept a notification"),
            Err(_) => debug!("the server did not accept a notification in time"),
        }
    }
}

/// Whether the server says that it does not know the session. The protocol requires status 404;
/// many servers send 400 with a message.
fn is_lost(session: &Session, error: &HttpError) -> bool {
    let HttpError::Refused { status, server_text, .. } = error else { return false };
    session.has_id()
        && (*status == StatusCode::NOT_FOUND
            || *status == StatusCode::BAD_REQUEST && server_text.contains_word("session"))
}

/// Converts an HTTP error, except that an unknown method becomes a protocol error.
fn explain(error: HttpError) -> RequestError {
    match error {
        HttpError::Refused { code: Some(METHOD_NOT_FOUND), server_text, data, .. } => {
            let message = server_text.into_text();
            RequestError::Refused { code: METHOD_NOT_FOUND, message, data }
        }
        error => error.into(),
    }
}
