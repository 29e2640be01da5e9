//! The large values of journals in SQLite.

use onecall_core::Digest;
use rusqlite::{Connection, Transaction, params};

use crate::encoding::journal_values::{CompressedValue, decode};

pub(super) fn insert(
    transaction: &Transaction<'_>,
    run: i64,
    value: &CompressedValue,
) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(
        "INSERT INTO journal_values (run, digest, part, length, data)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for (number, part) in (0_i64..).zip(value.parts()) {
        let digest = value.digest.into_bytes();
        statement.execute(params![run, digest, number, part.length, part.data])?;
    }
    Ok(())
}

/// Whether the run has a value with this digest.
pub(super) fn is_stored(
    connection: &Connection,
    run: i64,
    digest: Digest,
) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM journal_values WHERE run = ?1 AND digest = ?2")?
        .exists(params![run, digest.into_bytes()])
}

/// Reads a value; `None` if it is missing or damaged.
pub(super) fn read(
    connection: &Connection,
    run: i64,
    digest: Digest,
) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut statement = connection.prepare_cached(
        "SELECT length, data FROM journal_values WHERE run = ?1 AND digest = ?2 ORDER BY part",
    )?;
    let parts = statement.query_map(params![run, digest.into_bytes()], |row| {
        // A value of another type is a damaged part.
        Ok((row.get(0).unwrap_or(-1), row.get(1).unwrap_or_default()))
    })?;
    let parts: Vec<(i64, Vec<u8>)> = parts.collect::<rusqlite::Result<_>>()?;
    Ok(decode(digest, parts.into_iter()))
}
