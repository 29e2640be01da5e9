//! The side of the gateway that talks to downstream MCP servers: it starts them,
//! lists their tools, calls them and leaves none of them behind.
//!
//! A server is not trusted. Whatever it sends or fails to send ends in an error
//! of the call concerned, never in a panic, a hang or memory without bound.
//! Values pass through as text; only the program that asked for them parses them.

mod admitted;
mod audience;
mod backoff;
mod behalf;
mod bridge;
mod child;
mod connection;
mod definition;
mod demand;
mod difference;
mod downloads;
mod environment;
mod error;
mod face;
mod fleet;
mod group;
mod guard;
mod handshake;
#[cfg(test)]
mod hostile_answers;
mod identity;
mod incoming;
mod input;
mod lines;
mod listing;
mod local;
mod log_message;
mod offering;
mod parameters;
mod pins;
mod plain;
mod progress;
mod question;
mod remote;
mod reply;
mod request;
mod result;
mod rpc;
mod server;
mod setting;
mod snapshot;
mod status;
mod stderr;
mod stdio;
mod subscription;
mod system;
mod trace;
mod writer;

pub use admitted::{AdmittedTools, local_definitions};
pub use audience::Audience;
pub use bridge::Bridge;
pub use demand::ServerStart;
pub use difference::Part;
pub use downloads::Downloads;
pub use environment::{HELPFUL_VARIABLES, base_environment, is_passed_on};
pub use face::ToolFace;
pub use fleet::FleetChange;
pub use guard::{Guard, run_guard};
pub use handshake::KNOWN_VERSIONS as KNOWN_PROTOCOLS;
pub use identity::Identity;
pub use pins::{PinError, PinState, Pins, Quarantined};
pub use remote::{Granted, LoggedOut, LoginError, PendingLogin, Trust, http_client, log_out};
pub use setting::Setting;
pub use snapshot::{ToolWatch, Tools};
pub use status::{
    AVAILABILITY_LOG_TARGET, LIFE_LOG_TARGET, ListingCut, ListingLimit, NextStart,
    SERVER_LOG_TARGET, ServerState, ServerStatus, Trouble,
};
