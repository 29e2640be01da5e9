//! onecall between published MCP servers and published MCP clients; see `tests/interop`.

#![expect(clippy::print_stderr, reason = "what is skipped is to be seen")]

mod approvals;
mod authorization;
mod claude_code;
mod clients;
mod command_line;
mod exposed;
mod generated;
mod inspector;
mod listening_server;
mod programs;
mod progress;
mod repository;
mod servers;
mod transports;
mod values;
