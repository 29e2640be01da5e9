//! The implementations of the storage traits: in a SQLite file of the user, and in a PostgreSQL database
//! that several machines share. [`open_configured`] returns the one that a configuration asks for, and
//! [`open_durable`] one in a file; both implement every storage trait. [`open`] is for those who need
//! only records and caches.

mod encoding;
mod postgres;
mod rows;
mod sqlite;

pub use postgres::{DatabaseInspection, PostgresStore, inspect_database};
pub use sqlite::{
    DEFAULT_JOURNAL_MB, Inspection, SqliteStore, inspect, open, open_durable, unavailable,
};

use std::sync::Arc;

use onecall_config::StoreLocation;
use onecall_core::Timestamp;
use onecall_core::storage::{CompleteStore, ListingKey, StoreError, StoredListing};

/// Creates the store at this location. All journals together take at most `journal_mb` megabytes. Nothing
/// is opened or connected yet; if that cannot work, every method of the store fails with the reason.
#[must_use]
pub fn open_configured(location: &StoreLocation, journal_mb: u64) -> Arc<dyn CompleteStore> {
    match location {
        StoreLocation::File(path) => open_durable(path.clone(), journal_mb),
        StoreLocation::Database(url) => match PostgresStore::new(url, journal_mb) {
            Ok(store) => Arc::new(store),
            Err(StoreError::Disabled { reason }) => unavailable(reason),
            Err(error) => unavailable(error.to_string()),
        },
    }
}

/// Reads the last tool lists of these entries, in the order of `keys`. It creates, repairs, moves and logs
/// nothing and hardly waits: if the store cannot be used in its present state, there are no lists.
#[must_use]
pub fn read_listings(
    location: &StoreLocation,
    keys: &[ListingKey],
    now: Timestamp,
) -> Vec<Option<StoredListing>> {
    let read = match location {
        StoreLocation::File(path) => sqlite::read_listings(path, keys, now),
        StoreLocation::Database(url) => postgres::read_listings(url, keys, now),
    };
    read.unwrap_or_else(|| vec![None; keys.len()])
}
