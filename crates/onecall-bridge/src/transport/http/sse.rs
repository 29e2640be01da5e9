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
use super::events::Events;
use super::mirror;
use super::session::{Kind, Sessions};
use super::tasks::Tasks;
use crate::error::{RequestError, SendError, StartError};
use crate::protocol::peer::{Outgoing, Outlet, Peer, Purpose};
use crate::setting::Setting;

/// How many calls are posted at the same time; further ones wait.
const MAX_CALLS: usize = 64;

/// How many automatic answers to requests of the server may be in progress.
const MAX_COURTESIES: usize = 16;

/// The number of remembered requests at which answered ones are removed.
const MAX_REMEMBERED: usize = 1_024;

/// How long the server may take to accept a message.
const POST: Duration = Duration::from_secs(30);

/// How many streams in a row may end early before the connection is closed.
const MAX_EARLY_ENDS: u32 = 5;

/// A stream that lasted this long did not end early.
const STEADY: Duration = Duration::from_secs(10);

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
        setting: &Setting,
    ) -> Result<Self, StartError> {
        let endpoint = Endpoint::new(transport, login, setting)?;
        let mut client = None;
        let peer = Arc::new_cyclic(|peer| {
            let new = Arc::new(SseClient::new(endpoint, Weak::clone(peer)));
            client = Some(Arc::clone(&new));
            Peer::new(server.clone(), setting.clone(), Out(new))
        });
        // The closure above has already run.
        let client = client.ok_or(StartError::NoClient { detail: String::new() })?;
        let (say, ended) = watch::channel(None);
        let (listener, listening) = (Arc::clone(&client), Arc::clone(&peer));
        let server = server.clone();
        let listen = async move {
            let reason = listener.listen(&listening, &server).await;
            say.send_replace(Some(reason));
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
    inbox: watch::Sender<Option<Result<Endpoint, HttpError>>>,
    /// The requests that were posted and whose answers are expected on the stream.
    posted: Mutex<HashSet<u64>>,
    tasks: Tasks,
    calls: Semaphore,
    courtesies: Arc<Semaphore>,
    peer: Weak<Peer>,
}

/// The sending side of the transport, for the peer.
struct Out(Arc<SseClient>);

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
                tasks.spawn_for(id, async move {
                    if let Err(error) = client.request(id, line, traced, kind).await {
                        client.posted().remove(&id);
                        peer.fail(id, error);
                    }
                })
            }
            Purpose::Initialized => tasks.spawn(async move {
                client.notice(line).await;
                client.sessions.opened();
            }),
            Purpose::Cancellation { id } => {
                tasks.abandon(id);
                client.posted().remove(&id);
                tasks.spawn(async move { client.notice(line).await })
            }
            Purpose::Courtesy | Purpose::Forwarded => {
                let permit = Arc::clone(&client.courtesies).try_acquire_owned();
                let Ok(permit) = permit else { return Err(SendError::Busy) };
                tasks.spawn(async move {
                    client.notice(line).await;
                    drop(permit);
                })
            }
        }
    }

    fn abandon(&self, id: u64) {
        self.0.tasks.abandon(id);
        self.0.posted().remove(&id);
    }

    fn has_left(&self, id: u64) -> bool {
        self.0.posted().contains(&id)
    }

    fn introduced(&self, outcome: Result<&str, &str>) {
        self.0.sessions.introduced(outcome);
    }
}

impl SseClient {
    fn new(endpoint: Endpoint, peer: Weak<Peer>) -> Self {
        Self {
            endpoint,
            sessions: Sessions::new(Weak::clone(&peer)),
            inbox: watch::Sender::new(None),
            posted: Mutex::default(),
            tasks: Tasks::new(),
            calls: Semaphore::new(MAX_CALLS),
            courtesies: Arc::new(Semaphore::new(MAX_COURTESIES)),
            peer,
        }
    }

    /// Posts a request; its answer arrives on the stream.
    async fn request(
        &self,
        id: u64,
        line: Vec<u8>,
        traced: HeaderMap,
        kind: Kind,
    ) -> Result<(), RequestError> {
        if kind != Kind::Opening {
            self.sessions.open().await?;
        }
        // A handshake needs no permit: calls that wait for the handshake could hold all of them.
        let _turn = match kind {
            Kind::Call => self.calls.acquire().await.ok(),
            Kind::Opening | Kind::Ordinary => None,
        };
        let inbox = self.inbox().await?;
        self.remember(id);
        Ok(self.post(&inbox, line, traced).await?)
    }

    async fn post(
        &self,
        inbox: &Endpoint,
        line: Vec<u8>,
        mut headers: HeaderMap,
    ) -> Result<(), HttpError> {
        self.sessions.current().add_to(&mut headers);
        match timeout(POST, inbox.post(line, headers)).await {
            Ok(response) => response.map(drop),
            Err(_) => Err(HttpError::NotTaken { limit: POST }),
        }
    }

    /// Sends a message that has no answer. Errors are only logged.
    async fn notice(&self, line: Vec<u8>) {
        let delivered = match self.inbox().await {
            Ok(inbox) => self.post(&inbox, line, HeaderMap::new()).await,
            Err(error) => Err(error),
        };
        if let Err(error) = delivered {
            debug!(%error, "the server did not take a notification");
        }
    }

    /// Waits for the address to which messages are posted.
    async fn inbox(&self) -> Result<Endpoint, HttpError> {
        let mut inbox = self.inbox.subscribe();
        let named = inbox.wait_for(Option::is_some).await;
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
            let was_open = matches!(self.inbox.send_replace(None), Some(Ok(_)));
            if !was_open && !opened_before {
                // The error is passed to the handshake, which waits for the address.
                self.inbox.send_replace(Some(Err(error)));
                return std::future::pending().await;
            }
            opened_before = true;
            self.fail_posted(peer);
            self.sessions.lost(&self.sessions.current());
            early_ends = if started.elapsed() >= STEADY { 0 } else { early_ends + 1 };
            // A pooled connection may break on reuse although the server is up.
            let is_gone = !was_open && !matches!(error, HttpError::Broken { .. });
            if is_gone || early_ends > MAX_EARLY_ENDS {
                return format!("has closed its event stream: {error}");
            }
            if early_ends <= 1 {
                warn!(%server, "the event stream of the server has ended, opening it again: {error}");
            }
        }
    }

    /// Reads the stream to its end, and returns the reason.
    async fn read(&self, peer: &Peer, mut response: Response, again: bool) -> HttpError {
        let mut events = Events::new(self.endpoint.longest());
        let mut room = self.endpoint.room();
        loop {
            let chunk = match self.endpoint.chunk(&mut response).await {
                Ok(Some(chunk)) => chunk,
                Ok(None) if self.inbox.borrow().is_none() => return HttpError::NoEndpoint,
                Ok(None) => return HttpError::StreamClosed,
                Err(error) => return error,
            };
            let mut foreign = None;
            events.feed(&chunk, |event| match event.name {
                "endpoint" => foreign = self.named(&event.data, peer, again).err(),
                _ => peer.receive(event.data),
            });
            if let Some(error) = foreign {
                return error;
            }
            room.hold(events.unfinished()).await;
        }
    }

    /// Handles the event that names the address for messages.
    fn named(&self, address: &Line<'_>, peer: &Peer, again: bool) -> Result<(), HttpError> {
        let Line::Whole(address) = address else { return Err(HttpError::NoEndpoint) };
        let inbox = self.endpoint.at(&String::from_utf8_lossy(address))?;
        self.inbox.send_replace(Some(Ok(inbox)));
        if again {
            peer.was_forgotten();
        }
        Ok(())
    }

    /// Fails the requests that were posted during the last stream, because their answers are lost.
    fn fail_posted(&self, peer: &Peer) {
        for id in std::mem::take(&mut *self.posted()) {
            peer.fail(id, HttpError::StreamClosed.into());
        }
    }

    fn remember(&self, id: u64) {
        let mut posted = self.posted();
        posted.insert(id);
        if posted.len() > MAX_REMEMBERED
            && let Some(peer) = self.peer.upgrade()
        {
            posted.retain(|id| peer.awaits(*id));
        }
    }

    fn posted(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.posted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
