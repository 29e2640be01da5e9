//! The sessions of clients that speak a revision with sessions (before 2026-07-28).
//! rmcp keeps them; this bounds how many there are and how long, and ends a program
//! whose client has left and does not come back for its answer.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::Stream;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionConfig,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use thiserror::Error;
use tokio::time::timeout;

/// How many sessions there are at most. Beyond that, the one that was not used for
/// the longest time has to go.
const MAX_SESSIONS: usize = 1_000;

/// A session that is not used for this long is closed; its client will open another.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// How soon a client whose connection broke is asked to come back.
pub(super) const RETRY: Duration = Duration::from_secs(1);

/// How long an answer is kept for a client that lost its connection. A connection
/// that breaks is not a cancellation, but a program does not run for nobody.
const GRACE: Duration = Duration::from_secs(5);

/// How often sessions are looked after.
const ROUND: Duration = Duration::from_millis(500);

/// How long a session may take to accept a message: one whose client does not read
/// what it is sent does nothing else.
const BUSY: Duration = Duration::from_secs(10);

/// The same, for messages of our own, which others wait for.
const PATIENCE: Duration = Duration::from_secs(1);

/// All sessions.
pub(super) struct Sessions {
    local: LocalSessionManager,
    open: Arc<Open>,
}

/// Why a session does not do what it should.
#[derive(Debug, Error)]
pub(super) enum SessionsError {
    #[error("there are too many sessions, and all of them are in use")]
    Full,
    #[error("the session is busy")]
    Busy,
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

#[derive(Default)]
struct Open {
    sessions: Mutex<HashMap<SessionId, Session>>,
}

struct Session {
    last_used: Instant,
    streams: usize,
    next_holder: u64,
    running: Vec<Running>,
}

/// A request that was not answered yet.
struct Running {
    request: RequestId,
    /// The second half of its events' ids, by which a client asks for it again.
    stream: Option<String>,
    /// The connection that waits for it.
    holder: u64,
    left: Option<Instant>,
}

impl Sessions {
    pub fn new() -> Self {
        let mut config = SessionConfig::default();
        config.sse_retry = Some(RETRY);
        // What is idle is decided here: a client that listens is not.
        config.keep_alive = None;
        let mut local = LocalSessionManager::default();
        local.session_config = config;
        Self { local, open: Arc::default() }
    }

    /// Ends what nobody waits for any more, again and again.
    pub async fn tend(&self) -> Infallible {
        loop {
            tokio::time::sleep(ROUND).await;
            for (id, request) in self.open.forsaken() {
                if self.cancel(&id, request.clone()).await.is_ok() {
                    self.open.forget(&id, &request);
                }
            }
            for id in self.open.idle() {
                // It is gone from the list either way.
                let _ = self.close_session(&id).await;
            }
        }
    }

    async fn cancel(&self, id: &SessionId, request: RequestId) -> Result<(), SessionsError> {
        let reason = "the client has left".to_owned();
        let cancelled = CancelledNotificationParam::new(Some(request), Some(reason));
        let cancelled =
            ClientNotification::CancelledNotification(CancelledNotification::new(cancelled));
        let message = ClientJsonRpcMessage::notification(cancelled);
        let accepted = timeout(PATIENCE, self.accept_message(id, message)).await;
        accepted.unwrap_or(Err(SessionsError::Busy))
    }

    fn followed(
        held: Held,
        stream: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
    ) -> Followed {
        Followed { held, stream: Box::pin(stream) }
    }
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionsError> {
        if let Some(longest_unused) = self.open.crowded_out()? {
            self.close_session(&longest_unused).await?;
        }
        let (id, transport) = self.local.create_session().await?;
        self.open.lock().insert(Arc::clone(&id), Session::new());
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionsError> {
        Ok(self.local.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionsError> {
        self.open.touch(id);
        Ok(self.local.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionsError> {
        let closed = self.open.lock().remove(id);
        // Without this, rmcp would give programs some seconds to end by themselves.
        for running in closed.into_iter().flat_map(|session| session.running) {
            let _ = self.cancel(id, running.request).await;
        }
        // One that is too busy to listen ends when it notices that it was forgotten.
        timeout(PATIENCE, self.local.close_session(id)).await.unwrap_or(Ok(()))?;
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let request = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        // Before it is sent: the client may leave at any moment.
        let mut held = Held::new(&self.open, id, request);
        match self.local.create_stream(id, message).await {
            Ok(stream) => Ok(Self::followed(held, stream)),
            Err(error) => {
                held.answered();
                Err(error.into())
            }
        }
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionsError> {
        match timeout(BUSY, self.local.accept_message(id, message)).await {
            Ok(accepted) => Ok(accepted?),
            Err(_) => Err(SessionsError::Busy),
        }
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let held = Held::new(&self.open, id, None);
        Ok(Self::followed(held, self.local.create_standalone_stream(id).await?))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let request = stream_of(&last_event_id).and_then(|stream| self.open.request(id, stream));
        let held = Held::new(&self.open, id, request);
        Ok(Self::followed(held, self.local.resume(id, last_event_id).await?))
    }
}

/// Event ids of answers are `<number>/<stream>`.
fn stream_of(event_id: &str) -> Option<&str> {
    event_id.split_once('/').map(|(_, stream)| stream)
}

impl Session {
    fn new() -> Self {
        Self { last_used: Instant::now(), streams: 0, next_holder: 0, running: Vec::new() }
    }

    fn is_in_use(&self) -> bool {
        self.streams > 0 || !self.running.is_empty()
    }
}

impl Open {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self, id: &SessionId) {
        if let Some(session) = self.lock().get_mut(id) {
            session.last_used = Instant::now();
        }
    }

    /// Who has to go before another one can come.
    fn crowded_out(&self) -> Result<Option<SessionId>, SessionsError> {
        let sessions = self.lock();
        if sessions.len() < MAX_SESSIONS {
            return Ok(None);
        }
        let unused = sessions.iter().filter(|(_, session)| !session.is_in_use());
        let longest = unused.min_by_key(|(_, session)| session.last_used);
        longest.map(|(id, _)| Some(Arc::clone(id))).ok_or(SessionsError::Full)
    }

    fn idle(&self) -> Vec<SessionId> {
        let is_idle =
            |session: &Session| !session.is_in_use() && session.last_used.elapsed() >= IDLE;
        let sessions = self.lock();
        sessions.iter().filter(|(_, it)| is_idle(it)).map(|(id, _)| Arc::clone(id)).collect()
    }

    /// The requests whose clients did not come back.
    fn forsaken(&self) -> Vec<(SessionId, RequestId)> {
        let mut found = Vec::new();
        for (id, session) in self.lock().iter() {
            for running in &session.running {
                if running.left.is_some_and(|left| left.elapsed() >= GRACE) {
                    found.push((Arc::clone(id), running.request.clone()));
                }
            }
        }
        found
    }

    fn forget(&self, id: &SessionId, request: &RequestId) {
        if let Some(session) = self.lock().get_mut(id) {
            session.running.retain(|running| running.request != *request);
        }
    }

    /// The request whose answer comes on this stream.
    fn request(&self, id: &SessionId, stream: &str) -> Option<RequestId> {
        let sessions = self.lock();
        let mut running = sessions.get(id)?.running.iter();
        let found = running.find(|running| running.stream.as_deref() == Some(stream))?;
        Some(found.request.clone())
    }
}

/// A connection that waits for a session's events.
struct Held {
    open: Arc<Open>,
    session: SessionId,
    request: Option<RequestId>,
    number: u64,
}

impl Held {
    fn new(open: &Arc<Open>, id: &SessionId, request: Option<RequestId>) -> Self {
        let mut number = 0;
        if let Some(session) = open.lock().get_mut(id) {
            session.streams += 1;
            session.next_holder += 1;
            number = session.next_holder;
            if let Some(request) = &request {
                match session.running.iter_mut().find(|running| running.request == *request) {
                    Some(running) => {
                        running.holder = number;
                        running.left = None;
                    }
                    None => session.running.push(Running {
                        request: request.clone(),
                        stream: None,
                        holder: number,
                        left: None,
                    }),
                }
            }
        }
        Self { open: Arc::clone(open), session: Arc::clone(id), request, number }
    }

    fn saw(&mut self, event: &ServerSseMessage) {
        let is_answer = event.message.as_deref().is_some_and(|message| {
            matches!(message, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_))
        });
        if is_answer {
            return self.answered();
        }
        let stream = event.event_id.as_deref().and_then(stream_of);
        let (Some(stream), Some(request)) = (stream, &self.request) else { return };
        if let Some(session) = self.open.lock().get_mut(&self.session) {
            let mut running = session.running.iter_mut();
            if let Some(running) = running.find(|running| running.request == *request) {
                running.stream.get_or_insert_with(|| stream.to_owned());
            }
        }
    }

    fn answered(&mut self) {
        if let Some(request) = self.request.take() {
            self.open.forget(&self.session, &request);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut sessions = self.open.lock();
        let Some(session) = sessions.get_mut(&self.session) else { return };
        session.streams = session.streams.saturating_sub(1);
        session.last_used = Instant::now();
        for running in &mut session.running {
            if Some(&running.request) == self.request.as_ref() && running.holder == self.number {
                running.left = Some(Instant::now());
            }
        }
    }
}

/// A session's events on their way to a client.
struct Followed {
    held: Held,
    stream: Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>,
}

impl Stream for Followed {
    type Item = ServerSseMessage;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<ServerSseMessage>> {
        let next = self.stream.as_mut().poll_next(context);
        match &next {
            Poll::Ready(Some(event)) => self.held.saw(event),
            Poll::Ready(None) => self.held.answered(),
            Poll::Pending => {}
        }
        next
    }
}
