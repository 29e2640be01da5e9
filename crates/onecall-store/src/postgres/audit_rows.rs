//! The rows and checkpoints of the audit trail in PostgreSQL.

use onecall_core::Timestamp;
use onecall_core::storage::{
    AuditCheckpoint, AuditColumns, AuditFilter, AuditHead, AuditRow, StoredAuditRow,
};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::columns::Text;
use super::error::QueryError;
use super::filtered::{self, DIALECT};
use super::transaction::Queries;
use super::{to_i64, to_u64};
use crate::rows::Columns;
use crate::rows::audit::{self as rows, CHECKPOINT_COLUMNS, COLUMNS, EncodedEntry, digest};

/// How many rows are read at once.
const ROWS_AT_ONCE: usize = 2_000;

/// Adds rows to the end of the trail, and returns the last one.
pub(super) async fn append(
    queries: &Queries<'_>,
    entries: &[EncodedEntry],
) -> Result<AuditHead, QueryError> {
    let mut last = match head(queries).await? {
        Some(head) => head,
        None => last_row(queries).await?,
    };
    // If rows were inserted after the newest one, the new rows come after them. They are chained to the
    // row that was the newest, so that the check finds the others.
    let mut number = last.number.max(last_number(queries).await?);
    let (mut numbers, mut digests) = (Vec::new(), Vec::new());
    for entry in entries {
        number = number.saturating_add(1);
        last = last.followed_by(number, &entry.content);
        numbers.push(to_i64(number));
        digests.push(last.digest.into_bytes().to_vec());
    }
    let texts = |column: fn(&AuditColumns) -> &String| -> Vec<Text<'_>> {
        entries.iter().map(|entry| Text(column(&entry.columns))).collect()
    };
    let times: Vec<i64> = entries.iter().map(|entry| entry.columns.at.0).collect();
    let contents: Vec<Text<'_>> = entries.iter().map(|entry| Text(&entry.content)).collect();
    let columns: [&(dyn ToSql + Sync); 7] = [
        &numbers,
        &times,
        &texts(|columns| &columns.user),
        &texts(|columns| &columns.run),
        &texts(|columns| &columns.tool),
        &contents,
        &digests,
    ];
    let insert = format!(
        "INSERT INTO audit ({COLUMNS}) SELECT * FROM unnest($1::bigint[], $2::bigint[],
           $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[])"
    );
    queries.execute(&insert, &columns).await?;
    let note = "INSERT INTO audit_head (id, number, digest) VALUES (1, $1, $2)
        ON CONFLICT (id) DO UPDATE SET number = $1, digest = $2";
    let digest = last.digest.into_bytes();
    queries.execute(note, &[&to_i64(last.number), &digest.as_slice()]).await?;
    Ok(last)
}

/// Whether the trail has this row.
pub(super) async fn has_row(queries: &Queries<'_>, row: AuditHead) -> Result<bool, QueryError> {
    let query = "SELECT 1 FROM audit WHERE number = $1 AND digest = $2";
    queries.exists(query, &[&to_i64(row.number), &row.digest.into_bytes().as_slice()]).await
}

/// The newest row, as it was noted when it was written.
pub(super) async fn head(queries: &Queries<'_>) -> Result<Option<AuditHead>, QueryError> {
    read_head(queries, "SELECT number, digest FROM audit_head WHERE id = 1").await
}

/// The last row that is there, or else the last one that was removed because of its age.
async fn last_row(queries: &Queries<'_>) -> Result<AuditHead, QueryError> {
    for table in ["audit", "audit_checkpoints"] {
        let query = format!("SELECT number, digest FROM {table} ORDER BY number DESC LIMIT 1");
        if let Some(head) = read_head(queries, &query).await? {
            return Ok(head);
        }
    }
    Ok(AuditHead::beginning())
}

async fn read_head(queries: &Queries<'_>, query: &str) -> Result<Option<AuditHead>, QueryError> {
    queries.query_optional(query, &[]).await?.as_ref().map(rows::read_head).transpose()
}

/// The largest number of a row; 0 if there is none.
async fn last_number(queries: &Queries<'_>) -> Result<u64, QueryError> {
    let query = "SELECT coalesce(max(number), 0) FROM audit";
    queries.query_number(query, &[]).await.map(to_u64)
}

/// The number of the last row before the first one that is not older than `before`.
pub(super) async fn last_before(
    queries: &Queries<'_>,
    before: Timestamp,
) -> Result<Option<u64>, QueryError> {
    // This reads the old rows only.
    let query = "SELECT number FROM audit WHERE at_ms >= $1 ORDER BY number LIMIT 1";
    let last = match queries.query_optional(query, &[&before.0]).await? {
        Some(first_kept) => to_u64(first_kept.number(0)?).saturating_sub(1),
        None => last_number(queries).await?,
    };
    Ok((last > 0).then_some(last))
}

/// Passes the rows up to a number to `visit`, oldest first.
pub(super) async fn for_each(
    queries: &Queries<'_>,
    through: u64,
    mut visit: impl FnMut(StoredAuditRow),
) -> Result<(), QueryError> {
    let query = format!(
        "SELECT {COLUMNS} FROM audit WHERE number > $1 AND number <= $2
         ORDER BY number LIMIT {ROWS_AT_ONCE}"
    );
    let mut last = i64::MIN;
    loop {
        let found = queries.query(&query, &[&last, &to_i64(through)]).await?;
        let Some(newest) = found.last() else { return Ok(()) };
        last = newest.number(0)?;
        for row in &found {
            visit(read_row(row)?);
        }
    }
}

/// The rows that match the filter, newest first. A row whose content cannot be read is left out: the
/// check of the trail reports it.
pub(super) async fn select(
    queries: &Queries<'_>,
    filter: &AuditFilter,
) -> Result<Vec<AuditRow>, QueryError> {
    let is_read_to_select = filter.tool.is_some() || filter.denied || filter.decisions_of.is_some();
    let limit = filter.limit.unwrap_or(usize::MAX);
    let (mut selected, mut filter) = (Vec::new(), filter.clone());
    while selected.len() < limit {
        let missing = if is_read_to_select { usize::MAX } else { limit - selected.len() };
        let query = rows::query(&filter, Some(missing.min(ROWS_AT_ONCE)), &DIALECT);
        let found = filtered::rows(queries, &query).await?;
        let Some(oldest) = found.last() else { break };
        filter.before = Some(to_u64(oldest.number(0)?));
        for row in &found {
            selected.extend(rows::select(read_row(row)?, &filter));
        }
    }
    selected.truncate(limit);
    Ok(selected)
}

fn read_row(row: &Row) -> Result<StoredAuditRow, QueryError> {
    let (at, user) = (Timestamp(row.number(1)?), row.text(2)?);
    let columns = AuditColumns { at, user, run: row.text(3)?, tool: row.text(4)? };
    let (number, content) = (to_u64(row.number(0)?), row.text(5)?);
    Ok(StoredAuditRow { number, columns, content, digest: digest(row.bytes(6)?) })
}

/// The checkpoints, oldest first.
pub(super) async fn checkpoints(queries: &Queries<'_>) -> Result<Vec<AuditCheckpoint>, QueryError> {
    let query = format!("SELECT {CHECKPOINT_COLUMNS} FROM audit_checkpoints ORDER BY number");
    queries.query(&query, &[]).await?.iter().map(rows::read_checkpoint).collect()
}

/// Removes the rows up to `last`, of which there are `removed`, and leaves a checkpoint that follows
/// `newest`.
pub(super) async fn remove(
    queries: &Queries<'_>,
    newest: Option<&AuditCheckpoint>,
    last: AuditHead,
    removed: u64,
    now: Timestamp,
) -> Result<(), QueryError> {
    let checkpoint = AuditCheckpoint::new(newest, last, removed, now);
    let insert = "INSERT INTO audit_checkpoints (number, removed, at_ms, digest, seal)
        VALUES ($1, $2, $3, $4, $5)";
    let (digest, seal) = (last.digest.into_bytes(), checkpoint.seal.into_bytes());
    let values: [&(dyn ToSql + Sync); 5] =
        [&to_i64(last.number), &to_i64(removed), &now.0, &digest.as_slice(), &seal.as_slice()];
    queries.execute(insert, &values).await?;
    let delete = "DELETE FROM audit WHERE number <= $1";
    queries.execute(delete, &[&to_i64(last.number)]).await.map(drop)
}
