//! Tests of the tools that other tests rely on: the fixture server and the container emulation.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod container;
mod fixture_server;
mod misbehaviour;
