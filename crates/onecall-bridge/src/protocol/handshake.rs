//! The first requests to a server: the protocol handshake, or discovery where a revision has none,
//! and then the list of tools. Over HTTP, discovery is tried first; a server on stdio may end if its
//! first message is not the handshake, so discovery is tried first only after the server has once
//! answered it.

use std::time::Duration;

use onecall_core::ServerName;
use onecall_core::text::one_line;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;
use tracing::{debug, warn};

use crate::error::{AnswerError, METHOD_NOT_FOUND, RequestError, StartError};
use crate::protocol::listing::{self, ToolListing};
use crate::protocol::peer::Peer;
use crate::protocol::request::{ProtocolMode, Request, STATELESS_VERSION};

/// The protocol revisions that are supported.
pub const KNOWN_VERSIONS: [&str; 5] =
    ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// How long a server has to answer the first request if that is not the handshake. An older server
/// that leaves it unanswered is then connected to with the handshake.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(2);

/// The longest name or version of a server that is shown.
const MAX_SHOWN: usize = 200;

/// The result of the first requests: what the server said about itself, and its tools.
pub(crate) struct HandshakeResult {
    pub server_name: String,
    pub server_version: String,
    pub protocol: String,
    pub offers: ServerOffers,
    pub listed: ToolListing,
}

/// The messages that a server declares to send besides answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerOffers {
    /// Notifications of changes to its list of tools.
    pub tool_changes: bool,
    /// Notifications of changes to its list of resources.
    pub resource_changes: bool,
    /// Notifications of changes to its list of prompts.
    pub prompt_changes: bool,
    /// Log messages.
    pub log_messages: bool,
}

impl ServerOffers {
    fn of(capabilities: &Capabilities) -> Self {
        let announces = |list: &Option<Value>| {
            list.as_ref().is_some_and(|declared| declared["listChanged"] == true)
        };
        Self {
            tool_changes: announces(&capabilities.tools),
            resource_changes: announces(&capabilities.resources),
            prompt_changes: announces(&capabilities.prompts),
            log_messages: capabilities.logging.is_some(),
        }
    }
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
#[serde(default)]
struct Capabilities {
    tools: Option<Value>,
    resources: Option<Value>,
    prompts: Option<Value>,
    logging: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Implementation {
    name: String,
    version: String,
}

/// What is known about a server before the first request to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KnownMode {
    Unknown,
    /// The server has done a handshake before, so it is not asked for anything else first.
    Handshake,
    /// The server has answered discovery before, so discovery comes first on every transport.
    Stateless,
}

/// Performs the handshake, or discovery where the server has no handshake, and lists the server's
/// tools. The caller limits the time.
pub(crate) async fn perform(
    peer: &Peer,
    server: &ServerName,
    known: KnownMode,
) -> Result<HandshakeResult, StartError> {
    let result = match discover_first(peer, known).await? {
        Some(result) => result,
        None => match initialize(peer).await {
            // If discovery fails too, the error of the handshake is the more useful one, unless a
            // login would help.
            Err(refusal) if refusal.may_be_stateless() => discover(peer)
                .await
                .map_err(|error| if error.advises_login() { error } else { refusal })?,
            result => result?,
        },
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
    let offers = ServerOffers::of(&result.capabilities);
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
        offers,
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

/// Asks a server for its capabilities before the handshake, where that is harmless; `None` if the
/// handshake is to follow. A server that knows both is used without a handshake.
///
/// # Errors
/// If the server requires a login.
async fn discover_first(
    peer: &Peer,
    known: KnownMode,
) -> Result<Option<InitializeResult>, StartError> {
    let is_first = match known {
        KnownMode::Unknown => peer.allows_discovery_first(),
        KnownMode::Handshake => false,
        KnownMode::Stateless => true,
    };
    if !is_first {
        return Ok(None);
    }
    let discovered = match timeout(DISCOVERY_TIMEOUT, discover(peer)).await {
        Ok(Err(error)) if error.is_other_version() => {
            timeout(DISCOVERY_TIMEOUT, discover(peer)).await
        }
        discovered => discovered,
    };
    match discovered {
        Ok(Ok(result)) => Ok(Some(result)),
        Ok(Err(error)) if error.advises_login() => Err(error),
        // An older server does not know the request.
        Ok(Err(_)) | Err(_) => Ok(None),
    }
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
