//! What outlives a process, in a file or a database that others use and damage.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod answers;
mod audit;
mod browser_sessions;
mod durable;
mod gateways;
mod listings;
mod pins;
mod place;
mod postgres;
mod records;
mod sqlite;
mod user_secrets;
mod users;
