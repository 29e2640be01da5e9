//! onecall between published MCP servers and published MCP clients; see `tests/interop`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
#![expect(clippy::print_stderr, reason = "what is skipped is to be seen")]

mod claude_code;
mod clients;
mod command_line;
mod exposed;
mod generated;
mod inspector;
mod installed;
mod listening;
mod programs;
mod progress;
#[path = "../support/recorded_values.rs"]
mod recorded_values;
mod repository;
mod servers;
#[path = "../support/mod.rs"]
mod support;
mod transports;
mod values;
