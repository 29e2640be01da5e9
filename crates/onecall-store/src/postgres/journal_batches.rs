//! Appends events to journals and reads them back.

use onecall_core::Digest;
use onecall_core::storage::{JournalRefusal, StoredJournal};
use tokio_postgres::types::ToSql;

use super::columns::Text;
use super::error::QueryError;
use super::transaction::Queries;
use super::{durable_runs, to_i64, to_u64};
use crate::encoding::journal_events::{EVENT_COLUMNS, EncodedEvent, StoredEvent};
use crate::encoding::journal_values::{CompressedValue, decode};
use crate::rows::Columns;
use crate::rows::journals::EncodedBatch;

/// How many events are read at once.
const EVENTS_AT_ONCE: i64 = 1_000;

/// The size of all journals.
pub(super) async fn total_bytes(queries: &Queries<'_>) -> Result<u64, QueryError> {
    let sum = "SELECT coalesce(sum(bytes), 0)::bigint FROM journals";
    queries.query_number(sum, &[]).await.map(to_u64)
}

/// Appends a batch and adds its size to `total`, the size of all journals. Nothing is written if it
/// is refused.
pub(super) async fn append_batch(
    queries: &Queries<'_>,
    batch: &mut EncodedBatch<'_>,
    total: &mut u64,
    limit_mb: u64,
) -> Result<Result<(), JournalRefusal>, QueryError> {
    let owned = durable_runs::number_for_owner(queries, batch.run, batch.fence).await?;
    let Some(run) = owned else { return Ok(Err(JournalRefusal::LeaseLost)) };
    let expected = next_number(queries, run).await?;
    let Some(stored) = batch.stored_before(expected) else {
        return Ok(Err(JournalRefusal::OutOfOrder { expected }));
    };
    if stored > 0 {
        // The batch was written before, and the answer was lost.
        let checksums = checksums(queries, run, to_i64(batch.first), to_i64(expected)).await?;
        if checksums.len() != stored || !batch.begins_with(run, &checksums) {
            return Ok(Err(JournalRefusal::OutOfOrder { expected }));
        }
        batch.skip(stored);
    }
    let new_values = new_values(queries, run, batch).await?;
    let bytes = batch.stored_bytes(&new_values);
    let grown = total.saturating_add(bytes);
    if grown > limit_mb.saturating_mul(1024 * 1024) {
        return Ok(Err(JournalRefusal::Full { limit_mb }));
    }
    for value in new_values {
        insert_value(queries, run, value).await?;
    }
    let next = insert_events(queries, run, to_i64(expected), &batch.events).await?;
    let statement = "UPDATE journals SET next = $2, bytes = bytes + $3 WHERE run = $1";
    queries.execute(statement, &[&run, &next, &to_i64(bytes)]).await?;
    *total = grown;
    Ok(Ok(()))
}

/// The values of a batch that the run does not have yet.
async fn new_values<'a>(
    queries: &Queries<'_>,
    run: i64,
    batch: &'a EncodedBatch<'_>,
) -> Result<Vec<&'a CompressedValue>, QueryError> {
    if batch.values.is_empty() {
        return Ok(Vec::new());
    }
    let digests: Vec<&[u8]> = batch.values.keys().map(<[u8; 32]>::as_slice).collect();
    let query = "SELECT DISTINCT digest FROM journal_values WHERE run = $1 AND digest = ANY($2)";
    let rows = queries.query(query, &[&run, &digests]).await?;
    let stored = rows.iter().map(|row| row.array(0)).collect::<Result<Vec<[u8; 32]>, _>>()?;
    let values = batch.values.iter().filter(|(digest, _)| !stored.contains(*digest));
    Ok(values.map(|(_, value)| value).collect())
}

async fn insert_value(
    queries: &Queries<'_>,
    run: i64,
    value: &CompressedValue,
) -> Result<(), QueryError> {
    let statement = "INSERT INTO journal_values (run, digest, part, length, data)
        VALUES ($1, $2, $3, $4, $5)";
    let digest = value.digest.into_bytes();
    for (number, part) in (0_i64..).zip(value.parts()) {
        let values: [&(dyn ToSql + Sync); 5] =
            [&run, &digest.as_slice(), &number, &part.length, &part.data];
        queries.execute(statement, &values).await?;
    }
    Ok(())
}

/// Inserts events with one statement, and returns the number of the one that comes next.
async fn insert_events(
    queries: &Queries<'_>,
    run: i64,
    first: i64,
    events: &[EncodedEvent],
) -> Result<i64, QueryError> {
    let numbers: Vec<i64> = (first..).take(events.len()).collect();
    let kinds: Vec<&str> = events.iter().map(|event| event.kind).collect();
    let heads: Vec<Text<'_>> = events.iter().map(|event| Text(&event.head)).collect();
    let contents: Vec<Option<&[u8]>> = events.iter().map(|event| event.content.inline()).collect();
    let values: Vec<Option<Vec<u8>>> =
        events.iter().map(|event| event.content.value().map(Vec::from)).collect();
    let checksums = events.iter().zip(&numbers).map(|(event, number)| event.checksum(run, *number));
    let checksums: Vec<Vec<u8>> = checksums.map(Vec::from).collect();
    let statement = "INSERT INTO journal_events (run, number, kind, head, content, value, checksum)
        SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::text[], $5::bytea[], $6::bytea[],
          $7::bytea[])";
    let columns: [&(dyn ToSql + Sync); 7] =
        [&run, &numbers, &kinds, &heads, &contents, &values, &checksums];
    queries.execute(statement, &columns).await?;
    Ok(first.saturating_add(i64::try_from(events.len()).unwrap_or(i64::MAX)))
}

async fn next_number(queries: &Queries<'_>, run: i64) -> Result<u64, QueryError> {
    let query = "SELECT next FROM journals WHERE run = $1";
    let row = queries.query_optional(query, &[&run]).await?;
    Ok(row.map(|row| row.number(0)).transpose()?.map_or(0, to_u64))
}

/// The checksums of the events from `first` on, up to `end`.
async fn checksums(
    queries: &Queries<'_>,
    run: i64,
    first: i64,
    end: i64,
) -> Result<Vec<Vec<u8>>, QueryError> {
    let query = "SELECT checksum FROM journal_events
        WHERE run = $1 AND number >= $2 AND number < $3 ORDER BY number";
    queries.query(query, &[&run, &first, &end]).await?.iter().map(|row| row.bytes(0)).collect()
}

/// Reads the events of a run up to the first damaged one.
pub(super) async fn read_journal(
    queries: &Queries<'_>,
    run: i64,
) -> Result<StoredJournal, QueryError> {
    let query = format!(
        "SELECT {EVENT_COLUMNS} FROM journal_events WHERE run = $1 AND number >= $2
         ORDER BY number LIMIT {EVENTS_AT_ONCE}"
    );
    let mut events = Vec::new();
    let mut number = 0_i64;
    'events: loop {
        let rows = queries.query(&query, &[&run, &number]).await?;
        if rows.is_empty() {
            break;
        }
        for row in &rows {
            let Some(stored) = StoredEvent::from_row(row, run, number) else { break 'events };
            let value = match stored.value() {
                Some(digest) => read_value(queries, run, digest).await?,
                None => None,
            };
            let Some(event) = stored.decode(value) else { break 'events };
            events.push(event);
            number = number.saturating_add(1);
        }
    }
    let last = "SELECT coalesce(max(number) + 1, 0) FROM journal_events WHERE run = $1";
    let last = to_u64(queries.query_number(last, &[&run]).await?);
    let written = next_number(queries, run).await?.max(last);
    Ok(StoredJournal { events, unreadable: written.saturating_sub(to_u64(number)) })
}

/// Reads a value; `None` if it is missing or damaged.
async fn read_value(
    queries: &Queries<'_>,
    run: i64,
    digest: Digest,
) -> Result<Option<Vec<u8>>, QueryError> {
    let query =
        "SELECT length, data FROM journal_values WHERE run = $1 AND digest = $2 ORDER BY part";
    let rows = queries.query(query, &[&run, &digest.into_bytes().as_slice()]).await?;
    let parts = rows.iter().map(|row| Ok((row.number(0)?, row.bytes(1)?)));
    let parts = parts.collect::<Result<Vec<_>, QueryError>>()?;
    Ok(decode(digest, parts.into_iter()))
}
