//! The SQLite implementation of the storage traits, in a file of the user: [`open`] returns a
//! [`Store`](onecall_core::storage::Store) for records and caches, and [`open_durable`] one that is a
//! [`DurableStore`](onecall_core::storage::DurableStore) for journals and approvals, too.

mod sqlite;

pub use sqlite::{
    DEFAULT_JOURNAL_MB, Inspection, SqliteStore, inspect, open, open_durable, read_listings,
    unavailable,
};
