//! What the tests and the benchmark stand on: a fixture MCP server, bare
//! clients that speak to any MCP server over stdio, published servers and clients,
//! and eyes on the processes that a run leaves behind. Nothing here ships.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "test support: a broken expectation must end the test with its message"
)]

pub mod authorization;
pub mod bins;
pub mod cargo;
pub mod collector;
pub mod container;
pub mod empty_root;
pub mod fixture;
pub mod mcp;
pub mod packages;
pub mod process;
pub mod remote;
pub mod rpc;
pub mod web;
pub mod workplace;
