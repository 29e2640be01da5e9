//! Handles the messages of a server: answers are passed to the waiting requests, requests are
//! answered or passed on as questions, notifications are processed, and everything else is reported
//! as noise.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onecall_core::lines::{Edges, Line};
use onecall_core::text::plain;
use onecall_core::{Caller, ProgressReport, Refusal, Subject};
use serde_json::value::RawValue;
use tracing::{debug, warn};

use super::Peer;
use super::outlet::{Outgoing, Purpose};
use crate::error::RequestError;
use crate::protocol::incoming::{self, Message, Messages};
use crate::protocol::log_message;
use crate::protocol::progress;
use crate::protocol::question::{self, Addressee, Asked, Event};
use crate::protocol::reply::{self, Original, Reply};
use crate::protocol::request::{self, Era};
use crate::protocol::request_origin::RequestOrigin;

impl Peer {
    /// Handles a line of the server.
    pub fn receive(&self, line: Line<'_>) {
        self.receive_during(None, line);
    }

    /// Handles a line that arrived on the response stream of request `during`.
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

    /// Handles a line that is JSON except for `NaN` and infinities.
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

    fn handle(&self, during: Option<u64>, message: Message<'_>, original: Option<Original<'_>>) {
        match message {
            Message::Answer { id, outcome } => match self.pending.take(id) {
                Some(waiter) => waiter(outcome.map(|result| Reply::new(result, original))),
                None if id >= self.next_id.load(Ordering::Relaxed) => {
                    self.noise("an answer to a request that was never made", b"");
                }
                // A second answer, or the answer to a call that was cancelled in the meantime.
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
            // Notifications begin with the acknowledgement; an earlier change would have been
            // missed.
            (
                "notifications/tools/list_changed" | "notifications/subscriptions/acknowledged",
                _,
            ) => self.tools_changed.notify_one(),
            ("notifications/progress", Some(params)) => {
                let Some((id, report)) = progress::report(params) else { return };
                if let Some(RequestOrigin { name, caller }) = self.pending.origin(id)
                    && let Some(progress) = &caller.progress
                {
                    progress(ProgressReport { name: &name, message: &report, params });
                }
            }
            ("notifications/message", Some(params)) => log_message::log(&self.server, params),
            ("notifications/cancelled", Some(params)) => {
                let id = question::withdrawn(params);
                // A server without a handshake makes no requests, so the id is that of one of our
                // requests.
                if self.era() == Era::Stateless {
                    let ours = id.and_then(|id| incoming::number(id.get()));
                    ours.into_iter().for_each(|id| self.fail(id, RequestError::Cancelled));
                    return;
                }
                // If the channel is full, the cancellation is lost and the question is asked in
                // vain.
                let _ = id.map(|id| self.questions.try_send(Event::Withdrawn { id }));
            }
            _ => {}
        }
    }

    /// Queues a question of the server. Returns the line to answer at once if the question is
    /// refused.
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

    /// The client that a question of the server is for: the one whose call the question came with,
    /// or else the only one with pending calls. With several clients it returns `None` rather than
    /// a guess.
    fn caller(&self, during: Option<u64>) -> Option<Arc<Caller>> {
        if let Some(RequestOrigin { caller, .. }) = during.and_then(|id| self.pending.origin(id)) {
            return Some(caller);
        }
        self.pending.only_caller()
    }

    /// Handles a line that cannot be parsed. A malformed answer fails its call at once instead of
    /// at the deadline; any other text is only reported.
    fn receive_unreadable(&self, line: &[u8], error: &serde_json::Error) {
        self.noise("a line that is not JSON", line);
        // The line may be truncated, so its last bytes prove nothing.
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
}
