//! The client of this server, as the servers behind it see it: what it can be asked, and
//! how a question gets to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use onecall_core::{Abilities, Caller, ClientId, Question, QuestionChannel, Refusal, Subject};
use rmcp::model::{ClientCapabilities, CustomRequest, ProtocolVersion, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle};
use rmcp::{RoleServer, ServiceError};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// The longest that a client may think about a question. What asked it has a deadline of
/// its own, which nearly always comes first.
const LONGEST: Duration = Duration::from_secs(600);

/// The longest question. What a client is sent is kept for it until it has answered.
const MAX_QUESTION: usize = 4 * 1024 * 1024;

/// The code for parameters that are not accepted.
const INVALID_PARAMS: i64 = -32602;

/// A number for a client that none before it had.
pub(crate) fn next_id() -> ClientId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    ClientId(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// What a client that speaks this revision can be asked.
pub(crate) fn abilities(
    capabilities: Option<&ClientCapabilities>,
    version: Option<&ProtocolVersion>,
) -> Abilities {
    // From this revision on, servers ask by their results instead of by requests.
    if version.is_some_and(|version| *version >= ProtocolVersion::V_2026_07_28) {
        return Abilities::default();
    }
    let capabilities = capabilities.and_then(|it| serde_json::to_value(it).ok());
    capabilities.map(|capabilities| Abilities::of(&capabilities)).unwrap_or_default()
}

/// Puts a question to the client. `given_up` ends when nobody wants the answer any more,
/// which the client is then told.
pub(crate) async fn put(
    peer: &Peer<RoleServer>,
    question: &Question,
    given_up: impl Future<Output = ()>,
) -> Result<Box<RawValue>, Refusal> {
    let length = question.params.get().len();
    if length > MAX_QUESTION {
        let message = format!("a question has at most {MAX_QUESTION} bytes, not {length}");
        return Err(Refusal::Refused { code: INVALID_PARAMS, message });
    }
    let mut params: Value = serde_json::from_str(question.params.get()).unwrap_or_default();
    if let Some(params) = params.as_object_mut() {
        // It is about the request that the server made, not about ours.
        params.remove("_meta");
    }
    let request = CustomRequest::new(question.subject.method(), Some(params));
    let options = PeerRequestOptions::with_timeout(LONGEST);
    let sent = peer.send_request_with_option(ServerRequest::CustomRequest(request), options).await;
    let mut handle: RequestHandle<RoleServer> = sent.map_err(refusal)?;
    let answer = tokio::select! {
        answer = &mut handle.rx => answer,
        () = given_up => {
            // If the client cannot be told, it answers for nothing.
            let _ = handle.cancel(Some("nobody waits for the answer any more".to_owned())).await;
            return Err(Refusal::TimedOut);
        }
        () = tokio::time::sleep(LONGEST) => {
            let _ = handle.cancel(Some("no answer in time".to_owned())).await;
            return Err(Refusal::TimedOut);
        }
    };
    let answer = answer.unwrap_or(Err(ServiceError::TransportClosed)).map_err(refusal)?;
    to_raw_value(&answer).map_err(|_| GONE)
}

const GONE: Refusal = Refusal::Nobody("the client is gone");

fn refusal(error: ServiceError) -> Refusal {
    match error {
        ServiceError::McpError(error) => {
            Refusal::Refused { code: error.code.0.into(), message: error.message.into_owned() }
        }
        ServiceError::Timeout { .. } => Refusal::TimedOut,
        _ => GONE,
    }
}

/// A client that is connected, whether or not it runs a program. It can be asked only what is about
/// no call.
pub(crate) fn idle_client(
    id: ClientId,
    peer: Peer<RoleServer>,
    abilities: Abilities,
) -> Arc<Caller> {
    let questions: QuestionChannel = Arc::new(move |question| {
        let peer = peer.clone();
        Box::pin(async move {
            if question.subject != Subject::Roots {
                return Err(Refusal::Nobody("no call of the client is under way"));
            }
            put(&peer, &question, std::future::pending()).await
        })
    });
    Arc::new(Caller { abilities, questions, ..Caller::silent(id) })
}
