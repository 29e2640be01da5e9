//! Sums over runs and calls in SQLite.

use onecall_core::Timestamp;
use onecall_core::storage::{FigureQuery, PeriodFigures, RunSummary, StoredCall};
use rusqlite::{Connection, Transaction, params};

use super::to_i64;
use crate::rows::figures::{
    FigureKey, FigureRows, REMOVED_AT_ONCE, RUNS_AT_ONCE, add_interval, add_tool, runs_at_once,
    user_of,
};
use crate::rows::runs::{CALL_COLUMNS, SUMMARY_COLUMNS, read_call, read_summary};

/// Adds to the sums.
pub(super) fn add(transaction: &Transaction<'_>, rows: &FigureRows<'_>) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(
        "INSERT INTO figures (unit_ms, user, starts_ms, tool, counter, value)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (unit_ms, user, starts_ms, tool, counter)
         DO UPDATE SET value = value + excluded.value",
    )?;
    for (FigureKey { unit, user, starts, tool, counter }, value) in rows.iter() {
        statement.execute(params![unit, user, starts, tool, counter, value])?;
    }
    Ok(())
}

/// Whether there are runs that are not in the sums yet.
pub(super) fn has_older_runs(connection: &Connection) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT 1 FROM runs WHERE in_figures = 0 LIMIT 1")?.exists([])
}

/// Adds some runs that are not in the sums yet, the newest first, and returns whether there may be more.
pub(super) fn add_older_runs(transaction: &Transaction<'_>) -> rusqlite::Result<bool> {
    let mut statement = transaction.prepare_cached(&format!(
        "SELECT {SUMMARY_COLUMNS} FROM runs WHERE in_figures = 0 ORDER BY started_ms DESC LIMIT ?1"
    ))?;
    let found = statement.query_map(params![RUNS_AT_ONCE], |row| read_summary(row))?;
    let mut runs: Vec<RunSummary> = found.collect::<rusqlite::Result<_>>()?;
    runs.truncate(runs_at_once(runs.iter().map(|run| to_i64(run.call_count))));
    let mut read_calls = transaction
        .prepare_cached(&format!("SELECT {CALL_COLUMNS} FROM calls WHERE run_id = ?1"))?;
    let mut calls = Vec::new();
    for run in &runs {
        let found = read_calls.query_map(params![run.id.as_str()], |row| read_call(row))?;
        calls.push(found.collect::<rusqlite::Result<Vec<StoredCall>>>()?);
    }
    let mut rows = FigureRows::default();
    for (run, calls) in runs.iter().zip(&calls) {
        rows.add(run, &PeriodFigures::of_run(run, calls));
    }
    add(transaction, &rows)?;
    let mut mark = transaction.prepare_cached("UPDATE runs SET in_figures = 1 WHERE id = ?1")?;
    for run in &runs {
        mark.execute(params![run.id.as_str()])?;
    }
    Ok(!runs.is_empty())
}

pub(super) fn read(
    connection: &Connection,
    query: &FigureQuery,
) -> rusqlite::Result<PeriodFigures> {
    let mut figures = PeriodFigures::default();
    let (since, until) = (query.since.0, query.until.0);
    // Each interval is looked up by itself, which skips the sums over tools between them.
    let mut statement = connection.prepare_cached(
        "WITH RECURSIVE intervals (start) AS (
           SELECT ?3 UNION ALL SELECT start + ?1 FROM intervals WHERE start + ?1 < ?4)
         SELECT starts_ms, counter, value FROM intervals CROSS JOIN figures
         WHERE unit_ms = ?1 AND user = ?2 AND starts_ms = start AND tool = ''",
    )?;
    let values = params![query.unit.milliseconds(), user_of(query), since, until];
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        add_interval(&mut figures, row.get(0)?, row.get(1)?, row.get(2)?);
    }
    let mut statement = connection.prepare_cached(
        "SELECT tool, counter, sum(value) FROM figures
         WHERE unit_ms = ?1 AND user = ?2 AND starts_ms >= ?3 AND starts_ms < ?4 AND tool <> ''
         GROUP BY tool, counter",
    )?;
    let values = params![query.tool_unit.milliseconds(), user_of(query), since, until];
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        add_tool(&mut figures, row.get(0)?, row.get(1)?, row.get(2)?);
    }
    Ok(figures)
}

/// Removes sums over runs that began before this time, at most one batch, and returns how many.
pub(super) fn remove_before(
    transaction: &Transaction<'_>,
    oldest: Timestamp,
) -> rusqlite::Result<u64> {
    // The first condition is one of an index.
    let delete = "DELETE FROM figures WHERE (unit_ms, user, starts_ms, tool, counter) IN (
        SELECT unit_ms, user, starts_ms, tool, counter FROM figures
        WHERE starts_ms <= ?1 AND starts_ms + unit_ms <= ?1 LIMIT ?2)";
    let removed = transaction.execute(delete, params![oldest.0, REMOVED_AT_ONCE])?;
    Ok(u64::try_from(removed).unwrap_or(0))
}
