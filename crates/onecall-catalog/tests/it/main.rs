//! Tool definitions and programs, as the catalog reads, finds and writes them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod catalog;
mod declared_results;
mod file_names;
mod fit;
mod fuzz;
mod hostile_schemas;
mod natural_queries;
mod program_check;
mod program_nesting;
mod program_source;
mod published_schemas;
mod search;
mod signatures;
mod support;
mod surface;
mod typescript_check;
mod typescript_results;
