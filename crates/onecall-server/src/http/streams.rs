//! The running requests of every MCP session, and the connections that wait for their answers.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::Stream;
use onecall_core::UserName;
use rmcp::model::{RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId};
use tokio::sync::Notify;

/// The largest number of sessions. Beyond that, the least recently used one that is not in use is
/// closed.
const MAX_SESSIONS: usize = 1_000;

/// The largest number of sessions of one user, so that no user takes the sessions of others away.
const MAX_SESSIONS_PER_USER: usize = 100;

/// A session that is unused for this long is closed; its client will open another.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// The reconnection time that clients are given for event streams.
pub(super) const RECONNECT_DELAY: Duration = Duration::from_secs(1);

/// How long a request runs on after its client lost the connection, if the client can resume the
/// stream. A lost connection is not a cancellation, but a program whose answer is not fetched is
/// ended.
const RESUME_GRACE: Duration = Duration::from_secs(2);

/// How long a request is remembered after the connection of another gateway was lost, which may still say
/// that the client has left.
const DEPARTURE_GRACE: Duration = Duration::from_secs(10);

/// The number of sessions is at its limit, and all are in use.
pub(super) struct TooManySessions;

/// All MCP sessions.
#[derive(Default)]
pub(super) struct HttpSessionTable {
    sessions: Mutex<HashMap<SessionId, HttpSession>>,
    /// Notified when a connection was closed before its answer was sent.
    disconnected: Notify,
}

struct HttpSession {
    /// The user who has begun the session, if there are users.
    owner: Option<UserName>,
    last_used: Instant,
    streams: usize,
    next_listener: u64,
    /// Whether the client has opened a stream with GET. A client that never does cannot resume a
    /// stream.
    can_resume: bool,
    running: Vec<RunningRequest>,
}

/// A request that has not been answered yet.
struct RunningRequest {
    request: RequestId,
    /// The stream part of its event ids, by which a client resumes the stream.
    stream: Option<String>,
    /// The connection that waits for the answer.
    listener: u64,
    /// Whose connection it is.
    peer: StreamPeer,
    disconnected_at: Option<Instant>,
}

/// Who has sent a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StreamPeer {
    /// Its client.
    Client,
    /// Another gateway. That its connection is lost says nothing about the client: the gateway may have
    /// ended, and then the client asks for its answer at another one. If the client has left, the gateway
    /// says so, with the name that it has given to the request.
    Gateway(Option<String>),
}

impl StreamPeer {
    fn is_gateway(&self) -> bool {
        matches!(self, Self::Gateway(_))
    }
}

impl HttpSession {
    fn is_in_use(&self) -> bool {
        self.streams > 0 || !self.running.is_empty()
    }

    fn find(&mut self, request: &RequestId) -> Option<&mut RunningRequest> {
        self.running.iter_mut().find(|running| running.request == *request)
    }
}

impl HttpSessionTable {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, HttpSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn begin(&self, id: &SessionId, owner: Option<UserName>) {
        let session = HttpSession {
            owner,
            last_used: Instant::now(),
            streams: 0,
            next_listener: 0,
            can_resume: false,
            running: Vec::new(),
        };
        self.lock().insert(Arc::clone(id), session);
    }

    /// Whether the session with this id was begun by this user.
    pub fn is_owned_by(&self, id: &str, user: &UserName) -> bool {
        self.lock().get(id).is_some_and(|session| session.owner.as_ref() == Some(user))
    }

    /// Removes a session and returns its unanswered requests.
    pub fn end(&self, id: &SessionId) -> Vec<RequestId> {
        let closed = self.lock().remove(id);
        let running = closed.into_iter().flat_map(|session| session.running);
        running.map(|running| running.request).collect()
    }

    pub fn touch(&self, id: &SessionId) {
        if let Some(session) = self.lock().get_mut(id) {
            session.last_used = Instant::now();
        }
    }

    /// The session that has to be closed before `owner` can open another one, if there is no room.
    pub fn session_to_evict(
        &self,
        owner: Option<&UserName>,
    ) -> Result<Option<SessionId>, TooManySessions> {
        let sessions = self.lock();
        let is_own = |session: &HttpSession| owner.is_some() && session.owner.as_ref() == owner;
        let own = sessions.values().filter(|session| is_own(session)).count();
        let has_too_many = own >= MAX_SESSIONS_PER_USER;
        if sessions.len() < MAX_SESSIONS && !has_too_many {
            return Ok(None);
        }
        let unused = sessions.iter().filter(|(_, session)| !session.is_in_use());
        let unused = unused.filter(|(_, session)| !has_too_many || is_own(session));
        let longest = unused.min_by_key(|(_, session)| session.last_used);
        longest.map(|(id, _)| Some(Arc::clone(id))).ok_or(TooManySessions)
    }

    pub fn idle(&self) -> Vec<SessionId> {
        let is_idle = |session: &HttpSession| {
            !session.is_in_use() && session.last_used.elapsed() >= IDLE_TIMEOUT
        };
        let sessions = self.lock();
        sessions.iter().filter(|(_, it)| is_idle(it)).map(|(id, _)| Arc::clone(id)).collect()
    }

    /// Completes when a connection was closed before its answer was sent.
    pub async fn client_disconnected(&self) {
        self.disconnected.notified().await;
    }

    /// Takes the requests whose clients have disconnected for too long, and forgets those of other gateways.
    pub fn take_abandoned(&self) -> Vec<(SessionId, RequestId)> {
        let mut found = Vec::new();
        for (id, session) in self.lock().iter_mut() {
            let of_client = if session.can_resume { RESUME_GRACE } else { Duration::ZERO };
            session.running.retain_mut(|running| {
                let is_of_gateway = running.peer.is_gateway();
                let grace = if is_of_gateway { DEPARTURE_GRACE } else { of_client };
                if running.disconnected_at.is_none_or(|since| since.elapsed() < grace) {
                    return true;
                }
                running.disconnected_at = None;
                if !is_of_gateway {
                    found.push((Arc::clone(id), running.request.clone()));
                }
                !is_of_gateway
            });
        }
        found
    }

    /// Notes that a client has left that was connected to another gateway. Returns whether the request that
    /// it has waited for is known.
    pub fn note_departure(&self, session: &str, forwarding: &str) -> bool {
        let mut sessions = self.lock();
        let Some(session) = sessions.get_mut(session) else { return false };
        let is_meant = |running: &&mut RunningRequest| match &running.peer {
            StreamPeer::Gateway(name) => name.as_deref() == Some(forwarding),
            StreamPeer::Client => false,
        };
        let Some(running) = session.running.iter_mut().find(is_meant) else { return false };
        running.peer = StreamPeer::Client;
        running.disconnected_at.get_or_insert_with(Instant::now);
        drop(sessions);
        self.disconnected.notify_one();
        true
    }

    /// Puts back a request that could not be cancelled yet.
    pub fn put_back(&self, id: &SessionId, request: &RequestId) {
        let mut sessions = self.lock();
        if let Some(running) = sessions.get_mut(id).and_then(|session| session.find(request)) {
            running.disconnected_at.get_or_insert_with(Instant::now);
        }
    }

    pub fn forget(&self, id: &SessionId, request: &RequestId) {
        if let Some(session) = self.lock().get_mut(id) {
            session.running.retain(|running| running.request != *request);
        }
    }

    /// The request whose answer belongs to the stream of this event.
    pub fn request_of_event(&self, id: &SessionId, event_id: &str) -> Option<RequestId> {
        let stream = stream_of(event_id)?;
        let sessions = self.lock();
        let mut running = sessions.get(id)?.running.iter();
        let found = running.find(|running| running.stream.as_deref() == Some(stream))?;
        Some(found.request.clone())
    }
}

/// The stream part of an event id, which has the form `<number>/<stream>`.
fn stream_of(event_id: &str) -> Option<&str> {
    event_id.split_once('/').map(|(_, stream)| stream)
}

/// A connection that waits for the events of a session.
pub(super) struct StreamListener {
    table: Arc<HttpSessionTable>,
    session: SessionId,
    request: Option<RequestId>,
    number: u64,
}

impl StreamListener {
    /// Registers a connection that waits for the answer to a new request; `None` if an unanswered
    /// request of the session has the same id.
    pub fn for_request(
        table: &Arc<HttpSessionTable>,
        id: &SessionId,
        request: &RequestId,
        peer: StreamPeer,
    ) -> Option<Self> {
        let mut sessions = table.lock();
        let mut number = 0;
        if let Some(session) = sessions.get_mut(id) {
            // A request whose gateway has ended is sent again.
            session.running.retain(|running| {
                let is_lost = running.peer.is_gateway() && running.disconnected_at.is_some();
                !(is_lost && running.request == *request)
            });
            if session.find(request).is_some() {
                return None;
            }
            number = session.add_listener();
            let running = RunningRequest {
                request: request.clone(),
                stream: None,
                listener: number,
                peer,
                disconnected_at: None,
            };
            session.running.push(running);
        }
        let (session, request) = (Arc::clone(id), Some(request.clone()));
        Some(Self { table: Arc::clone(table), session, request, number })
    }

    /// Registers a GET connection: it waits for messages that belong to no request, or resumes the
    /// answer to a request that another connection has waited for.
    pub fn for_get(
        table: &Arc<HttpSessionTable>,
        id: &SessionId,
        request: Option<RequestId>,
        peer: StreamPeer,
    ) -> Self {
        let mut number = 0;
        if let Some(session) = table.lock().get_mut(id) {
            session.can_resume = true;
            number = session.add_listener();
            if let Some(running) = request.as_ref().and_then(|request| session.find(request)) {
                (running.listener, running.peer) = (number, peer);
                running.disconnected_at = None;
            }
        }
        Self { table: Arc::clone(table), session: Arc::clone(id), request, number }
    }

    fn observe(&mut self, event: &ServerSseMessage) {
        let is_answer = event.message.as_deref().is_some_and(|message| {
            matches!(message, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_))
        });
        if is_answer {
            return self.mark_answered();
        }
        let stream = event.event_id.as_deref().and_then(stream_of);
        let (Some(stream), Some(request)) = (stream, &self.request) else { return };
        let mut sessions = self.table.lock();
        let session = sessions.get_mut(&self.session);
        if let Some(running) = session.and_then(|session| session.find(request)) {
            running.stream.get_or_insert_with(|| stream.to_owned());
        }
    }

    pub fn mark_answered(&mut self) {
        if let Some(request) = self.request.take() {
            self.table.forget(&self.session, &request);
        }
    }
}

impl HttpSession {
    /// Registers another connection that waits for this session's events, and returns its number.
    fn add_listener(&mut self) -> u64 {
        self.streams += 1;
        self.next_listener += 1;
        self.next_listener
    }
}

impl Drop for StreamListener {
    fn drop(&mut self) {
        let mut sessions = self.table.lock();
        let Some(session) = sessions.get_mut(&self.session) else { return };
        session.streams = session.streams.saturating_sub(1);
        session.last_used = Instant::now();
        let running = self.request.as_ref().and_then(|request| session.find(request));
        if let Some(running) = running.filter(|running| running.listener == self.number) {
            running.disconnected_at = Some(Instant::now());
            self.table.disconnected.notify_one();
        }
    }
}

/// The events of a session, on their way to a client.
pub(super) struct TrackedStream {
    listener: StreamListener,
    stream: Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>,
}

impl TrackedStream {
    pub fn new(
        listener: StreamListener,
        stream: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
    ) -> Self {
        Self { listener, stream: Box::pin(stream) }
    }
}

impl Stream for TrackedStream {
    type Item = ServerSseMessage;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<ServerSseMessage>> {
        let next = self.stream.as_mut().poll_next(context);
        match &next {
            Poll::Ready(Some(event)) => self.listener.observe(event),
            Poll::Ready(None) => self.listener.mark_answered(),
            Poll::Pending => {}
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_with_many_sessions_takes_none_of_others() {
        let (anna, ben) = (UserName::from_existing("anna"), UserName::from_existing("ben"));
        let table = HttpSessionTable::default();
        let bens: SessionId = "ben-0".into();
        table.begin(&bens, Some(ben.clone()));
        for number in 0..MAX_SESSIONS_PER_USER {
            assert!(matches!(table.session_to_evict(Some(&anna)), Ok(None)));
            table.begin(&format!("anna-{number}").into(), Some(anna.clone()));
        }
        let evicted = table.session_to_evict(Some(&anna)).ok().flatten();
        assert!(evicted.is_some_and(|id| table.is_owned_by(&id, &anna)));
        assert!(matches!(table.session_to_evict(Some(&ben)), Ok(None)));
        assert!(table.is_owned_by(&bens, &ben) && !table.is_owned_by(&bens, &anna));
        assert!(!table.is_owned_by("ben-1", &ben));
        // A session in use is not closed for another.
        let listeners: Vec<_> = (0..MAX_SESSIONS_PER_USER)
            .map(|number| {
                let id: SessionId = format!("anna-{number}").into();
                let mut sessions = table.lock();
                sessions.get_mut(&id).map(HttpSession::add_listener)
            })
            .collect();
        assert_eq!(listeners.len(), MAX_SESSIONS_PER_USER);
        assert!(table.session_to_evict(Some(&anna)).is_err());
    }
}
