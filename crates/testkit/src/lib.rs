//! The tools of the tests and the benchmark: a fixture MCP server, clients for MCP servers on
//! stdio, published servers and clients, and functions that inspect the processes of a run. Nothing
//! here is shipped.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "test support: a broken expectation must end the test with its message"
)]

pub mod authorization;
pub mod bins;
pub mod browser;
pub mod cargo;
pub mod collector;
pub mod container;
pub mod empty_root;
pub mod fixture;
pub mod identity_provider;
pub mod load_balancer;
pub mod mcp;
pub mod packages;
pub mod postgres;
pub mod process;
pub mod reference;
mod relay;
pub mod remote;
pub mod rpc;
pub mod unreliable_link;
pub mod web;
pub mod workplace;
