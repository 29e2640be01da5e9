//! The messages between the server and its client: answers, notifications, questions, and who listens
//! to what.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::Revision;

/// How long a tool waits for an answer of the client.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// A JSON-RPC error.
pub(super) struct Failure {
    code: i64,
    message: String,
    data: Option<Value>,
}

impl Failure {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(super) fn with_data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }
}

/// The result of a request, or an error.
pub(super) type Answer = Result<Value, Failure>;

/// A message of the client.
pub(super) enum Incoming {
    Request(Value),
    Notification(Value),
    Answer { id: String, answer: Value },
}

impl Incoming {
    pub(super) fn read(message: Value) -> Self {
        match (message.get("method"), message.get("id")) {
            (Some(_), Some(_)) => Self::Request(message),
            (Some(_), None) => Self::Notification(message),
            (None, id) => {
                let id = id.and_then(Value::as_str).unwrap_or_default().to_owned();
                Self::Answer { id, answer: message }
            }
        }
    }
}

#[derive(Default)]
pub(super) struct Connection {
    state: Mutex<State>,
    answered: Condvar,
}

#[derive(Default)]
struct State {
    /// The answers of the client, by the id of the question.
    answers: HashMap<String, Value>,
    questions: u64,
    /// The least severe log messages that the client wants.
    level: usize,
    watched: BTreeSet<String>,
    /// The open requests for notifications, each with what it asks for.
    listeners: Vec<(Value, Value)>,
}

impl Connection {
    pub(super) fn answer(&self, id: &Value, result: &Value) {
        send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    pub(super) fn refuse(&self, id: &Value, failure: &Failure) {
        let Failure { code, message, data } = failure;
        let mut error = json!({ "code": code, "message": message });
        if let Some(data) = data {
            error["data"] = data.clone();
        }
        send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    }

    pub(super) fn notify(&self, method: &str, params: &Value) {
        send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Asks the client and waits for its answer.
    pub(super) fn ask(&self, method: &str, params: &Value) -> Answer {
        let id = {
            let mut state = self.lock();
            state.questions += 1;
            format!("question-{}", state.questions)
        };
        send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let is_missing = |state: &mut State| !state.answers.contains_key(&id);
        let waited = self.answered.wait_timeout_while(self.lock(), ANSWER_TIMEOUT, is_missing);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let mut answer = state.answers.remove(&id).unwrap_or_default();
        match answer.get_mut("result").map(Value::take) {
            Some(result) => Ok(result),
            None => Err(Failure::new(-32000, format!("the client does not answer: {answer}"))),
        }
    }

    pub(super) fn take_answer(&self, id: &str, answer: Value) {
        self.lock().answers.insert(id.to_owned(), answer);
        self.answered.notify_all();
    }

    pub(super) fn set_level(&self, params: &Value) -> Value {
        let wanted = params["level"].as_str().unwrap_or_default();
        self.lock().level = LEVELS.iter().position(|level| *level == wanted).unwrap_or_default();
        json!({})
    }

    /// Sends a log message, unless the client wants only more severe ones.
    pub(super) fn log(&self, level: &str, text: &str) {
        let severity = LEVELS.iter().position(|known| *known == level).unwrap_or_default();
        if severity >= self.lock().level {
            let params = json!({ "level": level, "logger": "reference", "data": text });
            self.notify("notifications/message", &params);
        }
    }

    pub(super) fn watch(&self, uri: &str) {
        self.lock().watched.insert(uri.to_owned());
    }

    pub(super) fn unwatch(&self, uri: &str) {
        self.lock().watched.remove(uri);
    }

    /// Begins to send the notifications that a request asks for.
    pub(super) fn listen(&self, id: &Value, wanted: &Value) {
        self.lock().listeners.push((id.clone(), wanted.clone()));
        let params = json!({ "notifications": wanted, "_meta": subscription(id) });
        self.notify("notifications/subscriptions/acknowledged", &params);
    }

    pub(super) fn stop_listening(&self, id: &Value) {
        self.lock().listeners.retain(|(listener, _)| listener != id);
    }

    /// Announces a change of a list to the client, or to its requests for notifications of this kind.
    pub(super) fn announce(&self, revision: Revision, method: &str, kind: &str) {
        if revision == Revision::Handshake {
            return self.notify(method, &json!({}));
        }
        let listeners = self.lock().listeners.clone();
        for (id, _) in listeners.iter().filter(|(_, wanted)| wanted[kind] == true) {
            self.notify(method, &json!({ "_meta": subscription(id) }));
        }
    }

    /// Announces that a resource has changed, if the client watches it.
    pub(super) fn announce_update(&self, uri: &str) {
        let method = "notifications/resources/updated";
        let (listeners, is_watched) = {
            let state = self.lock();
            (state.listeners.clone(), state.watched.contains(uri))
        };
        if is_watched {
            self.notify(method, &json!({ "uri": uri }));
        }
        for (id, wanted) in listeners {
            let uris = wanted["resourceSubscriptions"].as_array();
            if uris.is_some_and(|uris| uris.iter().any(|it| it == uri)) {
                self.notify(method, &json!({ "uri": uri, "_meta": subscription(&id) }));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn subscription(id: &Value) -> Value {
    json!({ "io.modelcontextprotocol/subscriptionId": id })
}

/// Writes a line; a client that has gone away is noticed as the end of stdin.
fn send(message: &Value) {
    let mut stdout = io::stdout().lock();
    let _ = writeln!(stdout, "{message}").and_then(|()| stdout.flush());
}
