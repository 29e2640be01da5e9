//! The MCP server of the gateway: the tools that agents see, and the transports stdio and HTTP.

mod arguments;
mod client;
mod definitions;
mod error;
mod exposed;
mod findings;
mod handler;
mod http;
mod news;
mod progress;
mod request_id;
mod resources;
mod stdio;
mod trace;
mod unread;

pub use definitions::definitions;
pub use findings::{SearchDetail, tell};
pub use http::{
    AllowedHost, AllowedOrigin, HttpFace, HttpFaceError, HttpSettings, InvalidName, InvalidToken,
    Token,
};
pub use stdio::{ServeError, serve_stdio};
