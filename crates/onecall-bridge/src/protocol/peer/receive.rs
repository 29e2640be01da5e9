//! Handles the messages of a server: answers are passed to the waiting requests, requests are
//! answered or passed on as questions, notifications are processed, and everything else is reported
//! as invalid.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onecall_core::lines::{Line, TruncatedLine};
use onecall_core::text::one_line;
use onecall_core::{Caller, ProgressReport, ServerQuestionError, ServerQuestionKind};
use serde_json::value::RawValue;
use tracing::{debug, warn};

use super::Peer;
use super::message_sender::{Outgoing, Purpose};
use crate::error::RequestError;
use crate::protocol::incoming::{self, ServerMessage, ServerMessages};
use crate::protocol::log_message;
use crate::protocol::progress;
use crate::protocol::question::{self, Addressee, PendingQuestion, QuestionEvent};
use crate::protocol::reply::{self, Original, Reply};
use crate::protocol::request::{self, ProtocolMode};
use crate::protocol::request_origin::RequestOrigin;
use crate::protocol::server_events::{self, ServerEvent, ServerEventKind};

impl Peer {
    /// Handles a line of the server.
    pub fn receive(&self, line: Line<'_>) {
        self.receive_during(None, line);
    }

    /// Handles a line that arrived on the response stream of request `during`.
    pub fn receive_during(&self, during: Option<u64>, line: Line<'_>) {
        match line {
            Line::Whole(line) if line.trim_ascii().is_empty() => {}
            Line::Whole(line) => match incoming::parse_line(line) {
                Ok(messages) => self.handle_all(during, messages, None),
                Err(error) => self.receive_repaired(during, line, &error),
            },
            Line::TooLong(TruncatedLine { head, tail }) => {
                self.report_invalid_line("a line that is too long", &head);
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
        match repaired
            .as_deref()
            .map(|repaired| (repaired, incoming::parse_line(repaired.as_bytes())))
        {
            Some((repaired, Ok(messages))) => {
                self.handle_all(during, messages, Original::new(line, repaired));
            }
            _ => self.receive_unreadable(line, error),
        }
    }

    fn handle_all(
        &self,
        during: Option<u64>,
        messages: ServerMessages<'_>,
        original: Option<Original<'_>>,
    ) {
        match messages {
            ServerMessages::One(message) => self.handle(during, message, original),
            ServerMessages::Batch(batch) => {
                batch.into_iter().for_each(|message| self.handle(during, message, original));
            }
        }
    }

    fn handle(
        &self,
        during: Option<u64>,
        message: ServerMessage<'_>,
        original: Option<Original<'_>>,
    ) {
        match message {
            ServerMessage::Answer { id, outcome } => match self.pending.take(id) {
                Some(waiter) => waiter(outcome.map(|result| Reply::new(result, original))),
                None if id >= self.next_id.load(Ordering::Relaxed) => {
                    self.report_invalid_line("an answer to a request that was never made", b"");
                }
                // A second answer, or the answer to a call that was cancelled in the meantime.
                None => {
                    debug!(server = %self.server, id, "ignored an answer whose request has ended")
                }
            },
            ServerMessage::Request { id, method, params } => {
                let line = match ServerQuestionKind::from_method(&method) {
                    _ if method == "ping" => Some(request::pong(id)),
                    Some(subject) => self.queue_question(during, id, subject, params),
                    None => {
                        let method = one_line(&method, 100);
                        debug!(server = %self.server, method, "refused a request of the server");
                        Some(request::refusal(id, &method))
                    }
                };
                let Some(line) = line else { return };
                let purpose = Purpose::AutomaticReply;
                if let Err(error) = self.message_sender.send(Outgoing { line, purpose }) {
                    debug!(server = %self.server, %error, "dropped an answer to the server");
                }
            }
            ServerMessage::Notification { method, params } => {
                self.handle_notification(during, &method, params)
            }
            ServerMessage::Invalid => self.report_invalid_line("JSON that is not a message", b""),
        }
    }

    fn handle_notification(&self, during: Option<u64>, method: &str, params: Option<&RawValue>) {
        if let Some(kind) = server_events::event_kind(method, params) {
            return self.announce(kind);
        }
        match (method, params) {
            ("notifications/tools/list_changed", _) => self.tools_changed.notify_one(),
            // Notifications begin with the acknowledgement; an earlier change would have been
            // missed.
            ("notifications/subscriptions/acknowledged", _) => {
                self.acknowledged.notify_one();
                self.tools_changed.notify_one();
            }
            ("notifications/progress", Some(params)) => {
                let Some((id, report)) = progress::report(params) else { return };
                if let Some(RequestOrigin { name, caller }) = self.pending.origin(id)
                    && let Some(progress) = &caller.progress
                {
                    progress(ProgressReport { name: &name, message: &report, params });
                }
            }
            ("notifications/message", Some(params)) => {
                log_message::log(&self.server, self.options.user_field(), params);
                if let Some(log) = self.caller(during).and_then(|caller| caller.log.clone())
                    && log_message::level(params).is_some_and(|level| level >= log.level)
                {
                    (log.send)(params);
                }
            }
            ("notifications/cancelled", Some(params)) => {
                let id = question::cancelled_id(params);
                // A server without a handshake makes no requests, so the id is that of one of our
                // requests.
                if self.protocol_mode() == ProtocolMode::Stateless {
                    let ours = id.and_then(|id| incoming::parse_own_id(id.get()));
                    ours.into_iter().for_each(|id| self.fail(id, RequestError::Cancelled));
                    return;
                }
                // If the channel is full, the cancellation is lost and the question is asked in
                // vain.
                let _ = id.map(|id| self.questions.try_send(QuestionEvent::Cancelled { id }));
            }
            _ => {}
        }
    }

    /// Passes on what the server announces about its resources and prompts.
    pub fn announce(&self, kind: ServerEventKind) {
        let (server, user) = (self.server.clone(), self.options.user.clone());
        self.options.events.send(ServerEvent { server, user, kind });
    }

    /// Queues a question of the server. Returns the line to answer at once if the question is
    /// refused.
    fn queue_question(
        &self,
        during: Option<u64>,
        id: &RawValue,
        subject: ServerQuestionKind,
        params: Option<&RawValue>,
    ) -> Option<Vec<u8>> {
        let refused = |refusal| Some(question::response_line(id, subject, Err(refusal)));
        let question = match question::parse(&self.server, subject, params) {
            Ok(question) => question,
            Err(refusal) => return refused(refusal),
        };
        let addressee = match self.caller(during) {
            Some(caller) => Addressee::Caller(caller),
            None if self.clients().expects_no_client() => {
                return refused(ServerQuestionError::Unsupported(subject.method()));
            }
            None if subject == ServerQuestionKind::Roots => Addressee::OnlyClient,
            None => return refused(question::NO_CLIENT),
        };
        let open = self.open_questions.add();
        let asked = PendingQuestion { id: id.to_owned(), question, addressee, open };
        match self.questions.try_send(QuestionEvent::Asked(asked)) {
            Ok(()) => None,
            Err(_) => refused(question::TOO_MANY_QUESTIONS),
        }
    }

    /// The client that a message of the server is for: the one whose call the message came with,
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
        self.report_invalid_line("a line that is not JSON", line);
        // The line may be truncated, so its last bytes prove nothing.
        if let Some(id) = incoming::answered_id(line, b"") {
            self.fail(id, RequestError::NotJson { detail: error.to_string() });
        }
    }

    fn report_invalid_line(&self, what: &str, line: &[u8]) {
        let start = String::from_utf8_lossy(line.get(..200.min(line.len())).unwrap_or_default());
        let start = one_line(&start, 100);
        let user = self.options.user_field();
        if self.invalid_line_reported.swap(true, Ordering::Relaxed) {
            debug!(server = %self.server, user, start, "the server sent {what}; onecall ignores it");
        } else {
            warn!(
                server = %self.server, user, start,
                "the server sent {what}; onecall ignores it and logs further ones at level debug"
            );
        }
    }
}
