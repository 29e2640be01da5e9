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
use super::body::Content;
use super::endpoint::Endpoint;
use super::events::Events;
use super::mirror;
use super::resumption::Resumptions;
use super::session::{Kind, SESSION_ID, Session, Sessions};
use super::tasks::Tasks;
use crate::error::{METHOD_NOT_FOUND, RequestError, SendError, StartError};
use crate::protocol::peer::{Outgoing, Outlet, Peer, Purpose};
use crate::protocol::request::Era;
use crate::setting::Setting;

/// How many calls are in progress at the same time; further ones wait.
const MAX_CALLS: usize = 128;

/// How many automatic answers to requests of the server may be in progress, so that a server cannot
/// flood the gateway with requests.
const MAX_COURTESIES: usize = 16;

/// The time limit for messages that have no answer.
const NOTICE: Duration = Duration::from_secs(10);

/// How long a stream is still read after its answer, so that its connection can be reused.
const DRAIN: Duration = Duration::from_millis(250);

/// A stream that lasted this long does not count as a failure.
const STEADY: Duration = Duration::from_secs(10);

/// How long the server's own stream may be silent before it is opened again.
const IDLE: Duration = Duration::from_secs(300);

/// The time limit for ending the session.
const FAREWELL: Duration = Duration::from_secs(2);

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
        setting: &Setting,
    ) -> Result<Self, StartError> {
        let endpoint = Endpoint::new(transport, login, setting)?;
        let mut client = None;
        let peer = Arc::new_cyclic(|peer| {
            let new = Arc::new(StreamableClient::new(endpoint, Weak::clone(peer)));
            client = Some(Arc::clone(&new));
            Peer::new(server.clone(), setting.clone(), Out(new))
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
        if session.is_named() {
            let mut headers = HeaderMap::new();
            session.add_to(&mut headers);
            // A server that rejects the request ends the session by its own timeout.
            let _ = timeout(FAREWELL, self.client.endpoint.delete(headers)).await;
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
    courtesies: Arc<Semaphore>,
}

/// The sending side of the transport, for the peer.
struct Out(Arc<StreamableClient>);

/// A request that is waiting to be sent.
struct Post {
    id: u64,
    line: Vec<u8>,
    /// The headers that repeat parts of the request for stateless servers.
    mirrored: HeaderMap,
    /// The headers with the trace context.
    traced: HeaderMap,
    kind: Kind,
}

impl Outlet for Out {
    fn send(&self, message: Outgoing<'_>) -> Result<(), SendError> {
        let client = Arc::clone(&self.0);
        let peer = client.peer.upgrade().ok_or(SendError::Closed)?;
        let tasks = client.tasks.clone();
        let line = message.line;
        match message.purpose {
            Purpose::Request { id, request, trace } => {
                let kind = client.sessions.kind(&request);
                let traced = trace.map(mirror::trace_headers).unwrap_or_default();
                let post = Post { id, line, mirrored: mirror::headers(&request), traced, kind };
                tasks.spawn_for(id, async move { client.answer(&peer, post).await })
            }
            Purpose::Initialized => tasks.spawn(async move {
                let session = client.sessions.current();
                client.notice(&session, line).await;
                client.sessions.opened();
                client.listen(&peer, &session).await;
            }),
            Purpose::Cancellation { id } => {
                // For a stateless server, closing the connection is the cancellation.
                tasks.abandon(id);
                let session = client.sessions.current();
                if session.era() == Era::Stateless {
                    return Ok(());
                }
                tasks.spawn(async move { client.notice(&session, line).await })
            }
            Purpose::Courtesy | Purpose::Forwarded => {
                let permit = Arc::clone(&client.courtesies).try_acquire_owned();
                let Ok(permit) = permit else { return Err(SendError::Busy) };
                let session = client.sessions.current();
                tasks.spawn(async move {
                    client.notice(&session, line).await;
                    drop(permit);
                })
            }
        }
    }

    fn abandon(&self, id: u64) {
        self.0.tasks.abandon(id);
    }

    fn introduced(&self, outcome: Result<&str, &str>) {
        self.0.sessions.introduced(outcome);
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
            courtesies: Arc::new(Semaphore::new(MAX_COURTESIES)),
        }
    }

    /// Sends a request and makes sure that it gets an answer or an error.
    async fn answer(&self, peer: &Peer, post: Post) {
        let id = post.id;
        if let Err(error) = self.request(peer, post).await {
            peer.fail(id, error);
        } else if peer.awaits(id) {
            peer.fail(id, HttpError::NotAnswered.into());
        }
    }

    async fn request(&self, peer: &Peer, post: Post) -> Result<(), RequestError> {
        if post.kind == Kind::Opening {
            let response = self.endpoint.post(post.line, post.mirrored).await.map_err(explain)?;
            if let Some(id) = response.headers().get(SESSION_ID) {
                self.sessions.named(id);
            }
            return self.receive(peer, post.id, &self.sessions.current(), response).await;
        }
        let mut session = self.sessions.open().await?;
        // A handshake needs no permit: calls that wait for the handshake could hold all of them.
        let _turn = match post.kind {
            Kind::Call => self.calls.acquire().await.ok(),
            Kind::Opening | Kind::Ordinary => None,
        };
        let mut posted = self.post(&session, &post).await;
        if matches!(posted, Err(HttpError::SessionLost)) && post.kind == Kind::Call {
            // The server rejected the call without processing it, so it may be sent again.
            if self.sessions.lost(&session) {
                peer.was_forgotten();
            }
            session = self.sessions.open().await?;
            posted = self.post(&session, &post).await;
        }
        self.receive(peer, post.id, &session, posted.map_err(explain)?).await
    }

    async fn post(&self, session: &Session, post: &Post) -> Result<Response, HttpError> {
        let mut headers = match session.era() {
            Era::Stateless => post.mirrored.clone(),
            Era::Handshake => HeaderMap::new(),
        };
        headers.extend(post.traced.clone());
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
        let (response, content) = self.endpoint.content(response).await?;
        if content == Content::Json {
            let body = self.endpoint.body(response).await?;
            peer.receive_during(Some(id), Line::Whole(&body));
            if peer.awaits(id) {
                let words = self.endpoint.shown(&body);
                return Err(HttpError::OtherAnswer { words }.into());
            }
            return Ok(());
        }
        let mut events = Events::new(self.endpoint.longest());
        let mut resumptions = Resumptions::default();
        let mut ending = self.read(peer, Some(id), &mut events, response).await;
        while peer.awaits(id) {
            if let Err(error @ RequestError::TooLarge { .. }) = ending {
                return Err(error);
            }
            let resumable = session.era() == Era::Handshake && resumptions.next(&events);
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
        events: &mut Events,
        mut response: Response,
    ) -> Result<(), RequestError> {
        // The deadline of a request is enforced by the peer.
        let mut quiet_until = id.is_none().then(|| Instant::now() + IDLE);
        let mut room = self.endpoint.room();
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
            room.hold(events.unfinished()).await;
            match (id, quiet_until) {
                (Some(_), _) if too_large => {
                    return Err(RequestError::TooLarge { limit_bytes: self.endpoint.longest() });
                }
                (Some(id), None) if !peer.awaits(id) => quiet_until = Some(Instant::now() + DRAIN),
                (Some(_), Some(limit)) if Instant::now() >= limit => return Ok(()),
                (Some(_), _) => {}
                (None, _) => quiet_until = Some(Instant::now() + IDLE),
            }
        }
    }

    /// Reads the server's own stream until the session ends.
    async fn listen(&self, peer: &Peer, session: &Session) {
        tokio::select! {
            () = self.keep_listening(peer, session) => {}
            () = self.sessions.replaced(session) => {}
        }
    }

    /// Keeps the server's own stream open. Returns if the server does not offer one, or closes it
    /// repeatedly.
    async fn keep_listening(&self, peer: &Peer, session: &Session) {
        let mut events = Events::new(self.endpoint.longest());
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
            if started.elapsed() >= STEADY {
                resumptions = Resumptions::default();
            }
            if !resumptions.next(&events) {
                debug!("the server does not keep up its own stream; going on without");
                return;
            }
            sleep(resumptions.long_pause(&events)).await;
        }
    }

    /// Sends a message that has no answer. Errors are only logged.
    async fn notice(&self, session: &Session, line: Vec<u8>) {
        let mut headers = HeaderMap::new();
        session.add_to(&mut headers);
        match timeout(NOTICE, self.endpoint.post(line, headers)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => debug!(%error, "the server did not take a notification"),
            Err(_) => debug!("the server did not take a notification in time"),
        }
    }
}

/// Whether the server says that it does not know the session. The protocol requires status 404;
/// many servers send 400 with a message.
fn is_lost(session: &Session, error: &HttpError) -> bool {
    let HttpError::Refused { status, words, .. } = error else { return false };
    session.is_named()
        && (*status == StatusCode::NOT_FOUND
            || *status == StatusCode::BAD_REQUEST && words.mention("session"))
}

/// Converts an HTTP error, except that an unknown method becomes a protocol error.
fn explain(error: HttpError) -> RequestError {
    match error {
        HttpError::Refused { code: Some(METHOD_NOT_FOUND), words, .. } => {
            RequestError::Refused { code: METHOD_NOT_FOUND, message: words.into_text() }
        }
        error => error.into(),
    }
}
