//! The interface of a transport as a peer uses it: it sends messages, each with its purpose.

use onecall_core::TraceContext;

use crate::error::SendError;
use crate::protocol::request::Request;

/// The sending side of a transport.
pub(crate) trait MessageSender: Send + Sync {
    /// Sends a whole message, or no part of it. Never blocks.
    fn send(&self, message: Outgoing<'_>) -> Result<(), SendError>;

    /// Abandons a request without sending a cancellation to the server.
    fn abandon(&self, _id: u64) {}

    /// Whether the server may have received a request that was passed to [`send`](Self::send).
    fn may_have_arrived(&self, _id: u64) -> bool {
        true
    }

    /// Whether the server can be asked for its capabilities before the handshake. Each message of such
    /// a transport stands for itself, so a server that does not know the request only refuses it.
    fn allows_discovery_first(&self) -> bool {
        false
    }

    /// Reports the result of the handshake: the protocol revision in use from now on, or why there
    /// is none.
    fn handshake_finished(&self, _outcome: Result<&str, &str>) {}
}

/// A message to a server.
pub(crate) struct Outgoing<'a> {
    /// The bytes to send, including the newline.
    pub line: Vec<u8>,
    pub purpose: Purpose<'a>,
}

/// The purpose of a message, for transports that treat messages differently.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose<'a> {
    /// A request; an answer with this id is expected.
    Request { id: u64, request: Request<'a>, trace: Option<&'a TraceContext> },
    /// The notification that ends the handshake.
    Initialized,
    /// The request with this id is cancelled.
    Cancellation { id: u64 },
    /// An automatic answer to a request of the server; losing it does no harm.
    AutomaticReply,
    /// An answer or a notification of the client that is passed on to the server.
    Forwarded,
}
