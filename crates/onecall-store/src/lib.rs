//! The SQLite implementation of the storage traits, in a file of the user: [`open`] returns a
//! [`Store`](onecall_core::storage::Store) for records and caches, and [`open_durable`] one that is a
//! [`DurableStore`](onecall_core::storage::DurableStore) for journals and approvals, and an
//! [`AuditTrail`](onecall_core::storage::AuditTrail), too.

mod sqlite;

pub use sqlite::{
    DEFAULT_JOURNAL_MB, Inspection, SqliteStore, inspect, open, open_durable, read_listings,
    unavailable,
};
