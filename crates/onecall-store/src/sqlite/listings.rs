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
use crate::rows::answers::{LISTINGS_PER_SERVER, MAX_LISTINGS_BYTES, listing_bytes};

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
        let bytes = listing_bytes(listing)?;
        self.write(|transaction| {
            transaction.execute(
                "INSERT OR REPLACE INTO listings (key, server, seen_ms, bytes, tools)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                params![key, server, listing.seen.0, bytes, listing.tools],
            )?;
            transaction.execute(
                "DELETE FROM listings WHERE server = ?1 AND key <> ?2 AND key NOT IN
                   (SELECT key FROM listings WHERE server = ?1 ORDER BY seen_ms DESC LIMIT ?3)",
                params![server, key, LISTINGS_PER_SERVER],
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
    while transaction.query_row(sum, [], |row| row.get(0)).map(to_u64)? > MAX_LISTINGS_BYTES {
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

/// Reads the last tool lists of these entries, in the order of `keys`, from the store at `path`, without
/// changing anything; `None` if the store cannot be used in its present state.
pub(crate) fn read_listings(
    path: &Path,
    keys: &[ListingKey],
    now: Timestamp,
) -> Option<Vec<Option<StoredListing>>> {
    check_own(path).ok()?;
    let connection = connect(path).ok()?;
    connection.busy_timeout(BUSY_TIMEOUT).ok()?;
    if migrations::version(&connection).ok()? != migrations::VERSION {
        return None;
    }
    keys.iter().map(|key| find(&connection, key, now).ok()).collect()
}
