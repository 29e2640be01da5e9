//! The client of this server, as bridged servers see it: what it can be asked, and how a question
//! is sent to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use onecall_core::{
    Caller, CallerCapabilities, ClientId, LogLevel, ServerQuestion, ServerQuestionChannel,
    ServerQuestionError, ServerQuestionKind,
};
use rmcp::model::{ClientCapabilities, CustomRequest, ProtocolVersion, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext, RequestHandle};
use rmcp::{RoleServer, ServiceError};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// The longest question in bytes. A question is kept in memory until it is answered.
const MAX_QUESTION_BYTES: usize = 4 * 1024 * 1024;

/// The JSON-RPC error code for invalid parameters.
const INVALID_PARAMS: i64 = -32602;

/// A new id for a client, unique in this process.
pub(crate) fn next_id() -> ClientId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    ClientId(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// What a client with these capabilities and this protocol version can be asked.
pub(crate) fn capabilities_of(
    capabilities: Option<&ClientCapabilities>,
    version: Option<&ProtocolVersion>,
) -> CallerCapabilities {
    // From this version on, servers put questions into their results instead of sending requests.
    if version.is_some_and(|version| *version >= ProtocolVersion::V_2026_07_28) {
        return CallerCapabilities::default();
    }
    let capabilities = capabilities.and_then(|it| serde_json::to_value(it).ok());
    capabilities.map(|capabilities| CallerCapabilities::of(&capabilities)).unwrap_or_default()
}

/// Whether the client of a request answers questions by repeating the request with the answers.
pub(crate) fn answers_by_repeating(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Everything that the client of a request can be asked, in whatever way.
pub(crate) fn declared_capabilities(context: &RequestContext<RoleServer>) -> CallerCapabilities {
    let declared = context.client_capabilities().and_then(|it| serde_json::to_value(it).ok());
    declared.map(|declared| CallerCapabilities::of(&declared)).unwrap_or_default()
}

/// The least severe log messages that a request asks for, if it asks for any.
pub(crate) fn log_level_of(context: &RequestContext<RoleServer>) -> Option<LogLevel> {
    let level = context.meta.get("io.modelcontextprotocol/logLevel")?;
    LogLevel::named(level.as_str()?)
}

/// Whether a client with these capabilities shows forms to its user.
pub(crate) fn has_forms(capabilities: Option<&ClientCapabilities>) -> bool {
    let capabilities = capabilities.and_then(|it| serde_json::to_value(it).ok());
    let form = RawValue::from_string("{}".to_owned()).unwrap_or_default();
    capabilities.is_some_and(|it| {
        CallerCapabilities::of(&it).permit(ServerQuestionKind::Elicitation, &form)
    })
}

/// Sends a question to the client. When `cancelled` completes, the answer is not needed any more,
/// and the question is cancelled.
pub(crate) async fn ask(
    peer: &Peer<RoleServer>,
    question: &ServerQuestion,
    cancelled: impl Future<Output = ()>,
) -> Result<Box<RawValue>, ServerQuestionError> {
    let length = question.params.get().len();
    if length > MAX_QUESTION_BYTES {
        let message = format!("a question has at most {MAX_QUESTION_BYTES} bytes, not {length}");
        return Err(ServerQuestionError::Refused { code: INVALID_PARAMS, message });
    }
    let mut params: Value = serde_json::from_str(question.params.get()).unwrap_or_default();
    if let Some(params) = params.as_object_mut() {
        // It belongs to the request of the bridged server, not to this one.
        params.remove("_meta");
    }
    let request = CustomRequest::new(question.kind.method(), Some(params));
    let options = PeerRequestOptions::with_timeout(ServerQuestion::ANSWER_TIMEOUT);
    let sent = peer.send_request_with_option(ServerRequest::CustomRequest(request), options).await;
    let mut handle: RequestHandle<RoleServer> = sent.map_err(refusal)?;
    let answer = tokio::select! {
        answer = &mut handle.rx => answer,
        () = cancelled => {
            // If the cancellation cannot be sent, the client's answer is ignored.
            let _ = handle.cancel(Some("the caller no longer waits for the answer".to_owned())).await;
            return Err(ServerQuestionError::TimedOut);
        }
        () = tokio::time::sleep(ServerQuestion::ANSWER_TIMEOUT) => {
            let _ = handle.cancel(Some("no answer in time".to_owned())).await;
            return Err(ServerQuestionError::TimedOut);
        }
    };
    let answer = answer.unwrap_or(Err(ServiceError::TransportClosed)).map_err(refusal)?;
    to_raw_value(&answer).map_err(|_| CLIENT_GONE)
}

const CLIENT_GONE: ServerQuestionError = ServerQuestionError::Unanswerable("the client is gone");

fn refusal(error: ServiceError) -> ServerQuestionError {
    match error {
        ServiceError::McpError(error) => ServerQuestionError::Refused {
            code: error.code.0.into(),
            message: error.message.into_owned(),
        },
        ServiceError::Timeout { .. } => ServerQuestionError::TimedOut,
        _ => CLIENT_GONE,
    }
}

/// A client that is connected but runs no program at the moment. It can be asked only questions
/// that belong to no call.
pub(crate) fn idle_client(
    id: ClientId,
    peer: Peer<RoleServer>,
    abilities: CallerCapabilities,
) -> Arc<Caller> {
    let questions: ServerQuestionChannel = Arc::new(move |question| {
        let peer = peer.clone();
        Box::pin(async move {
            if question.kind != ServerQuestionKind::Roots {
                return Err(ServerQuestionError::Unanswerable(
                    "the client has no call in progress",
                ));
            }
            ask(&peer, &question, std::future::pending()).await
        })
    });
    Arc::new(Caller { capabilities: abilities, questions, ..Caller::silent(id) })
}
