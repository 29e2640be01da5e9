//! Appends events to journals and reads them back.

use onecall_core::storage::{JournalRefusal, StoredJournal};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::{durable_runs, journal_values, to_i64, to_u64};
use crate::encoding::journal_events::{EVENT_COLUMNS, EncodedEvent, StoredEvent};
use crate::rows::journals::EncodedBatch;

/// The size of all journals.
pub(super) fn total_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    connection
        .prepare_cached("SELECT coalesce(sum(bytes), 0) FROM journals")?
        .query_row([], |row| row.get(0).map(to_u64))
}

/// Appends a batch and adds its size to `total`, the size of all journals. Nothing is written if it
/// is refused.
pub(super) fn append_batch(
    transaction: &Transaction<'_>,
    batch: &mut EncodedBatch<'_>,
    total: &mut u64,
    limit_mb: u64,
) -> rusqlite::Result<Result<(), JournalRefusal>> {
    let Some(run) = durable_runs::number_for_owner(transaction, batch.run, batch.fence)? else {
        return Ok(Err(JournalRefusal::LeaseLost));
    };
    let expected = next_number(transaction, run)?;
    let Some(stored) = batch.stored_before(expected) else {
        return Ok(Err(JournalRefusal::OutOfOrder { expected }));
    };
    if stored > 0 {
        // The batch was written before, and the answer was lost.
        let checksums = checksums(transaction, run, to_i64(batch.first), to_i64(expected))?;
        if checksums.len() != stored || !batch.begins_with(run, &checksums) {
            return Ok(Err(JournalRefusal::OutOfOrder { expected }));
        }
        batch.skip(stored);
    }
    let mut new_values = Vec::new();
    for value in batch.values.values() {
        if !journal_values::is_stored(transaction, run, value.digest)? {
            new_values.push(value);
        }
    }
    let bytes = batch.stored_bytes(&new_values);
    let grown = total.saturating_add(bytes);
    if grown > limit_mb.saturating_mul(1024 * 1024) {
        return Ok(Err(JournalRefusal::Full { limit_mb }));
    }
    for value in new_values {
        journal_values::insert(transaction, run, value)?;
    }
    let next = insert_events(transaction, run, to_i64(expected), &batch.events)?;
    transaction
        .prepare_cached("UPDATE journals SET next = ?2, bytes = bytes + ?3 WHERE run = ?1")?
        .execute(params![run, next, to_i64(bytes)])?;
    *total = grown;
    Ok(Ok(()))
}

/// Inserts events, and returns the number of the one that comes next.
fn insert_events(
    transaction: &Transaction<'_>,
    run: i64,
    first: i64,
    events: &[EncodedEvent],
) -> rusqlite::Result<i64> {
    let mut statement = transaction.prepare_cached(
        "INSERT INTO journal_events (run, number, kind, head, content, value, checksum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let mut number = first;
    for event in events {
        statement.execute(params![
            run,
            number,
            event.kind,
            event.head,
            event.content.inline(),
            event.content.value(),
            event.checksum(run, number),
        ])?;
        number = number.saturating_add(1);
    }
    Ok(number)
}

fn next_number(connection: &Connection, run: i64) -> rusqlite::Result<u64> {
    let next = connection
        .prepare_cached("SELECT next FROM journals WHERE run = ?1")?
        .query_row(params![run], |row| row.get(0).map(to_u64))
        .optional()?;
    Ok(next.unwrap_or(0))
}

/// The checksums of the events from `first` on, up to `end`.
fn checksums(
    connection: &Connection,
    run: i64,
    first: i64,
    end: i64,
) -> rusqlite::Result<Vec<Vec<u8>>> {
    let query = "SELECT checksum FROM journal_events
        WHERE run = ?1 AND number >= ?2 AND number < ?3 ORDER BY number";
    let mut statement = connection.prepare_cached(query)?;
    let rows = statement.query_map(params![run, first, end], |row| row.get(0))?;
    rows.collect()
}

/// Reads the events of a run up to the first damaged one.
pub(super) fn read_journal(connection: &Connection, run: i64) -> rusqlite::Result<StoredJournal> {
    let statement =
        format!("SELECT {EVENT_COLUMNS} FROM journal_events WHERE run = ?1 ORDER BY number");
    let mut statement = connection.prepare_cached(&statement)?;
    let mut rows = statement.query(params![run])?;
    let mut events = Vec::new();
    let mut number = 0_i64;
    while let Some(row) = rows.next()? {
        let Some(stored) = StoredEvent::from_row(row, run, number) else { break };
        let value = match stored.value() {
            Some(digest) => journal_values::read(connection, run, digest)?,
            None => None,
        };
        let Some(event) = stored.decode(value) else { break };
        events.push(event);
        number = number.saturating_add(1);
    }
    let last = "SELECT coalesce(max(number) + 1, 0) FROM journal_events WHERE run = ?1";
    let last: i64 = connection.query_row(last, params![run], |row| row.get(0))?;
    let written = next_number(connection, run)?.max(to_u64(last));
    Ok(StoredJournal { events, unreadable: written.saturating_sub(to_u64(number)) })
}
