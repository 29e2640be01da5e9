//! Tool lists in SQLite. Their number and size are limited, and the oldest are removed.

use std::path::Path;
use std::time::Duration;

use onecall_core::Timestamp;
use onecall_core::storage::{
    ListingKey, MAX_LISTING_BYTES, StoreError, StoredListing, ToolListStore,
};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::connection::{check_own, connect};
use super::{SqliteStore, migrations, to_u64};

/// How many entries with one server name are kept, the latest ones: different configurations may
/// have a server of the same name.
const PER_SERVER: i64 = 8;

/// The size limit of all tool lists together.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// How long [`read_listings`] waits for another process.
const BUSY_TIMEOUT: Duration = Duration::from_millis(50);

impl ToolListStore for SqliteStore {
    fn listing(
        &self,
        key: &ListingKey,
        now: Timestamp,
    ) -> Result<Option<StoredListing>, StoreError> {
        self.read(|connection| find(connection, key, now))
    }

    fn put_listing(
        &self,
        key: &ListingKey,
        server: &str,
        listing: &StoredListing,
    ) -> Result<(), StoreError> {
        let bytes = listing.tools.len();
        if bytes > MAX_LISTING_BYTES {
            let (what, limit) = ("a list of tools", MAX_LISTING_BYTES);
            return Err(StoreError::TooLarge { what, bytes, limit });
        }
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.write(|transaction| {
            transaction.execute(
                "INSERT OR REPLACE INTO listings (key, server, seen_ms, bytes, tools)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                params![key, server, listing.seen.0, bytes, listing.tools],
            )?;
            transaction.execute(
                "DELETE FROM listings WHERE server = ?1 AND key <> ?2 AND key NOT IN
                   (SELECT key FROM listings WHERE server = ?1 ORDER BY seen_ms DESC LIMIT ?3)",
                params![server, key, PER_SERVER],
            )?;
            make_room(transaction, key)
        })
    }

    fn forget_listing(&self, key: &ListingKey) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction.execute("DELETE FROM listings WHERE key = ?1", params![key]).map(drop)
        })
    }

    fn forget_listings_of(&self, server: &str) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction.execute("DELETE FROM listings WHERE server = ?1", params![server]).map(drop)
        })
    }
}

/// Removes the oldest lists, but never `newest`, until the rest fits.
fn make_room(transaction: &Transaction<'_>, newest: &ListingKey) -> rusqlite::Result<()> {
    let sum = "SELECT coalesce(sum(bytes), 0) FROM listings";
    while transaction.query_row(sum, [], |row| row.get(0)).map(to_u64)? > MAX_BYTES {
        let removed = transaction.execute(
            "DELETE FROM listings WHERE key IN
               (SELECT key FROM listings WHERE key <> ?1 ORDER BY seen_ms LIMIT 1)",
            params![newest],
        )?;
        if removed == 0 {
            break;
        }
    }
    Ok(())
}

fn find(
    connection: &Connection,
    key: &ListingKey,
    now: Timestamp,
) -> rusqlite::Result<Option<StoredListing>> {
    let mut statement = connection.prepare_cached(
        "SELECT tools, seen_ms FROM listings
         WHERE key = ?1 AND seen_ms <= ?2 AND length(CAST(tools AS BLOB)) <= ?3",
    )?;
    let longest = i64::try_from(MAX_LISTING_BYTES).unwrap_or(i64::MAX);
    let listing = statement.query_row(params![key, now.0, longest], |row| {
        Ok(StoredListing { tools: row.get(0)?, seen: Timestamp(row.get(1)?) })
    });
    listing.optional()
}

/// Reads the last tool lists of these entries, in the order of `keys`, from the store at `path`. It
/// creates, repairs, moves and logs nothing and hardly waits for other processes: if the store
/// cannot be used in its present state, there are no lists.
#[must_use]
pub fn read_listings(
    path: &Path,
    keys: &[ListingKey],
    now: Timestamp,
) -> Vec<Option<StoredListing>> {
    let read = || -> Option<Vec<_>> {
        check_own(path).ok()?;
        let connection = connect(path).ok()?;
        connection.busy_timeout(BUSY_TIMEOUT).ok()?;
        if migrations::version(&connection).ok()? != migrations::VERSION {
            return None;
        }
        keys.iter().map(|key| find(&connection, key, now).ok()).collect()
    };
    read().unwrap_or_else(|| vec![None; keys.len()])
}
