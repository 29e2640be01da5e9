//! The HTTP transports. Every message to a server is a POST; answers arrive in its response
//! (`streamable`) or on a separate long-lived stream (`sse`, the older transport). The other files
//! are shared by both. Headers and tokens are sent only to the origin of the server.

mod body;
mod confinement;
mod endpoint;
mod events;
mod failure;
mod probe;
mod request_headers;
mod resumption;
mod secrets;
mod session;
mod sse;
mod streamable;
mod tasks;

pub(crate) use failure::HttpError;
pub use probe::{ProbeError, probe_auth_requirement};
pub(crate) use sse::SseConnection;
pub(crate) use streamable::StreamableConnection;
