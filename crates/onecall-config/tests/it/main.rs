//! Configurations: which file is chosen, what it means, and what is wrong with it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod fleet;
mod fuzz;
mod hostile;
mod json;
mod loading;
mod local_tools;
mod per_user;
mod problems;
mod ptc_mcp;
mod schema;
mod search;
mod trust;
mod values;
