//! The SQLite implementation of the storage traits: [`open`] returns a
//! [`Store`](onecall_core::storage::Store) in a file of the user, for data that outlives a process.

mod sqlite;

pub use sqlite::{Inspection, inspect, open, read_listings};
