//! What outlives a process, kept in SQLite: [`open`] makes a [`Store`](onecall_core::storage::Store)
//! that lives in a file of the user.

mod sqlite;

pub use sqlite::{Inspection, inspect, open, read_listings};
