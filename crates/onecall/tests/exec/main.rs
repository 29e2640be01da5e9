//! `onecall exec`: programs for a host that executes their tools itself.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod host;
mod input;
mod lifecycle;
mod programs;
mod schema;
#[path = "../support/mod.rs"]
mod support;
mod values;
