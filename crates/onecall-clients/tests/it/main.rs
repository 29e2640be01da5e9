//! The configuration files of MCP clients: found, read, edited and left as they were.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod files;
mod fuzz;
mod places;
mod samples;
