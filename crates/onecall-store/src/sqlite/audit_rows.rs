//! The rows and checkpoints of the audit trail in SQLite.

use onecall_core::Timestamp;
use onecall_core::storage::{
    AuditCheckpoint, AuditColumns, AuditFilter, AuditHead, AuditRow, StoredAuditRow,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::filtered::{self, DIALECT};
use super::{to_i64, to_u64};
use crate::rows::audit::{self as rows, CHECKPOINT_COLUMNS, COLUMNS, EncodedEntry, digest};

/// Adds rows to the end of the trail.
pub(super) fn append(connection: &Connection, entries: &[EncodedEntry]) -> rusqlite::Result<()> {
    let mut last = match head(connection)? {
        Some(head) => head,
        None => last_row(connection)?,
    };
    // If rows were inserted after the newest one, the new rows come after them. They are chained to the
    // row that was the newest, so that the check finds the others.
    let mut number = last.number.max(last_number(connection)?);
    let mut insert = connection.prepare_cached(
        "INSERT INTO audit (number, at_ms, user, run_id, tool, content, digest)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for EncodedEntry { columns, content } in entries {
        number = number.saturating_add(1);
        last = last.followed_by(number, content);
        let AuditColumns { at, user, run, tool } = columns;
        let digest = last.digest.into_bytes();
        insert.execute(params![to_i64(number), at.0, user, run, tool, content, digest])?;
    }
    connection
        .prepare_cached(
            "INSERT INTO audit_head (id, number, digest) VALUES (1, ?1, ?2)
             ON CONFLICT (id) DO UPDATE SET number = ?1, digest = ?2",
        )?
        .execute(params![to_i64(last.number), last.digest.into_bytes()])?;
    Ok(())
}

/// The newest row, as it was noted when it was written.
pub(super) fn head(connection: &Connection) -> rusqlite::Result<Option<AuditHead>> {
    read_head(connection, "SELECT number, digest FROM audit_head WHERE id = 1")
}

/// The last row that is there, or else the last one that was removed because of its age.
fn last_row(connection: &Connection) -> rusqlite::Result<AuditHead> {
    for table in ["audit", "audit_checkpoints"] {
        let query = format!("SELECT number, digest FROM {table} ORDER BY number DESC LIMIT 1");
        if let Some(head) = read_head(connection, &query)? {
            return Ok(head);
        }
    }
    Ok(AuditHead::beginning())
}

fn read_head(connection: &Connection, query: &str) -> rusqlite::Result<Option<AuditHead>> {
    connection.prepare_cached(query)?.query_row([], |row| rows::read_head(row)).optional()
}

/// The largest number of a row; 0 if there is none.
fn last_number(connection: &Connection) -> rusqlite::Result<u64> {
    connection
        .prepare_cached("SELECT coalesce(max(number), 0) FROM audit")?
        .query_row([], |row| row.get(0).map(to_u64))
}

/// The number of the last row before the first one that is not older than `before`.
pub(super) fn last_before(
    connection: &Connection,
    before: Timestamp,
) -> rusqlite::Result<Option<u64>> {
    // This reads the old rows only.
    let first_kept = "SELECT number FROM audit WHERE at_ms >= ?1 ORDER BY number LIMIT 1";
    let first_kept: Option<i64> =
        connection.query_row(first_kept, params![before.0], |row| row.get(0)).optional()?;
    let last = match first_kept {
        Some(number) => to_u64(number).saturating_sub(1),
        None => last_number(connection)?,
    };
    Ok((last > 0).then_some(last))
}

/// Passes the rows up to a number to `visit`, oldest first.
pub(super) fn for_each(
    connection: &Connection,
    through: u64,
    mut visit: impl FnMut(StoredAuditRow),
) -> rusqlite::Result<()> {
    let query = format!("SELECT {COLUMNS} FROM audit WHERE number <= ?1 ORDER BY number");
    let mut statement = connection.prepare(&query)?;
    let mut found = statement.query(params![to_i64(through)])?;
    while let Some(row) = found.next()? {
        visit(read_row(row)?);
    }
    Ok(())
}

/// The rows that match the filter, newest first. A row whose content cannot be read is left out: the
/// check of the trail reports it.
pub(super) fn select(
    connection: &Connection,
    filter: &AuditFilter,
) -> rusqlite::Result<Vec<AuditRow>> {
    let query = rows::query(filter, None, &DIALECT);
    let mut statement = connection.prepare(&query.text)?;
    let mut found = statement.query(filtered::values(&query))?;
    let limit = filter.limit.unwrap_or(usize::MAX);
    let mut selected = Vec::new();
    while selected.len() < limit
        && let Some(row) = found.next()?
    {
        selected.extend(rows::select(read_row(row)?, filter));
    }
    Ok(selected)
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<StoredAuditRow> {
    let (at, user) = (Timestamp(row.get(1)?), text(row, 2)?);
    let columns = AuditColumns { at, user, run: text(row, 3)?, tool: text(row, 4)? };
    let (number, content, digest) = (to_u64(row.get(0)?), text(row, 5)?, digest(row.get(6)?));
    Ok(StoredAuditRow { number, columns, content, digest })
}

/// A text in which bytes that are not UTF-8 are replaced: such a row was changed, and the check has to
/// say so.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(String::from_utf8_lossy(row.get_ref(column)?.as_bytes()?).into_owned())
}

/// The checkpoints, oldest first.
pub(super) fn checkpoints(connection: &Connection) -> rusqlite::Result<Vec<AuditCheckpoint>> {
    let query = format!("SELECT {CHECKPOINT_COLUMNS} FROM audit_checkpoints ORDER BY number");
    connection.prepare(&query)?.query_map([], |row| rows::read_checkpoint(row))?.collect()
}

/// Removes the rows up to `last`, of which there are `removed`, and leaves a checkpoint that follows
/// `newest`.
pub(super) fn remove(
    connection: &Connection,
    newest: Option<&AuditCheckpoint>,
    last: AuditHead,
    removed: u64,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let checkpoint = AuditCheckpoint::new(newest, last, removed, now);
    connection.execute(
        "INSERT INTO audit_checkpoints (number, removed, at_ms, digest, seal)
         VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            to_i64(last.number),
            to_i64(removed),
            now.0,
            last.digest.into_bytes(),
            checkpoint.seal.into_bytes(),
        ],
    )?;
    connection.execute("DELETE FROM audit WHERE number <= ?1", params![to_i64(last.number)])?;
    Ok(())
}
