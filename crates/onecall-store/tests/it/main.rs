//! What outlives a process, in a file that others use and damage.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod audit;
mod durable;
mod sqlite;
mod users;
