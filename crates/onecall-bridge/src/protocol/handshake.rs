//! The first requests to a server: the protocol handshake, or discovery where a revision has none,
//! and then the list of tools.

use onecall_core::ServerName;
use onecall_core::text::one_line;
use serde::Deserialize;
use serde_json::Value;
use tracing::{debug, warn};

use crate::error::{AnswerError, METHOD_NOT_FOUND, RequestError, StartError};
use crate::protocol::listing::{self, ToolListing};
use crate::protocol::peer::Peer;
use crate::protocol::request::{ProtocolMode, Request, STATELESS_VERSION};

/// The protocol revisions that are supported.
pub const KNOWN_VERSIONS: [&str; 5] =
    ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// The longest name or version of a server that is shown.
const MAX_SHOWN: usize = 200;

/// The result of the first requests: what the server said about itself, and its tools.
pub(crate) struct HandshakeResult {
    pub server_name: String,
    pub server_version: String,
    pub protocol: String,
    /// Whether the server sends notifications about changed tools to clients that subscribe.
    pub announces_changes: bool,
    pub listed: ToolListing,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeResult {
    protocol_version: String,
    #[serde(default)]
    capabilities: Capabilities,
    #[serde(default)]
    server_info: Implementation,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DiscoverResult {
    supported_versions: Vec<String>,
    #[serde(default)]
    capabilities: Capabilities,
    #[serde(default, rename = "_meta")]
    meta: DiscoverMeta,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DiscoverMeta {
    #[serde(rename = "io.modelcontextprotocol/serverInfo")]
    server_info: Implementation,
}

#[derive(Default, Deserialize)]
struct Capabilities {
    tools: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Implementation {
    name: String,
    version: String,
}

/// Performs the handshake and lists the server's tools. The caller limits the time.
pub(crate) async fn perform(
    peer: &Peer,
    server: &ServerName,
) -> Result<HandshakeResult, StartError> {
    let result = match initialize(peer).await {
        // If discovery fails too, the error of the handshake is the more useful one, unless a login
        // would help.
        Err(refusal) if refusal.may_be_stateless() => discover(peer)
            .await
            .map_err(|error| if error.advises_login() { error } else { refusal })?,
        result => result?,
    };
    let protocol = one_line(&result.protocol_version, MAX_SHOWN);
    if !KNOWN_VERSIONS.contains(&&*result.protocol_version) {
        warn!(%server, user = peer.user(), protocol, "the server uses a protocol revision that onecall does not know; onecall tries to use it anyway");
    }
    peer.handshake_finished(Ok(&result.protocol_version));
    if ProtocolMode::of(&result.protocol_version) == ProtocolMode::Handshake {
        let method = "notifications/initialized";
        peer.notify_initialized().map_err(|source| StartError::Request { method, source })?;
    }
    let announces_changes = result.capabilities.tools.as_ref().is_some_and(|tools| {
        ProtocolMode::of(&result.protocol_version) == ProtocolMode::Stateless
            && tools["listChanged"] == true
    });
    let listed = match (listing::list(peer, server).await, result.capabilities.tools) {
        // Some servers have tools without declaring the capability, so the request is always sent.
        (
            Err(StartError::Request {
                source: RequestError::Refused { code: METHOD_NOT_FOUND, .. },
                ..
            }),
            None,
        ) => {
            debug!(%server, "the server has no tools");
            ToolListing::default()
        }
        (listed, _) => listed?,
    };
    Ok(HandshakeResult {
        server_name: one_line(&result.server_info.name, MAX_SHOWN),
        server_version: one_line(&result.server_info.version, MAX_SHOWN),
        protocol,
        announces_changes,
        listed,
    })
}

async fn initialize(peer: &Peer) -> Result<InitializeResult, StartError> {
    let capabilities = peer.clients().capabilities().await.to_json();
    let request = Request::Initialize { capabilities: &capabilities };
    let method = request.method();
    let answer = peer
        .request(request, None, |result| AnswerError::read_object::<InitializeResult>(result))
        .await;
    answer
        .map_err(|source| StartError::Request { method, source })?
        .map_err(|source| StartError::InvalidAnswer { method, source })
}

/// Asks a server that has no handshake for its capabilities.
async fn discover(peer: &Peer) -> Result<InitializeResult, StartError> {
    let method = Request::Discover.method();
    let answer = peer
        .request(Request::Discover, None, |result| {
            AnswerError::read_object::<DiscoverResult>(result)
        })
        .await;
    let invalid = |source| StartError::InvalidAnswer { method, source };
    let result =
        answer.map_err(|source| StartError::Request { method, source })?.map_err(invalid)?;
    if !result.supported_versions.iter().any(|version| version == STATELESS_VERSION) {
        return Err(invalid(AnswerError::UnknownRevisions));
    }
    Ok(InitializeResult {
        protocol_version: STATELESS_VERSION.to_owned(),
        capabilities: result.capabilities,
        server_info: result.meta.server_info,
    })
}
