//! Published MCP servers and clients, installed once into `target/interop`. `tests/interop` lists
//! their versions.

#![expect(clippy::print_stderr, reason = "an installation takes a while, and a developer waits")]

pub mod node;
pub mod npm;
mod stamp;
pub mod venv;

/// The version of Node.js that the servers and clients from npm need.
pub const NODE: node::Version = (20, 0);
