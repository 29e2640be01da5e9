//! The JSON-RPC peer of one server: numbers the requests, matches the answers
//! and answers what the server asks. It knows no transport: lines leave through
//! an [`Outlet`] and come in through [`Peer::receive`], so every transport (a
//! pipe, HTTP, …) is an outlet and a task that feeds the peer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use onecall_config::ServerLimits;
use onecall_core::text::plain;
use onecall_core::{Caller, ProgressReport, Refusal, ServerName, Subject, TraceContext};
use serde_json::value::RawValue;
use tokio::sync::{Notify, mpsc, oneshot};
use tracing::{debug, warn};

use crate::error::{RequestError, SendError};
use crate::protocol::audience::Audience;
use crate::protocol::behalf::Behalf;
use crate::protocol::incoming::{self, Message, Messages};
use crate::protocol::log_message;
use crate::protocol::progress;
use crate::protocol::question::{self, Addressee, Asked, Event};
use crate::protocol::reply::{self, Original, Reply};
use crate::protocol::request::{self, Era, Request};
use crate::protocol::trace::Traced;
use crate::setting::Setting;
use crate::transport::lines::{Edges, Line};

/// How long a request that cannot be sent waits for the reason.
const CAUSE: Duration = Duration::from_secs(2);

/// The way to a server.
pub(crate) trait Outlet: Send + Sync {
    /// Sends a whole message, or nothing of it. Never waits.
    fn send(&self, message: Outgoing<'_>) -> Result<(), SendError>;

    /// Gives up a request that the server must not be told about.
    fn abandon(&self, _id: u64) {}

    /// Whether the server may have seen a request that was handed over.
    fn has_left(&self, _id: u64) -> bool {
        true
    }

    /// Learns what the handshake came to: the revision to speak from now on, or
    /// why there is none.
    fn introduced(&self, _outcome: Result<&str, &str>) {}
}

/// A message to a server.
pub(crate) struct Outgoing<'a> {
    /// As it goes over the wire, its newline included.
    pub line: Vec<u8>,
    pub purpose: Purpose<'a>,
}

/// What a message is for, to those transports that treat them differently.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose<'a> {
    /// An answer with this id is expected.
    Request { id: u64, request: Request<'a>, trace: Option<&'a TraceContext> },
    /// The last word of the handshake.
    Initialized,
    /// Nobody waits for the answer to this request any more.
    Cancellation { id: u64 },
    /// Our answer to a request of the server, which may as well get lost.
    Courtesy,
    /// A client's answer to a request of the server, or its news.
    Forwarded,
}

/// Takes the answer on the reader's task, where it can still be read in place,
/// and passes what it made of it on to the one who waits.
type Waiter = Box<dyn FnOnce(Result<Reply<'_>, RequestError>) + Send>;

/// Our end of the conversation with one server.
pub(crate) struct Peer {
    server: ServerName,
    setting: Setting,
    outlet: Box<dyn Outlet>,
    next_id: AtomicU64,
    /// Whether every request has to say who asks.
    stateless: AtomicBool,
    pending: Mutex<Pending>,
    /// Whether [`enforce_deadlines`](Self::enforce_deadlines) has a time to look again.
    watched: AtomicBool,
    deadline_set: Notify,
    tools_changed: Notify,
    forgotten: Notify,
    questions: mpsc::Sender<Event>,
    /// Until somebody answers them.
    unanswered: Mutex<Option<mpsc::Receiver<Event>>>,
    /// Set by the first line that made no sense; later ones are not news.
    noise_reported: AtomicBool,
}

enum Pending {
    Open(HashMap<u64, Expected>),
    /// No answer will ever come, for this reason.
    Closed(Arc<str>),
}

struct Expected {
    waiter: Waiter,
    deadline: Option<Deadline>,
    behalf: Option<Behalf>,
}

#[derive(Clone, Copy)]
struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Peer {
    pub fn new(server: ServerName, setting: Setting, outlet: impl Outlet + 'static) -> Self {
        let (questions, unanswered) = question::channel();
        Self {
            server,
            setting,
            outlet: Box::new(outlet),
            next_id: AtomicU64::new(1),
            stateless: AtomicBool::new(false),
            pending: Mutex::new(Pending::Open(HashMap::new())),
            watched: AtomicBool::new(false),
            deadline_set: Notify::new(),
            tools_changed: Notify::new(),
            forgotten: Notify::new(),
            questions,
            unanswered: Mutex::new(Some(unanswered)),
            noise_reported: AtomicBool::new(false),
        }
    }

    /// Sends `request` and waits for the answer, which `decode` reads in place.
    /// If the limit passes or the future is dropped, the server is told. The limit
    /// holds while [`enforce_deadlines`](Self::enforce_deadlines) runs.
    pub async fn request<T: Send + 'static>(
        &self,
        request: Request<'_>,
        limit: Option<Duration>,
        decode: impl FnOnce(&RawValue) -> T + Send + 'static,
    ) -> Result<T, RequestError> {
        self.request_reply(request, limit, |reply| decode(reply.result)).await
    }

    /// Sends `request` like [`request`](Self::request), for a `decode` that also reads numbers
    /// which JSON does not have.
    pub async fn request_reply<T: Send + 'static>(
        &self,
        request: Request<'_>,
        limit: Option<Duration>,
        decode: impl FnOnce(Reply<'_>) -> T + Send + 'static,
    ) -> Result<T, RequestError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut traced = Traced::begin(&self.server, &request, id);
        let answer = self.exchange(id, request, limit, traced.context(), decode).await;
        traced.end(answer.as_ref().err());
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
        let line = request.line_within(id, self.era_of(&request), trace);
        let (sender, receiver) = oneshot::channel();
        self.expect(
            id,
            limit,
            request.behalf(),
            Box::new(move |answer| {
                // Nobody waits any more: nothing to do.
                let _ = sender.send(answer.map(decode));
            }),
        )?;
        let purpose = Purpose::Request { id, request, trace };
        if let Err(error) = self.outlet.send(Outgoing { line, purpose }) {
            // A server that stopped listening is most likely about to end, and
            // how it ended says more than that it did.
            let cause = match error {
                SendError::Closed => tokio::time::timeout(CAUSE, receiver).await.ok(),
                SendError::Backlog { .. } | SendError::Busy => None,
            };
            self.take(id);
            return Err(match cause.and_then(Result::ok) {
                Some(Err(RequestError::Closed { reason })) => RequestError::NeverLeft { reason },
                _ => error.into(),
            });
        }
        let _ticket = Ticket { peer: self, id, cancellable: request.is_cancellable() };
        let answer = receiver.await;
        // A waiter is only dropped unused when the peer itself goes away.
        answer.unwrap_or_else(|_| Err(RequestError::Closed { reason: "it was stopped".into() }))
    }

    /// Fails requests whose limit has passed, forever.
    ///
    /// One clock serves all of them: a timer of its own would cost each call more
    /// than its way through this peer.
    pub async fn enforce_deadlines<T>(&self) -> T {
        loop {
            match self.expire(Instant::now()) {
                Some(next) => tokio::time::sleep_until(next.into()).await,
                None => self.deadline_set.notified().await,
            }
        }
    }

    /// Fails what has passed its deadline; returns the next one.
    fn expire(&self, now: Instant) -> Option<Instant> {
        let mut expired = Vec::new();
        let mut pending = self.lock();
        let next = match &mut *pending {
            Pending::Open(waiting) => {
                expired.extend(waiting.extract_if(|_, expected| {
                    expected.deadline.is_some_and(|deadline| deadline.at <= now)
                }));
                waiting.values().filter_map(|expected| Some(expected.deadline?.at)).min()
            }
            Pending::Closed(_) => None,
        };
        self.watched.store(next.is_some(), Ordering::Relaxed);
        drop(pending);
        for (id, expected) in expired {
            let limit = expected.deadline.map_or(Duration::ZERO, |deadline| deadline.limit);
            let error = RequestError::NoAnswer { limit };
            self.tell_cancelled(id, &error.to_string());
            (expected.waiter)(Err(error));
        }
        next
    }

    /// Says that the handshake is over.
    pub fn notify_initialized(&self) -> Result<(), RequestError> {
        let (line, purpose) = (request::initialized(), Purpose::Initialized);
        Ok(self.outlet.send(Outgoing { line, purpose })?)
    }

    /// Takes note of what the handshake came to: the revision that is spoken from
    /// now on, or why there is none.
    pub fn introduced(&self, outcome: Result<&str, &str>) {
        if let Ok(version) = outcome {
            self.stateless.store(Era::of(version) == Era::Stateless, Ordering::Relaxed);
        }
        self.outlet.introduced(outcome);
    }

    /// How the server wants to be spoken to, as far as is known.
    pub fn era(&self) -> Era {
        if self.stateless.load(Ordering::Relaxed) { Era::Stateless } else { Era::Handshake }
    }

    /// Returns when the server has forgotten who we are, so that another handshake
    /// is due.
    pub async fn forgotten(&self) {
        self.forgotten.notified().await;
    }

    /// The server has forgotten who we are.
    pub fn was_forgotten(&self) {
        self.forgotten.notify_one();
    }

    /// Whether somebody waits for the answer to this request.
    pub fn awaits(&self, id: u64) -> bool {
        match &*self.lock() {
            Pending::Open(waiting) => waiting.contains_key(&id),
            Pending::Closed(_) => false,
        }
    }

    /// Fails one request, if somebody still waits for its answer.
    pub fn fail(&self, id: u64, error: RequestError) {
        if let Some(waiter) = self.take(id) {
            waiter(Err(error));
        }
    }

    /// Returns when the server has said that its tools changed since the last
    /// time. However often it said so, that is once.
    pub async fn tools_changed(&self) {
        self.tools_changed.notified().await;
    }

    /// How much is taken from the server.
    pub fn limits(&self) -> &ServerLimits {
        &self.setting.limits
    }

    /// Who may be asked what the server wants to know.
    pub fn audience(&self) -> &Audience {
        &self.setting.audience
    }

    /// Passes the server's questions on, forever. Each has at most this long.
    pub async fn answer_questions<T>(&self, limit: Option<Duration>) -> T {
        let unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(unanswered) = unanswered else { return std::future::pending().await };
        let reply = |line| self.forward(line);
        question::answer_forever(unanswered, self.setting.audience.clone(), limit, reply).await
    }

    /// Tells the server that the folders the client works in have changed.
    pub fn notify_roots_changed(&self) {
        if self.era() == Era::Handshake {
            self.forward(request::roots_changed());
        }
    }

    fn forward(&self, line: Vec<u8>) {
        let purpose = Purpose::Forwarded;
        if let Err(error) = self.outlet.send(Outgoing { line, purpose }) {
            debug!(server = %self.server, %error, "a message of the client was dropped");
        }
    }

    /// Takes in a line of the server.
    pub fn receive(&self, line: Line<'_>) {
        self.receive_during(None, line);
    }

    /// The same for a line that came with the answer to request `during`.
    pub fn receive_during(&self, during: Option<u64>, line: Line<'_>) {
        match line {
            Line::Whole(line) if line.trim_ascii().is_empty() => {}
            Line::Whole(line) => match incoming::read(line) {
                Ok(messages) => self.handle_all(during, messages, None),
                Err(error) => self.receive_repaired(during, line, &error),
            },
            Line::TooLong(Edges { head, tail }) => {
                self.noise("a line that is too long", &head);
                if let Some(id) = incoming::answered_id(&head, &tail) {
                    let limit_bytes = self.limits().max_message_bytes;
                    self.fail(id, RequestError::TooLarge { limit_bytes });
                }
            }
        }
    }

    /// Takes in a line that is JSON but for NaN and infinities.
    fn receive_repaired(&self, during: Option<u64>, line: &[u8], error: &serde_json::Error) {
        let repaired = reply::repaired(line);
        match repaired.as_deref().map(|repaired| (repaired, incoming::read(repaired.as_bytes()))) {
            Some((repaired, Ok(messages))) => {
                self.handle_all(during, messages, Original::new(line, repaired));
            }
            _ => self.receive_unreadable(line, error),
        }
    }

    fn handle_all(
        &self,
        during: Option<u64>,
        messages: Messages<'_>,
        original: Option<Original<'_>>,
    ) {
        match messages {
            Messages::One(message) => self.handle(during, message, original),
            Messages::Batch(batch) => {
                batch.into_iter().for_each(|message| self.handle(during, message, original));
            }
        }
    }

    /// Fails every request, pending or new, with `reason`. The first reason stays.
    pub fn close(&self, reason: &str) {
        let mut pending = self.lock();
        let Pending::Open(waiting) = &mut *pending else { return };
        let waiting = std::mem::take(waiting);
        let reason: Arc<str> = reason.into();
        *pending = Pending::Closed(Arc::clone(&reason));
        drop(pending);
        for (id, expected) in waiting {
            let reason = Arc::clone(&reason);
            (expected.waiter)(Err(match self.outlet.has_left(id) {
                true => RequestError::Closed { reason },
                false => RequestError::NeverLeft { reason },
            }));
        }
    }

    fn handle(&self, during: Option<u64>, message: Message<'_>, original: Option<Original<'_>>) {
        match message {
            Message::Answer { id, outcome } => match self.take(id) {
                Some(waiter) => waiter(outcome.map(|result| Reply::new(result, original))),
                None if id >= self.next_id.load(Ordering::Relaxed) => {
                    self.noise("an answer to a request that was never made", b"");
                }
                // A second answer, or one to a call that was cancelled meanwhile.
                None => debug!(server = %self.server, id, "an answer nobody waits for was ignored"),
            },
            Message::Request { id, method, params } => {
                let line = match Subject::of_method(&method) {
                    _ if method == "ping" => Some(request::pong(id)),
                    Some(subject) => self.ask(during, id, subject, params),
                    None => {
                        let method = plain(&method, 100);
                        debug!(server = %self.server, method, "a request of the server was refused");
                        Some(request::refusal(id, &method))
                    }
                };
                let Some(line) = line else { return };
                let purpose = Purpose::Courtesy;
                if let Err(error) = self.outlet.send(Outgoing { line, purpose }) {
                    debug!(server = %self.server, %error, "an answer to the server was dropped");
                }
            }
            Message::Notification { method, params } => self.note(&method, params),
            Message::Nonsense => self.noise("JSON that is no message", b""),
        }
    }

    fn note(&self, method: &str, params: Option<&RawValue>) {
        match (method, params) {
            // From an acknowledgement on we are told; what changed before, nobody told us.
            (
                "notifications/tools/list_changed" | "notifications/subscriptions/acknowledged",
                _,
            ) => self.tools_changed.notify_one(),
            ("notifications/progress", Some(params)) => {
                let Some((id, report)) = progress::report(params) else { return };
                if let Some(Behalf { name, caller }) = self.behalf(id)
                    && let Some(progress) = &caller.progress
                {
                    progress(ProgressReport { name: &name, message: &report, params });
                }
            }
            ("notifications/message", Some(params)) => log_message::log(&self.server, params),
            ("notifications/cancelled", Some(params)) => {
                let id = question::withdrawn(params);
                // Without a handshake servers make no requests: it is one of ours that ends.
                if self.era() == Era::Stateless {
                    let ours = id.and_then(|id| incoming::number(id.get()));
                    ours.into_iter().for_each(|id| self.fail(id, RequestError::Cancelled));
                    return;
                }
                // One that waits for room to be asked is asked for nothing.
                let _ = id.map(|id| self.questions.try_send(Event::Withdrawn { id }));
            }
            _ => {}
        }
    }

    /// Takes a question of the server on; what to answer at once if that cannot be.
    fn ask(
        &self,
        during: Option<u64>,
        id: &RawValue,
        subject: Subject,
        params: Option<&RawValue>,
    ) -> Option<Vec<u8>> {
        let refused = |refusal| Some(question::line(id, subject, Err(refusal)));
        let question = match question::read(&self.server, subject, params) {
            Ok(question) => question,
            Err(refusal) => return refused(refusal),
        };
        let addressee = match self.caller(during) {
            Some(caller) => Addressee::Caller(caller),
            None if self.audience().is_nobody() => {
                return refused(Refusal::Unsupported(subject.method()));
            }
            None if subject == Subject::Roots => Addressee::OnlyClient,
            None => return refused(question::NOBODY),
        };
        let asked = Asked { id: id.to_owned(), question, addressee };
        match self.questions.try_send(Event::Asked(asked)) {
            Ok(()) => None,
            Err(_) => refused(question::TOO_MANY),
        }
    }

    /// Whom a question of the server is for: the one whose call it came with, else the
    /// one whose calls are under way. Never a guess between several.
    fn caller(&self, during: Option<u64>) -> Option<Arc<Caller>> {
        if let Some(Behalf { caller, .. }) = during.and_then(|id| self.behalf(id)) {
            return Some(caller);
        }
        let pending = self.lock();
        let Pending::Open(waiting) = &*pending else { return None };
        let mut callers = waiting.values().filter_map(|expected| expected.behalf.as_ref());
        let first = &callers.next()?.caller;
        callers.all(|other| other.caller.client == first.client).then(|| Arc::clone(first))
    }

    /// Whom this request of ours is made for.
    fn behalf(&self, id: u64) -> Option<Behalf> {
        match &*self.lock() {
            Pending::Open(waiting) => waiting.get(&id)?.behalf.clone(),
            Pending::Closed(_) => None,
        }
    }

    /// A broken answer fails its call at once instead of at its deadline; any
    /// other text on the wrong stream is only noise.
    fn receive_unreadable(&self, line: &[u8], error: &serde_json::Error) {
        self.noise("a line that is not JSON", line);
        // Nothing is known of its end, where it may have been cut off.
        if let Some(id) = incoming::answered_id(line, b"") {
            self.fail(id, RequestError::NotJson { detail: error.to_string() });
        }
    }

    fn noise(&self, what: &str, line: &[u8]) {
        let start = String::from_utf8_lossy(line.get(..200.min(line.len())).unwrap_or_default());
        let start = plain(&start, 100);
        if self.noise_reported.swap(true, Ordering::Relaxed) {
            debug!(server = %self.server, start, "the server sent {what}; ignored");
        } else {
            warn!(
                server = %self.server, start,
                "the server sent {what}; ignored, as further ones will be"
            );
        }
    }

    fn expect(
        &self,
        id: u64,
        limit: Option<Duration>,
        behalf: Option<&Behalf>,
        waiter: Waiter,
    ) -> Result<(), RequestError> {
        let deadline = limit.map(|limit| Deadline { at: Instant::now() + limit, limit });
        match &mut *self.lock() {
            Pending::Open(waiting) => {
                waiting.insert(id, Expected { waiter, deadline, behalf: behalf.cloned() });
            }
            Pending::Closed(reason) => {
                return Err(RequestError::NeverLeft { reason: Arc::clone(reason) });
            }
        }
        // All limits of a server are alike, so one that is watched already comes first.
        if deadline.is_some() && !self.watched.swap(true, Ordering::Relaxed) {
            self.deadline_set.notify_one();
        }
        Ok(())
    }

    fn take(&self, id: u64) -> Option<Waiter> {
        match &mut *self.lock() {
            Pending::Open(waiting) => waiting.remove(&id).map(|expected| expected.waiter),
            Pending::Closed(_) => None,
        }
    }

    /// If the server cannot be told, it will answer for nothing.
    fn tell_cancelled(&self, id: u64, reason: &str) {
        let (line, purpose) = (request::cancelled(id, reason), Purpose::Cancellation { id });
        let _ = self.outlet.send(Outgoing { line, purpose });
    }

    fn era_of(&self, request: &Request<'_>) -> Era {
        match request {
            Request::Initialize { .. } => Era::Handshake,
            Request::Discover => Era::Stateless,
            _ => self.era(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held while a request waits; dropped unanswered, it forgets the request and
/// tells the server.
struct Ticket<'a> {
    peer: &'a Peer,
    id: u64,
    cancellable: bool,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        if self.peer.take(self.id).is_none() {
            return;
        }
        if self.cancellable {
            self.peer.tell_cancelled(self.id, "nobody waits for the answer any more");
        } else {
            self.peer.outlet.abandon(self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nowhere;

    impl Outlet for Nowhere {
        fn send(&self, _: Outgoing<'_>) -> Result<(), SendError> {
            Ok(())
        }
    }

    /// Each line could be taken for the answer to our first request, and is not.
    #[tokio::test]
    async fn a_line_that_was_cut_off_fails_no_other_call() {
        for line in [r#"{"jsonrpc":"2.0","result":{"id":1}"#, r#"{"jsonrpc":"2.0","id":1,"#] {
            let peer = Peer::new(ServerName::new("server"), Setting::default(), Nowhere);
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
