//! What a transport is to a peer: the way out for messages, each with what it is for.

use onecall_core::TraceContext;

use crate::error::SendError;
use crate::protocol::request::Request;

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
