//! Servers that are reached over HTTP. Every message of ours is a POST; the answers come in its
//! response (`streamable`) or on one long stream beside it (`sse`, the older transport). What both
//! share is in the files beside theirs. Headers and tokens go to the origin of the server and to
//! nobody else.

mod body;
mod confinement;
mod endpoint;
mod events;
mod failure;
mod mirror;
mod probe;
mod resumption;
mod secrets;
mod session;
mod sse;
mod streamable;
mod tasks;

pub(crate) use failure::HttpError;
pub use probe::{ProbeError, wanted_login};
pub(crate) use sse::SseConnection;
pub(crate) use streamable::StreamableConnection;
