//! The bridge against small shell scripts and the fixture server: how they start, how
//! they answer, how they end.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod calls;
mod fake;
mod remote;
mod repeat;
mod start;
mod stop;
mod user_access;
mod user_bridges;
mod user_logs;
mod user_processes;
mod user_reload;
