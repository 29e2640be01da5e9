//! Sums over runs and calls in PostgreSQL.

use std::collections::HashMap;

use onecall_core::Timestamp;
use onecall_core::storage::{FigureQuery, PeriodFigures, StoredCall};
use tokio_postgres::types::ToSql;

use super::columns::Text;
use super::error::QueryError;
use super::to_i64;
use super::transaction::Queries;
use crate::rows::Columns as _;
use crate::rows::figures::{
    FigureKey, FigureRows, REMOVED_AT_ONCE, RUNS_AT_ONCE, add_interval, add_tool, runs_at_once,
    user_of,
};
use crate::rows::runs::{CALL_COLUMNS, RUN_ID_COLUMN, SUMMARY_COLUMNS, read_call, read_summary};

/// Adds to the sums, with one statement.
pub(super) async fn add(queries: &Queries<'_>, rows: &FigureRows<'_>) -> Result<(), QueryError> {
    let users: Vec<Text<'_>> = rows.iter().map(|(key, _)| Text(key.user)).collect();
    let tools: Vec<Text<'_>> = rows.iter().map(|(key, _)| Text(key.tool)).collect();
    let numbers = |column: fn(&FigureKey<'_>) -> i64| {
        rows.iter().map(|(key, _)| column(&key)).collect::<Vec<_>>()
    };
    let amounts: Vec<i64> = rows.iter().map(|(_, value)| value).collect();
    let statement = "INSERT INTO figures (unit_ms, \"user\", starts_ms, tool, counter, value)
        SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::bigint[],
          $6::bigint[])
        ON CONFLICT (unit_ms, \"user\", starts_ms, tool, counter)
        DO UPDATE SET value = figures.value + excluded.value";
    let values: [&(dyn ToSql + Sync); 6] = [
        &numbers(|key| key.unit),
        &users,
        &numbers(|key| key.starts),
        &tools,
        &numbers(|key| key.counter),
        &amounts,
    ];
    queries.execute(statement, &values).await.map(drop)
}

/// Whether there are runs that are not in the sums yet.
pub(super) async fn has_older_runs(queries: &Queries<'_>) -> Result<bool, QueryError> {
    queries.exists("SELECT 1 FROM runs WHERE NOT in_figures LIMIT 1", &[]).await
}

/// Adds some runs that are not in the sums yet, the newest first, and returns whether there may be more. Runs
/// that another gateway adds at this moment are left out.
pub(super) async fn add_older_runs(queries: &Queries<'_>) -> Result<bool, QueryError> {
    let query = format!(
        "SELECT {SUMMARY_COLUMNS} FROM runs WHERE NOT in_figures
         ORDER BY started_ms DESC LIMIT $1 FOR UPDATE SKIP LOCKED"
    );
    let found = queries.query(&query, &[&RUNS_AT_ONCE]).await?;
    let mut runs = found.iter().map(read_summary).collect::<Result<Vec<_>, _>>()?;
    runs.truncate(runs_at_once(runs.iter().map(|run| to_i64(run.call_count))));
    let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    let query = format!("SELECT {CALL_COLUMNS}, run_id FROM calls WHERE run_id = ANY($1)");
    let mut calls = HashMap::<String, Vec<StoredCall>>::new();
    for row in queries.query(&query, &[&ids]).await? {
        calls.entry(row.text(RUN_ID_COLUMN)?).or_default().push(read_call(&row)?);
    }
    let mut rows = FigureRows::default();
    for run in &runs {
        let calls = calls.get(run.id.as_str()).map_or(&[][..], Vec::as_slice);
        rows.add(run, &PeriodFigures::of_run(run, calls));
    }
    add(queries, &rows).await?;
    queries.execute("UPDATE runs SET in_figures = TRUE WHERE id = ANY($1)", &[&ids]).await?;
    Ok(!runs.is_empty())
}

pub(super) async fn read(
    queries: &Queries<'_>,
    query: &FigureQuery,
) -> Result<PeriodFigures, QueryError> {
    let mut figures = PeriodFigures::default();
    let (user, since, until) = (user_of(query), query.since.0, query.until.0);
    // Each interval is looked up by itself, which skips the sums over tools between them.
    let intervals = "SELECT starts_ms, counter, value
        FROM generate_series($3::bigint, $4::bigint - 1, $1::bigint) AS start
        JOIN figures ON unit_ms = $1 AND \"user\" = $2 AND starts_ms = start AND tool = ''";
    let unit = query.unit.milliseconds();
    for row in queries.query(intervals, &[&unit, &user, &since, &until]).await? {
        add_interval(&mut figures, row.number(0)?, row.number(1)?, row.number(2)?);
    }
    let tools = "SELECT tool, counter, sum(value)::bigint FROM figures
        WHERE unit_ms = $1 AND \"user\" = $2 AND starts_ms >= $3 AND starts_ms < $4 AND tool <> ''
        GROUP BY tool, counter";
    let unit = query.tool_unit.milliseconds();
    for row in queries.query(tools, &[&unit, &user, &since, &until]).await? {
        add_tool(&mut figures, row.text(0)?, row.number(1)?, row.number(2)?);
    }
    Ok(figures)
}

/// Removes sums over runs that began before this time, at most one batch, and returns how many.
pub(super) async fn remove_before(
    queries: &Queries<'_>,
    oldest: Timestamp,
) -> Result<u64, QueryError> {
    // The first condition is one of an index.
    let delete = "DELETE FROM figures WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM figures WHERE starts_ms <= $1 AND starts_ms + unit_ms <= $1 LIMIT $2))";
    queries.execute(delete, &[&oldest.0, &REMOVED_AT_ONCE]).await
}
