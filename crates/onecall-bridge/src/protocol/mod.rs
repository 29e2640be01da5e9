//! The messages of MCP: requests and their answers (`peer/`), the handshake, lists of tools,
//! results as values, and the requests and notifications of servers. Nothing here depends on the
//! transport. A server is not trusted: each message is read within limits, and a malformed one
//! fails at most the request it belongs to.

pub(crate) mod gateway_clients;

pub(crate) mod definition;
pub(crate) mod display_metadata;
pub(crate) mod handshake;
pub(crate) mod header_parameters;
#[cfg(test)]
mod hostile_answers;
pub(crate) mod incoming;
pub(crate) mod input;
pub(crate) mod listing;
pub(crate) mod log_message;
pub(crate) mod peer;
pub(crate) mod progress;
pub(crate) mod question;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod request_origin;
pub(crate) mod resources;
pub(crate) mod result;
pub(crate) mod server_events;
pub(crate) mod subscription;
pub(crate) mod trace;
