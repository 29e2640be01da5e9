//! HTTP+SSE, the transport of revision 2024-11-05: one long event stream carries all messages of
//! the server, and its first event names the address to which messages are posted. The session ends
//! with the stream; then the stream is opened again, and another handshake follows.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use onecall_config::RemoteTransport;
use onecall_core::ServerName;
use onecall_core::lines::Line;
use onecall_login::Login;
use reqwest::Response;
use reqwest::header::HeaderMap;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout};
use tracing::{debug, warn};

use super::HttpError;
use super::endpoint::Endpoint;
use super::events::EventParser;
use super::request_headers;
use super::session::{SessionUse, Sessions};
use super::tasks::Tasks;
use crate::connection_options::ConnectionOptions;
use crate::error::{RequestError, SendError, StartError};
use crate::protocol::peer::{MessageSender, Outgoing, Peer, Purpose};

/// How many calls are posted at the same time; further ones wait.
const MAX_CALLS: usize = 64;

/// How many automatic answers to requests of the server may be in progress.
const MAX_AUTOMATIC_REPLIES: usize = 16;

/// The number of remembered requests at which answered ones are removed.
const MAX_POSTED: usize = 1_024;

/// How long the server may take to accept a message.
const POST_TIMEOUT: Duration = Duration::from_secs(30);

/// How many streams in a row may end early before the connection is closed.
const MAX_EARLY_ENDS: u32 = 5;

/// A stream that lasted this long did not end early.
const STABLE_AFTER: Duration = Duration::from_secs(10);

/// A connection over HTTP+SSE. Dropping it aborts all exchanges in progress.
pub(crate) struct SseConnection {
    peer: Arc<Peer>,
    client: Arc<SseClient>,
    /// Set when the stream has ended and cannot be opened again.
    ended: watch::Receiver<Option<String>>,
}

impl SseConnection {
    /// Opens the stream in the background. Must be called inside a tokio runtime.
    pub fn start(
        server: &ServerName,
        transport: &RemoteTransport,
        login: Option<Arc<Login>>,
        options: &ConnectionOptions,
    ) -> Result<Self, StartError> {
        let endpoint = Endpoint::new(transport, login, options)?;
        let mut client = None;
        let peer = Arc::new_cyclic(|peer| {
            let new = Arc::new(SseClient::new(endpoint, Weak::clone(peer)));
            client = Some(Arc::clone(&new));
            Peer::new(server.clone(), options.clone(), SseSender(new))
        });
        // The closure above has already run.
        let client = client.ok_or(StartError::NoClient { detail: String::new() })?;
        let (end_sender, ended) = watch::channel(None);
        let (listener, listening) = (Arc::clone(&client), Arc::clone(&peer));
        let server = server.clone();
        let listen = async move {
            let reason = listener.listen(&listening, &server).await;
            end_sender.send_replace(Some(reason));
        };
        // The task set cannot have been closed yet.
        let _ = client.tasks.spawn(listen);
        Ok(Self { peer, client, ended })
    }

    pub fn peer(&self) -> &Arc<Peer> {
        &self.peer
    }

    /// Returns when the stream has ended for good, with the reason.
    pub async fn ended(&mut self) -> String {
        match self.ended.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default(),
            Err(_) => "was stopped".to_owned(),
        }
    }

    /// Closes the stream, which ends the session.
    pub async fn stop(self) {
        self.client.tasks.close().shutdown().await;
    }
}

impl Drop for SseConnection {
    fn drop(&mut self) {
        drop(self.client.tasks.close());
    }
}

struct SseClient {
    endpoint: Endpoint,
    sessions: Sessions,
    /// The address for messages, once the stream has named it; an error if the stream cannot be
    /// opened.
    message_endpoint: watch::Sender<Option<Result<Endpoint, HttpError>>>,
    /// The requests that were posted and whose answers are expected on the stream.
    posted: Mutex<HashSet<u64>>,
    tasks: Tasks,
    calls: Semaphore,
    automatic_replies: Arc<Semaphore>,
    peer: Weak<Peer>,
}

/// The sending side of the transport, for the peer.
struct SseSender(Arc<SseClient>);

impl MessageSender for SseSender {
    fn send(&self, message: Outgoing<'_>) -> Result<(), SendError> {
        let client = Arc::clone(&self.0);
        let peer = client.peer.upgrade().ok_or(SendError::Closed)?;
        let tasks = client.tasks.clone();
        let line = message.line;
        match message.purpose {
            Purpose::Request { id, request, trace } => {
                let session_use = client.sessions.session_use(&request);
                let trace_headers = trace.map(request_headers::trace_headers).unwrap_or_default();
                tasks.spawn_for(id, async move {
                    if let Err(error) = client.request(id, line, trace_headers, session_use).await {
                        client.posted().remove(&id);
                        peer.fail(id, error);
                    }
                })
            }
            Purpose::Initialized => tasks.spawn(async move {
                client.send_notification(line).await;
                client.sessions.mark_open();
            }),
            Purpose::Cancellation { id } => {
                tasks.abandon(id);
                client.posted().remove(&id);
                tasks.spawn(async move { client.send_notification(line).await })
            }
            Purpose::AutomaticReply | Purpose::Forwarded => {
                let permit = Arc::clone(&client.automatic_replies).try_acquire_owned();
                let Ok(permit) = permit else { return Err(SendError::Busy) };
                tasks.spawn(async move {
                    client.send_notification(line).await;
                    drop(permit);
                })
            }
        }
    }

    fn abandon(&self, id: u64) {
        self.0.tasks.abandon(id);
        self.0.posted().remove(&id);
    }

    fn may_have_arrived(&self, id: u64) -> bool {
        self.0.posted().contains(&id)
    }

    fn handshake_finished(&self, outcome: Result<&str, &str>) {
        self.0.sessions.handshake_finished(outcome);
    }
}

impl SseClient {
    fn new(endpoint: Endpoint, peer: Weak<Peer>) -> Self {
        Self {
            endpoint,
            sessions: Sessions::new(Weak::clone(&peer)),
            message_endpoint: watch::Sender::new(None),
            posted: Mutex::default(),
            tasks: Tasks::new(),
            calls: Semaphore::new(MAX_CALLS),
            automatic_replies: Arc::new(Semaphore::new(MAX_AUTOMATIC_REPLIES)),
            peer,
        }
    }

    /// Posts a request; its answer arrives on the stream.
    async fn request(
        &self,
        id: u64,
        line: Vec<u8>,
        trace_headers: HeaderMap,
        session_use: SessionUse,
    ) -> Result<(), RequestError> {
        if session_use != SessionUse::Opening {
            self.sessions.wait_until_open().await?;
        }
        // A handshake needs no permit: calls that wait for the handshake could hold all of them.
        let _permit = match session_use {
            SessionUse::Call => self.calls.acquire().await.ok(),
            SessionUse::Opening | SessionUse::Ordinary => None,
        };
        let message_endpoint = self.message_endpoint().await?;
        self.record_posted(id);
        Ok(self.post(&message_endpoint, line, trace_headers).await?)
    }

    async fn post(
        &self,
        message_endpoint: &Endpoint,
        line: Vec<u8>,
        mut headers: HeaderMap,
    ) -> Result<(), HttpError> {
        self.sessions.current().add_to(&mut headers);
        match timeout(POST_TIMEOUT, message_endpoint.post(line, headers)).await {
            Ok(response) => response.map(drop),
            Err(_) => Err(HttpError::NotAccepted { limit: POST_TIMEOUT }),
        }
    }

    /// Sends a message that has no answer. Errors are only logged.
    async fn send_notification(&self, line: Vec<u8>) {
        let delivered = match self.message_endpoint().await {
            Ok(message_endpoint) => self.post(&message_endpoint, line, HeaderMap::new()).await,
            Err(error) => Err(error),
        };
        if let Err(error) = delivered {
            debug!(%error, "the server did not accept a notification");
        }
    }

    /// Waits for the address to which messages are posted.
    async fn message_endpoint(&self) -> Result<Endpoint, HttpError> {
        let mut message_endpoint = self.message_endpoint.subscribe();
        let named = message_endpoint.wait_for(Option::is_some).await;
        // The channel cannot close: this object holds the sender.
        named.ok().and_then(|named| named.clone()).unwrap_or(Err(HttpError::StreamClosed))
    }

    /// Keeps the stream open; returns the reason when it has ended for good. A stream that ends is
    /// opened again at once. If that fails, calls must not wait here: the supervisor of the
    /// connection decides when to try again, and logs it.
    async fn listen(&self, peer: &Peer, server: &ServerName) -> String {
        let mut early_ends = 0;
        let mut opened_before = false;
        loop {
            let started = Instant::now();
            let error = match self.endpoint.stream(HeaderMap::new()).await {
                Ok(response) => self.read(peer, response, opened_before).await,
                Err(error) => error,
            };
            let was_open = matches!(self.message_endpoint.send_replace(None), Some(Ok(_)));
            if !was_open && !opened_before {
                // The error is passed to the handshake, which waits for the address.
                self.message_endpoint.send_replace(Some(Err(error)));
                return std::future::pending().await;
            }
            opened_before = true;
            self.fail_posted(peer);
            self.sessions.mark_lost(&self.sessions.current());
            early_ends = if started.elapsed() >= STABLE_AFTER { 0 } else { early_ends + 1 };
            // A pooled connection may break on reuse although the server is up.
            let is_gone = !was_open && !matches!(error, HttpError::Broken { .. });
            if is_gone || early_ends > MAX_EARLY_ENDS {
                return format!("has closed its event stream: {error}");
            }
            if early_ends <= 1 {
                warn!(%server, user = peer.user(), "the event stream of the server has ended, opening it again: {error}");
            }
        }
    }

    /// Reads the stream to its end, and returns the reason.
    async fn read(&self, peer: &Peer, mut response: Response, again: bool) -> HttpError {
        let mut events = EventParser::new(self.endpoint.max_message_bytes());
        let mut memory = self.endpoint.memory_permit();
        loop {
            let chunk = match self.endpoint.chunk(&mut response).await {
                Ok(Some(chunk)) => chunk,
                Ok(None) if self.message_endpoint.borrow().is_none() => {
                    return HttpError::NoEndpoint;
                }
                Ok(None) => return HttpError::StreamClosed,
                Err(error) => return error,
            };
            let mut foreign = None;
            events.feed(&chunk, |event| match event.name {
                "endpoint" => foreign = self.set_message_endpoint(&event.data, peer, again).err(),
                _ => peer.receive(event.data),
            });
            if let Some(error) = foreign {
                return error;
            }
            memory.reserve(events.unfinished()).await;
        }
    }

    /// Handles the event that names the address for messages.
    fn set_message_endpoint(
        &self,
        address: &Line<'_>,
        peer: &Peer,
        again: bool,
    ) -> Result<(), HttpError> {
        let Line::Whole(address) = address else { return Err(HttpError::NoEndpoint) };
        let message_endpoint = self.endpoint.at(&String::from_utf8_lossy(address))?;
        self.message_endpoint.send_replace(Some(Ok(message_endpoint)));
        if again {
            peer.report_session_lost();
        }
        Ok(())
    }

    /// Fails the requests that were posted during the last stream, because their answers are lost.
    fn fail_posted(&self, peer: &Peer) {
        for id in std::mem::take(&mut *self.posted()) {
            peer.fail(id, HttpError::StreamClosed.into());
        }
    }

    fn record_posted(&self, id: u64) {
        let mut posted = self.posted();
        posted.insert(id);
        if posted.len() > MAX_POSTED
            && let Some(peer) = self.peer.upgrade()
        {
            posted.retain(|id| peer.awaits(*id));
        }
    }

    fn posted(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.posted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
