//! How bytes get to a server and back: child processes on their standard streams (`stdio`) and
//! remote servers (`http/`). A transport hands whole messages to the [`Peer`] of its server and
//! sends what the peer gives it; it does not know what they mean.
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
