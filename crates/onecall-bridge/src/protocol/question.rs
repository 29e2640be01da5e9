//! Requests that servers make of the client behind a call. They are passed on if that client can
//! answer them, and refused with a valid protocol response otherwise.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use onecall_catalog::clean_schema;
use onecall_core::text::{one_line, visible};
use onecall_core::{Caller, ServerName, ServerQuestion, ServerQuestionError, ServerQuestionKind};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use crate::error::METHOD_NOT_FOUND;
use crate::protocol::gateway_clients::GatewayClients;
use crate::protocol::request;

/// How many questions of one server may be open at the same time.
const MAX_OPEN: usize = 16;

/// The largest question that is passed on.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The longest message of a server that is shown to a person, in lines and in characters per line.
const MAX_LINES: usize = 50;
const MAX_LINE: usize = 1_000;

/// An error code from the range that JSON-RPC leaves to implementations.
const NOT_ANSWERED: i64 = -32000;
const INVALID_PARAMS: i64 = -32602;

/// A request of a server together with the client that is to answer it.
pub(crate) struct PendingQuestion {
    pub id: Box<RawValue>,
    pub question: ServerQuestion,
    pub addressee: Addressee,
    /// Counts the question until it is answered.
    pub open: OpenQuestion,
}

/// The number of questions of a server that are not answered yet.
#[derive(Default)]
pub(crate) struct OpenQuestions(Arc<AtomicUsize>);

impl OpenQuestions {
    /// Counts a question until the returned object is dropped.
    pub fn add(&self) -> OpenQuestion {
        self.0.fetch_add(1, Ordering::Relaxed);
        OpenQuestion(Arc::clone(&self.0))
    }

    /// Whether no question waits for its answer.
    pub fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// A question that counts as open until this is dropped.
pub(crate) struct OpenQuestion(Arc<AtomicUsize>);

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The client that is to answer.
#[derive(Debug)]
pub(crate) enum Addressee {
    Caller(Arc<Caller>),
    /// The only client of the gateway, for a request that belongs to no call.
    OnlyClient,
}

pub(crate) enum QuestionEvent {
    Asked(PendingQuestion),
    /// The server cancelled its request.
    Cancelled {
        id: Box<RawValue>,
    },
}

/// The channel from a peer to the task that has questions answered.
pub(crate) fn channel() -> (mpsc::Sender<QuestionEvent>, mpsc::Receiver<QuestionEvent>) {
    mpsc::channel(MAX_OPEN)
}

/// Checks a request of a server and makes its text safe to show.
pub(crate) fn parse(
    server: &ServerName,
    subject: ServerQuestionKind,
    params: Option<&RawValue>,
) -> Result<ServerQuestion, ServerQuestionError> {
    let json = params.map_or("{}", RawValue::get);
    if !json.starts_with('{') || json.len() > MAX_BYTES {
        let message =
            "the parameters are not an object, or are too large to be passed on".to_owned();
        return Err(ServerQuestionError::Refused { code: INVALID_PARAMS, message });
    }
    let params = match subject {
        ServerQuestionKind::Elicitation => with_server_name(server, json),
        ServerQuestionKind::Sampling => readable_sampling(json),
        ServerQuestionKind::Roots => RawValue::from_string(json.to_owned()),
    };
    let invalid =
        |_| ServerQuestionError::Refused { code: INVALID_PARAMS, message: "not JSON".to_owned() };
    Ok(ServerQuestion { server: server.clone(), kind: subject, params: params.map_err(invalid)? })
}

/// Adds the name of the server to the message that a person will read.
fn with_server_name(server: &ServerName, json: &str) -> serde_json::Result<Box<RawValue>> {
    let mut params: serde_json::Map<String, Value> = serde_json::from_str(json)?;
    let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
    let lines: Vec<String> =
        message.lines().take(MAX_LINES).map(|line| one_line(line, MAX_LINE)).collect();
    let message = format!("The MCP server '{server}' asks: {}", lines.join("\n"));
    params.insert("message".to_owned(), message.into());
    if let Some(schema) = params.get_mut("requestedSchema") {
        clean_schema(schema);
    }
    to_raw_value(&params)
}

/// Makes invisible characters visible in the text that the client's model will read.
fn readable_sampling(json: &str) -> serde_json::Result<Box<RawValue>> {
    let mut params: serde_json::Map<String, Value> = serde_json::from_str(json)?;
    if let Some(prompt) = params.get_mut("systemPrompt") {
        make_visible(prompt);
    }
    let messages = params.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten();
    for content in messages.filter_map(|message| message.get_mut("content")) {
        match content {
            Value::Array(blocks) => {
                blocks.iter_mut().filter_map(|it| it.get_mut("text")).for_each(make_visible)
            }
            block => block.get_mut("text").into_iter().for_each(make_visible),
        }
    }
    to_raw_value(&params)
}

fn make_visible(value: &mut Value) {
    if let Value::String(text) = value {
        *text = visible(text).into_owned();
    }
}

/// Has questions answered, and sends the answers with `reply`. Never returns. A question that takes
/// longer than `limit` is given up.
pub(crate) async fn answer_forever<T>(
    mut events: mpsc::Receiver<QuestionEvent>,
    clients: GatewayClients,
    limit: Option<Duration>,
    reply: impl Fn(Vec<u8>),
) -> T {
    let mut open = JoinSet::new();
    let mut by_id: HashMap<String, AbortHandle> = HashMap::new();
    loop {
        tokio::select! {
            event = events.recv(), if open.len() < MAX_OPEN => match event {
                Some(QuestionEvent::Asked(asked)) => {
                    let id = asked.id.get().to_owned();
                    let answering = open.spawn(answer(asked, clients.clone(), limit));
                    by_id.insert(id, answering);
                }
                Some(QuestionEvent::Cancelled { id }) => {
                    if let Some(answering) = by_id.remove(id.get()) {
                        answering.abort();
                    }
                }
                None => return std::future::pending().await,
            },
            Some(answered) = open.join_next() => {
                // An error means that the question was cancelled.
                if let Ok((id, line)) = answered {
                    by_id.remove(&id);
                    reply(line);
                }
            }
        }
    }
}

async fn answer(
    asked: PendingQuestion,
    clients: GatewayClients,
    limit: Option<Duration>,
) -> (String, Vec<u8>) {
    let PendingQuestion { id, question, addressee, open: _open } = asked;
    let subject = question.kind;
    let answered = async {
        let caller = match addressee {
            Addressee::Caller(caller) => caller,
            Addressee::OnlyClient => clients.only_client().await.ok_or(NO_CLIENT)?,
        };
        ask_client(caller.as_ref(), question).await
    };
    let answered = match limit {
        Some(limit) => timeout(limit, answered).await.unwrap_or(Err(ServerQuestionError::TimedOut)),
        // The client channel ends the wait at the latest when the program ends.
        None => answered.await,
    };
    let line = response_line(&id, subject, answered);
    (id.get().to_owned(), line)
}

/// The refusal for a question whose client cannot be determined.
pub(crate) const NO_CLIENT: ServerQuestionError =
    ServerQuestionError::Unanswerable("onecall cannot tell which client this question is for");

/// The refusal for a server with too many open questions.
pub(crate) const TOO_MANY_QUESTIONS: ServerQuestionError =
    ServerQuestionError::Unanswerable("too many questions of this server are still open");

/// The id of the request that a server cancels.
pub(crate) fn cancelled_id(params: &RawValue) -> Option<Box<RawValue>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct CancelledParams<'a> {
        #[serde(borrow)]
        request_id: &'a RawValue,
    }
    let json = params.get();
    let cancelled: CancelledParams<'_> =
        serde_json::from_str(json.starts_with('{').then_some(json)?).ok()?;
    Some(cancelled.request_id.to_owned())
}

/// Sends a question to a client, if the client supports it.
pub(crate) async fn ask_client(
    caller: &Caller,
    question: ServerQuestion,
) -> Result<Box<RawValue>, ServerQuestionError> {
    if !caller.capabilities.permit(question.kind, &question.params) {
        return Err(ServerQuestionError::Unsupported(question.kind.method()));
    }
    caller.ask(question).await
}

/// The result that the protocol defines for a missing answer, where there is one.
pub(crate) fn fallback_result(
    subject: ServerQuestionKind,
    refusal: &ServerQuestionError,
) -> Option<Box<RawValue>> {
    let is_silent =
        matches!(refusal, ServerQuestionError::Unanswerable(_) | ServerQuestionError::TimedOut);
    (subject == ServerQuestionKind::Elicitation && is_silent)
        .then(|| to_raw_value(&json!({ "action": "cancel" })).ok())
        .flatten()
}

/// The response to request `id` of the server, as a line.
pub(crate) fn response_line(
    id: &RawValue,
    subject: ServerQuestionKind,
    answered: Result<Box<RawValue>, ServerQuestionError>,
) -> Vec<u8> {
    let refusal = match answered {
        Ok(result) => return request::answer(id, &result),
        Err(refusal) => refusal,
    };
    if let Some(result) = fallback_result(subject, &refusal) {
        return request::answer(id, &result);
    }
    let code = match &refusal {
        ServerQuestionError::Unsupported(_) => METHOD_NOT_FOUND,
        ServerQuestionError::Refused { code, .. } => *code,
        ServerQuestionError::Unanswerable(_) | ServerQuestionError::TimedOut => NOT_ANSWERED,
    };
    request::error(id, code, &refusal.to_string())
}

#[cfg(test)]
mod tests {
    use onecall_core::lines::Line;
    use onecall_core::{CallableName, CallerCapabilities, ClientId, ToolName};
    use tokio::sync::mpsc::UnboundedSender;
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;
    use crate::connection_options::ConnectionOptions;
    use crate::error::SendError;
    use crate::protocol::peer::{MessageSender, Outgoing, Peer};
    use crate::protocol::request::Request;
    use crate::protocol::request_origin::RequestOrigin;

    /// A client that answers with its own number.
    fn client(id: u64) -> Caller {
        Caller {
            capabilities: CallerCapabilities::all(),
            questions: Arc::new(move |_| {
                Box::pin(std::future::ready(to_raw_value(&id).map_err(|_| NO_CLIENT)))
            }),
            ..Caller::silent(ClientId(id))
        }
    }

    struct Sent(UnboundedSender<String>);

    impl MessageSender for Sent {
        fn send(&self, message: Outgoing<'_>) -> Result<(), SendError> {
            let line = String::from_utf8_lossy(&message.line).trim().to_owned();
            self.0.send(line).map_err(|_| SendError::Closed)
        }
    }

    /// What a server gets for a question that it asks while these clients have calls
    /// under way, the first with the id 1 and so on.
    async fn answered(clients: &[u64], during: Option<u64>) -> String {
        let (sender, mut sent) = unbounded_channel();
        let options = ConnectionOptions::default();
        options.clients.expect_several();
        let peer = Peer::new(ServerName::new("server"), options, Sent(sender));
        let (tool, arguments) = (ToolName::new("t"), to_raw_value(&json!({})).unwrap());
        let origins: Vec<RequestOrigin> = clients
            .iter()
            .map(|id| RequestOrigin { name: CallableName::new("c"), caller: Arc::new(client(*id)) })
            .collect();
        let mut calls = JoinSet::new();
        let peer = Arc::new(peer);
        for origin in origins {
            let (peer, tool, arguments) = (Arc::clone(&peer), tool.clone(), arguments.clone());
            calls.spawn(async move {
                let request = Request::CallTool {
                    tool: &tool,
                    arguments: &arguments,
                    header_arguments: &[],
                    origin: Some(&origin),
                    input: None,
                };
                peer.request(request, None, |_| ()).await
            });
            // The call is on its way before the next is made.
            sent.recv().await.unwrap();
        }
        let ask = br#"{"id":"q","method":"sampling/createMessage","params":{}}"#;
        peer.receive_during(during, Line::Whole(ask));
        tokio::select! {
            line = sent.recv() => line.unwrap(),
            never = peer.answer_questions::<String>(None) => never,
        }
    }

    #[tokio::test]
    async fn no_client_gets_the_question_of_another() {
        let of = |id: u64| format!(r#"{{"jsonrpc":"2.0","id":"q","result":{id}}}"#);
        assert_eq!(answered(&[7], None).await, of(7));
        assert_eq!(answered(&[7, 7], None).await, of(7));
        assert_eq!(answered(&[7, 8], Some(2)).await, of(8));
        for (clients, during) in [(&[7, 8][..], None), (&[], None), (&[7, 8], Some(99))] {
            let refused = answered(clients, during).await;
            assert!(refused.contains(r#""code":-32000"#), "{refused}");
        }
    }
}
