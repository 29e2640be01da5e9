//! Tool lists in PostgreSQL. Their number and size are limited, and the oldest are removed.

use std::time::Duration;

use onecall_core::storage::{
    ListingKey, MAX_LISTING_BYTES, StoreError, StoredListing, ToolListStore,
};
use onecall_core::{Secret, Timestamp};

use super::columns::Text;
use super::connections::Connections;
use super::error::QueryError;
use super::transaction::Queries;
use super::{PostgresStore, migrations, to_u64};
use crate::rows::Columns;
use crate::rows::answers::{LISTINGS_PER_SERVER, MAX_LISTINGS_BYTES, listing_bytes};

/// How long [`read_listings`] waits: a shell that completes a command asks for the lists.
const READ_PATIENCE: Duration = Duration::from_millis(500);

impl ToolListStore for PostgresStore {
    fn listing(
        &self,
        key: &ListingKey,
        now: Timestamp,
    ) -> Result<Option<StoredListing>, StoreError> {
        self.read(async |queries| find(queries, key, now).await)
    }

    fn put_listing(
        &self,
        key: &ListingKey,
        server: &str,
        listing: &StoredListing,
    ) -> Result<(), StoreError> {
        let bytes = listing_bytes(listing)?;
        let (key, server) = (key.as_slice(), Text(server));
        self.write(None, async |queries| {
            let insert = "INSERT INTO listings (key, server, seen_ms, bytes, tools)
                VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (key) DO UPDATE SET server = excluded.server,
                  seen_ms = excluded.seen_ms, bytes = excluded.bytes, tools = excluded.tools";
            let tools = Text(&listing.tools);
            queries.execute(insert, &[&key, &server, &listing.seen.0, &bytes, &tools]).await?;
            let surplus = "DELETE FROM listings WHERE server = $1 AND key <> $2 AND key NOT IN
                (SELECT key FROM listings WHERE server = $1 ORDER BY seen_ms DESC LIMIT $3)";
            queries.execute(surplus, &[&server, &key, &LISTINGS_PER_SERVER]).await?;
            make_room(queries, key).await
        })
    }

    fn forget_listing(&self, key: &ListingKey) -> Result<(), StoreError> {
        self.write(None, async |queries| {
            let statement = "DELETE FROM listings WHERE key = $1";
            queries.execute(statement, &[&key.as_slice()]).await.map(drop)
        })
    }

    fn forget_listings_of(&self, server: &str) -> Result<(), StoreError> {
        self.write(None, async |queries| {
            let statement = "DELETE FROM listings WHERE server = $1";
            queries.execute(statement, &[&Text(server)]).await.map(drop)
        })
    }
}

async fn find(
    queries: &Queries<'_>,
    key: &ListingKey,
    now: Timestamp,
) -> Result<Option<StoredListing>, QueryError> {
    let query = "SELECT tools, seen_ms FROM listings
        WHERE key = $1 AND seen_ms <= $2 AND octet_length(tools) <= $3";
    let longest = i32::try_from(MAX_LISTING_BYTES).unwrap_or(i32::MAX);
    let row = queries.query_optional(query, &[&key.as_slice(), &now.0, &longest]).await?;
    row.map(|row| Ok(StoredListing { tools: row.text(0)?, seen: Timestamp(row.number(1)?) }))
        .transpose()
}

/// Reads the last tool lists of these entries, in the order of `keys`, from the database at `url`, without
/// changing anything; `None` if the store cannot be used in its present state.
pub(crate) fn read_listings(
    url: &Secret,
    keys: &[ListingKey],
    now: Timestamp,
) -> Option<Vec<Option<StoredListing>>> {
    let connections = Connections::with_patience(url, READ_PATIENCE).ok()?;
    let read = connections.inspect(async |queries| {
        if migrations::version(queries).await? != Some(migrations::VERSION) {
            return Ok(None);
        }
        let mut listings = Vec::with_capacity(keys.len());
        for key in keys {
            listings.push(find(queries, key, now).await?);
        }
        Ok(Some(listings))
    });
    read.ok().flatten()
}

/// Removes the oldest lists, but never `newest`, until the rest fits.
async fn make_room(queries: &Queries<'_>, newest: &[u8]) -> Result<(), QueryError> {
    let sum = "SELECT coalesce(sum(bytes), 0)::bigint FROM listings";
    while to_u64(queries.query_number(sum, &[]).await?) > MAX_LISTINGS_BYTES {
        let statement = "DELETE FROM listings WHERE key IN
            (SELECT key FROM listings WHERE key <> $1 ORDER BY seen_ms LIMIT 1)";
        if queries.execute(statement, &[&newest]).await? == 0 {
            break;
        }
    }
    Ok(())
}
