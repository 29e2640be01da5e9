//! Servers that are reached over HTTP. Every message of ours is a POST; the
//! answers come in its response (streamable HTTP) or on one long stream beside it
//! (HTTP+SSE, the older transport). What both share is in the files beside theirs.

mod confinement;
mod endpoint;
mod events;
mod failure;
mod mirror;
mod oauth;
mod resumption;
mod session;
mod sse;
mod streamable;
mod tasks;

pub use endpoint::client as http_client;
pub(crate) use failure::HttpError;
pub use oauth::{Granted, LoggedOut, LoginError, PendingLogin, Trust, log_out};
pub(crate) use oauth::{Login, LoginMark};
pub(crate) use sse::SseConnection;
pub(crate) use streamable::StreamableConnection;
