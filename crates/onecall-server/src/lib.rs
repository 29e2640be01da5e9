//! The MCP server of the gateway: the tools that agents see, and the transports stdio and HTTP.

mod approvals;
mod arguments;
mod client;
mod definitions;
mod error;
mod exposed;
mod handler;
mod http;
mod line_diff;
mod list_notifier;
mod page;
mod principal;
mod progress;
mod questions;
mod request_id;
mod resources;
mod response_budget;
mod search_text;
mod stdio;
mod trace;

pub use definitions::{Approvals, definitions};
pub use http::{
    AllowedHostHeader, AllowedOrigin, BearerToken, HttpServer, HttpServerError, HttpSettings,
    InvalidName, InvalidToken,
};
pub use line_diff::diff_lines;
pub use page::{PageOwner, PageSettings, ReplayError, ReplayReport, Replayer};
pub use search_text::{SearchDetail, format_search_results};
pub use stdio::{ServeError, serve_stdio};
