//! The JSON-RPC peer of one server: it numbers requests, matches answers to them and answers
//! requests of the server. It is independent of the transport: messages leave through a [`MessageSender`]
//! and arrive through [`Peer::receive`], so every transport (a pipe, HTTP, …) consists of a message sender
//! and a task that feeds the peer.

mod message_sender;
mod pending;
mod receive;

pub(crate) use message_sender::{MessageSender, Outgoing, Purpose};

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use onecall_config::ServerLimits;
use onecall_core::{ServerName, TraceContext};
use serde_json::value::RawValue;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{sleep_until, timeout};
use tracing::debug;

use crate::connection_options::ConnectionOptions;
use crate::error::{RequestError, SendError};
use crate::protocol::gateway_clients::GatewayClients;
use crate::protocol::question::{self, OpenQuestions, QuestionEvent};
use crate::protocol::reply::Reply;
use crate::protocol::request::{self, ProtocolMode, Request};
use crate::protocol::trace::RequestSpan;
use pending::{ExpiredRequest, PendingRequests};

/// How long a request that cannot be sent waits for the reason why the connection closed.
const CLOSE_REASON_WAIT: Duration = Duration::from_secs(2);

/// The client side of the connection to one server.
pub(crate) struct Peer {
    server: ServerName,
    options: ConnectionOptions,
    message_sender: Box<dyn MessageSender>,
    next_id: AtomicU64,
    /// Whether every request has to carry the client information, because there was no handshake.
    stateless: AtomicBool,
    pending: PendingRequests,
    tools_changed: Notify,
    /// Notified when the server acknowledges a subscription to notifications.
    acknowledged: Notify,
    session_lost: Notify,
    questions: mpsc::Sender<QuestionEvent>,
    open_questions: OpenQuestions,
    /// The receiving end of the question channel, until a task takes it to answer them.
    unanswered: Mutex<Option<mpsc::Receiver<QuestionEvent>>>,
    /// Set after the first malformed line was reported; later ones are logged at a lower level.
    invalid_line_reported: AtomicBool,
}

impl Peer {
    pub fn new(
        server: ServerName,
        options: ConnectionOptions,
        message_sender: impl MessageSender + 'static,
    ) -> Self {
        let (questions, unanswered) = question::channel();
        Self {
            server,
            options,
            message_sender: Box::new(message_sender),
            next_id: AtomicU64::new(1),
            stateless: AtomicBool::new(false),
            pending: PendingRequests::new(),
            tools_changed: Notify::new(),
            acknowledged: Notify::new(),
            session_lost: Notify::new(),
            questions,
            open_questions: OpenQuestions::default(),
            unanswered: Mutex::new(Some(unanswered)),
            invalid_line_reported: AtomicBool::new(false),
        }
    }

    /// Sends `request` and waits for the answer, which `decode` parses in place. On a timeout, or
    /// if the future is dropped, the server gets a cancellation. The limit is enforced while
    /// [`enforce_deadlines`](Self::enforce_deadlines) runs.
    pub async fn request<T: Send + 'static>(
        &self,
        request: Request<'_>,
        limit: Option<Duration>,
        decode: impl FnOnce(&RawValue) -> T + Send + 'static,
    ) -> Result<T, RequestError> {
        self.request_reply(request, limit, |reply| decode(reply.result)).await
    }

    /// Sends `request` like [`request`](Self::request), for a `decode` that also handles numbers
    /// that JSON does not have.
    pub async fn request_reply<T: Send + 'static>(
        &self,
        request: Request<'_>,
        limit: Option<Duration>,
        decode: impl FnOnce(Reply<'_>) -> T + Send + 'static,
    ) -> Result<T, RequestError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut span = RequestSpan::begin(&self.server, &request, id);
        let answer = self.exchange(id, request, limit, span.context(), decode).await;
        span.end(answer.as_ref().err());
        answer
    }

    async fn exchange<T: Send + 'static>(
        &self,
        id: u64,
        request: Request<'_>,
        limit: Option<Duration>,
        trace: Option<&TraceContext>,
        decode: impl FnOnce(Reply<'_>) -> T + Send + 'static,
    ) -> Result<T, RequestError> {
        let line = request.line_with_trace(id, self.mode_of(&request), trace);
        let (sender, receiver) = oneshot::channel();
        self.pending.add(
            id,
            limit,
            request.origin(),
            Box::new(move |answer| {
                // The receiver is gone if the request was cancelled.
                let _ = sender.send(answer.map(decode));
            }),
        )?;
        let purpose = Purpose::Request { id, request, trace };
        if let Err(error) = self.message_sender.send(Outgoing { line, purpose }) {
            // A server that stopped reading has most likely exited, and its exit status is a better
            // error than a closed pipe.
            let cause = match error {
                SendError::Closed => timeout(CLOSE_REASON_WAIT, receiver).await.ok(),
                SendError::Backlog { .. } | SendError::Busy => None,
            };
            self.pending.take(id);
            return Err(match cause.and_then(Result::ok) {
                Some(Err(RequestError::Closed { reason })) => {
                    RequestError::ClosedBeforeSending { reason }
                }
                _ => error.into(),
            });
        }
        let _cancel_on_drop =
            CancelOnDrop { peer: self, id, cancellable: request.is_cancellable() };
        let answer = receiver.await;
        // A waiter is dropped unused only when the peer itself is dropped.
        answer.unwrap_or_else(|_| Err(RequestError::Closed { reason: "it was stopped".into() }))
    }

    /// Fails requests whose time limit has passed. Never returns.
    ///
    /// One timer serves all requests: a timer for each would cost more than the rest of the call's
    /// way through this peer.
    pub async fn enforce_deadlines<T>(&self) -> T {
        loop {
            match self.expire(Instant::now()) {
                Some(next) => sleep_until(next.into()).await,
                None => self.pending.deadline_set().await,
            }
        }
    }

    /// Fails the requests whose deadline has passed; returns the next deadline.
    fn expire(&self, now: Instant) -> Option<Instant> {
        let (expired, next) = self.pending.take_expired(now);
        for ExpiredRequest { id, limit, waiter } in expired {
            let error = RequestError::NoAnswer { limit };
            self.send_cancellation(id, &error.to_string());
            waiter(Err(error));
        }
        next
    }

    /// Whether the server can be asked for its capabilities before the handshake.
    pub fn allows_discovery_first(&self) -> bool {
        self.message_sender.allows_discovery_first()
    }

    /// Sends the notification that ends the handshake.
    pub fn notify_initialized(&self) -> Result<(), RequestError> {
        let (line, purpose) = (request::initialized(), Purpose::Initialized);
        Ok(self.message_sender.send(Outgoing { line, purpose })?)
    }

    /// Records the result of the handshake: the protocol revision in use from now on, or why there
    /// is none.
    pub fn handshake_finished(&self, outcome: Result<&str, &str>) {
        if let Ok(version) = outcome {
            self.stateless
                .store(ProtocolMode::of(version) == ProtocolMode::Stateless, Ordering::Relaxed);
        }
        self.message_sender.handshake_finished(outcome);
    }

    /// Whether the server uses a handshake, as far as is known.
    pub fn protocol_mode(&self) -> ProtocolMode {
        if self.stateless.load(Ordering::Relaxed) {
            ProtocolMode::Stateless
        } else {
            ProtocolMode::Handshake
        }
    }

    /// Returns when the server has lost the session, so that another handshake is needed.
    pub async fn session_lost(&self) {
        self.session_lost.notified().await;
    }

    /// Reports that the server has lost the session.
    pub fn report_session_lost(&self) {
        self.session_lost.notify_one();
    }

    /// Whether this request is still waiting for its answer.
    pub fn awaits(&self, id: u64) -> bool {
        self.pending.contains(id)
    }

    /// Fails one request, if it is still waiting for its answer.
    pub fn fail(&self, id: u64, error: RequestError) {
        if let Some(waiter) = self.pending.take(id) {
            waiter(Err(error));
        }
    }

    /// Returns when the server has announced a change of its tools since the last call of this
    /// method. Several announcements count as one.
    pub async fn tools_changed(&self) {
        self.tools_changed.notified().await;
    }

    /// Waits until the server acknowledges a subscription to notifications.
    pub async fn subscription_acknowledged(&self) {
        self.acknowledged.notified().await;
    }

    /// The limits on what the server may send.
    pub fn limits(&self) -> &ServerLimits {
        &self.options.limits
    }

    /// The name of the user that the server belongs to, as a field of log lines.
    pub fn user(&self) -> Option<&str> {
        self.options.user_field()
    }

    /// The clients that may answer requests of the server.
    pub fn clients(&self) -> &GatewayClients {
        &self.options.clients
    }

    /// Passes the server's questions on to clients. Never returns. Each question has the time limit
    /// `limit`.
    pub async fn answer_questions<T>(&self, limit: Option<Duration>) -> T {
        let unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(unanswered) = unanswered else { return std::future::pending().await };
        let reply = |line| self.forward(line);
        question::answer_forever(unanswered, self.options.clients.clone(), limit, reply).await
    }

    /// Whether a question of the server waits for its answer.
    pub fn has_open_questions(&self) -> bool {
        !self.open_questions.is_empty()
    }

    /// Notifies the server that the client's list of root folders has changed.
    pub fn notify_roots_changed(&self) {
        if self.protocol_mode() == ProtocolMode::Handshake {
            self.forward(request::roots_changed());
        }
    }

    fn forward(&self, line: Vec<u8>) {
        let purpose = Purpose::Forwarded;
        if let Err(error) = self.message_sender.send(Outgoing { line, purpose }) {
            debug!(server = %self.server, %error, "dropped a message of the client");
        }
    }

    /// Fails every request, pending or new, with `reason`. The first reason is kept.
    pub fn close(&self, reason: &str) {
        let reason: Arc<str> = reason.into();
        for (id, waiter) in self.pending.close(&reason) {
            let reason = Arc::clone(&reason);
            waiter(Err(match self.message_sender.may_have_arrived(id) {
                true => RequestError::Closed { reason },
                false => RequestError::ClosedBeforeSending { reason },
            }));
        }
    }

    /// Sends a cancellation. If that fails, the server's answer is ignored when it arrives.
    fn send_cancellation(&self, id: u64, reason: &str) {
        let (line, purpose) = (request::cancelled(id, reason), Purpose::Cancellation { id });
        let _ = self.message_sender.send(Outgoing { line, purpose });
    }

    fn mode_of(&self, request: &Request<'_>) -> ProtocolMode {
        match request {
            Request::Initialize { .. } => ProtocolMode::Handshake,
            Request::Discover => ProtocolMode::Stateless,
            _ => self.protocol_mode(),
        }
    }
}

/// Held while a request waits. If it is dropped before the answer, it removes the request and
/// cancels it at the server.
struct CancelOnDrop<'a> {
    peer: &'a Peer,
    id: u64,
    cancellable: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.peer.pending.take(self.id).is_none() {
            return;
        }
        if self.cancellable {
            self.peer.send_cancellation(self.id, "the caller no longer waits for the answer");
        } else {
            self.peer.message_sender.abandon(self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use onecall_core::lines::Line;

    use super::*;

    struct Nowhere;

    impl MessageSender for Nowhere {
        fn send(&self, _: Outgoing<'_>) -> Result<(), SendError> {
            Ok(())
        }
    }

    /// Each line could be taken for the answer to our first request, and is not.
    #[tokio::test]
    async fn a_line_that_was_cut_off_fails_no_other_call() {
        for line in [r#"{"jsonrpc":"2.0","result":{"id":1}"#, r#"{"jsonrpc":"2.0","id":1,"#] {
            let peer = Peer::new(ServerName::new("server"), ConnectionOptions::default(), Nowhere);
            let request = Request::ListTools { cursor: None };
            let (answer, ()) = tokio::join!(
                biased;
                peer.request(request, None, |answer| answer.get().to_owned()),
                async {
                    peer.receive(Line::Whole(line.as_bytes()));
                    peer.receive(Line::Whole(br#"{"id":1,"result":"mine"}"#));
                },
            );
            assert_eq!(answer.as_deref(), Ok("\"mine\""), "{line}");
        }
    }
}
