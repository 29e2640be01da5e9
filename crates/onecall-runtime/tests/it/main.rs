//! The runtime, embedded in another program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod durable;
mod embed;
mod repeated_runs;
mod turns;
