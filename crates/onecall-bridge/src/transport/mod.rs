//! The transports to servers: child processes with their standard streams (`stdio`) and remote
//! servers (`http/`). A transport passes whole messages to the [`Peer`] of its server and sends the
//! messages of the peer; it does not interpret them.
//!
//! [`Peer`]: crate::protocol::peer::Peer

pub(crate) mod child;
pub(crate) mod connection;
pub(crate) mod environment;
pub(crate) mod http;
pub(crate) mod lines;
pub(crate) mod stderr;
pub(crate) mod stdio;
pub(crate) mod writer;
