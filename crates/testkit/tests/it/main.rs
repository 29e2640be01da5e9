//! What the tests of other crates rely on does what they think it does.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod container;
mod fixture_server;
mod misbehaviour;
