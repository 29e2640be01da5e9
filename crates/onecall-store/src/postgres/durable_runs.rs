//! Durable runs in PostgreSQL: their rows, their leases and their end.

use std::collections::HashSet;
use std::time::Duration;

use onecall_core::storage::{DurableRun, DurableState, FinalAnswer, LONGEST_CLOCK_ERROR, Lease};
use onecall_core::{RunId, Timestamp};
use tokio_postgres::types::ToSql;

use super::columns::Text;
use super::error::QueryError;
use super::transaction::Queries;
use super::{to_i64, to_u64};
use crate::encoding::names::name_of;
use crate::rows::Columns;
use crate::rows::durable_runs::{BATCH, RUN_COLUMNS, final_answer, groups_text, read_run};

/// Adds a run. If it was added before, its first lease is renewed, unless that was lost meanwhile.
pub(super) async fn insert(queries: &Queries<'_>, run: &DurableRun) -> Result<(), QueryError> {
    let (answer, lease) = (final_answer(run), run.lease.as_ref());
    let values: [&(dyn ToSql + Sync); 14] = [
        &run.id.as_str(),
        &run.kind,
        &Text(&run.client),
        &run.started.0,
        &run.configuration,
        &run.seed.as_slice(),
        &run.state.name(),
        &run.in_place.as_ref().map(name_of),
        &to_i64(lease.map_or(0, |lease| lease.fence)),
        &lease.map(|lease| Text(&lease.owner)),
        &lease.map(|lease| lease.until.0),
        &answer.map(|answer| answer.at.0),
        &run.principal.user.as_str(),
        &Text(&groups_text(run)),
    ];
    let row = "INSERT INTO durable_runs (id, kind, client, started_ms, configuration, seed, state,
            in_place, fence, owner, lease_until_ms, ended_ms, \"user\", groups)
          VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
          ON CONFLICT (id) DO NOTHING RETURNING number";
    let Some(row) = queries.query_optional(row, &values).await? else {
        return renew_first_lease(queries, run).await;
    };
    let number = row.number(0)?;
    let texts = "INSERT INTO durable_texts (run, request, answer) VALUES ($1, $2, $3)";
    let result = answer.map(|answer| Text(&answer.result));
    queries.execute(texts, &[&number, &Text(&run.request), &result]).await?;
    if answer.is_none() {
        let journal = "INSERT INTO journals (run, next, bytes) VALUES ($1, 0, 0)";
        queries.execute(journal, &[&number]).await?;
    }
    Ok(())
}

async fn renew_first_lease(queries: &Queries<'_>, run: &DurableRun) -> Result<(), QueryError> {
    let Some(lease) = &run.lease else { return Ok(()) };
    let statement = "UPDATE durable_runs SET lease_until_ms = $4
        WHERE id = $1 AND fence = $2 AND owner = $3 AND ended_ms IS NULL";
    let values: [&(dyn ToSql + Sync); 4] =
        [&run.id.as_str(), &to_i64(lease.fence), &Text(&lease.owner), &lease.until.0];
    queries.execute(statement, &values).await.map(drop)
}

pub(super) async fn find(
    queries: &Queries<'_>,
    id: &RunId,
) -> Result<Option<DurableRun>, QueryError> {
    let query = format!(
        "SELECT {RUN_COLUMNS} FROM durable_runs JOIN durable_texts ON run = number WHERE id = $1"
    );
    queries.query_optional(&query, &[&id.as_str()]).await?.as_ref().map(read_run).transpose()
}

/// The runs that have not ended, or all of them.
pub(super) async fn list(
    queries: &Queries<'_>,
    ended: bool,
) -> Result<Vec<DurableRun>, QueryError> {
    let condition = if ended { "" } else { "WHERE ended_ms IS NULL" };
    let query = format!(
        "SELECT {RUN_COLUMNS} FROM durable_runs JOIN durable_texts ON run = number
         {condition} ORDER BY started_ms, number"
    );
    queries.query(&query, &[]).await?.iter().map(read_run).collect()
}

/// The newest runs that have ended and have no record.
pub(super) async fn list_unrecorded(
    queries: &Queries<'_>,
    limit: usize,
) -> Result<Vec<DurableRun>, QueryError> {
    let query = format!(
        "SELECT {RUN_COLUMNS} FROM durable_runs JOIN durable_texts ON run = number
         WHERE ended_ms IS NOT NULL AND NOT EXISTS
           (SELECT 1 FROM runs WHERE runs.id = durable_runs.id)
         ORDER BY ended_ms DESC, number DESC LIMIT $1"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    queries.query(&query, &[&limit]).await?.iter().map(read_run).collect()
}

/// Locks the rows of these runs until the end of the transaction. All transactions lock runs in the
/// same order, and before anything else of a run, so that no two of them wait for each other.
pub(super) async fn lock<'a>(
    queries: &Queries<'_>,
    runs: impl IntoIterator<Item = &'a RunId>,
) -> Result<(), QueryError> {
    let runs: Vec<&str> = runs.into_iter().map(RunId::as_str).collect();
    let query = "SELECT 1 FROM durable_runs WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE";
    queries.query(query, &[&runs]).await.map(drop)
}

/// The number of a run that has not ended and whose current lease has this fencing number. The row of
/// the run is locked.
pub(super) async fn number_for_owner(
    queries: &Queries<'_>,
    id: &RunId,
    fence: u64,
) -> Result<Option<i64>, QueryError> {
    let query = "SELECT number FROM durable_runs
        WHERE id = $1 AND fence = $2 AND owner IS NOT NULL AND ended_ms IS NULL
        FOR NO KEY UPDATE";
    let row = queries.query_optional(query, &[&id.as_str(), &to_i64(fence)]).await?;
    row.map(|row| row.number(0)).transpose()
}

/// Sets one column of a run that has not ended, for the owner of its lease; `false` if the lease was
/// lost.
pub(super) async fn set_for_owner(
    queries: &Queries<'_>,
    id: &RunId,
    fence: u64,
    column: &'static str,
    value: &str,
) -> Result<bool, QueryError> {
    let statement = format!(
        "UPDATE durable_runs SET {column} = $3
         WHERE id = $1 AND fence = $2 AND owner IS NOT NULL AND ended_ms IS NULL"
    );
    Ok(queries.execute(&statement, &[&id.as_str(), &to_i64(fence), &value]).await? > 0)
}

/// Notes that a run waits for a person. A run that is not stored cannot be noted.
pub(super) async fn begin_to_wait(queries: &Queries<'_>, id: &RunId) -> Result<(), QueryError> {
    let statement = "UPDATE durable_runs SET state = $2 WHERE id = $1 AND state = $3";
    let (waiting, running) = (DurableState::Waiting.name(), DurableState::Running.name());
    queries.execute(statement, &[&id.as_str(), &waiting, &running]).await.map(drop)
}

pub(super) async fn take_lease(
    queries: &Queries<'_>,
    id: &RunId,
    owner: &str,
    now: Timestamp,
    length: Duration,
) -> Result<Option<Lease>, QueryError> {
    let until = now.after(length);
    // A lease that was given up has no owner.
    let statement = "UPDATE durable_runs SET fence = fence + 1,
          interruptions = interruptions + CASE WHEN owner IS NULL THEN 0 ELSE 1 END,
          owner = $2, lease_until_ms = $3
        WHERE id = $1 AND ended_ms IS NULL
          AND (owner IS NULL OR lease_until_ms IS NULL
            OR lease_until_ms <= $4 OR lease_until_ms > $5)
        RETURNING fence";
    let latest = until.after(LONGEST_CLOCK_ERROR).0;
    let values: [&(dyn ToSql + Sync); 5] = [&id.as_str(), &Text(owner), &until.0, &now.0, &latest];
    let row = queries.query_optional(statement, &values).await?;
    let fence = row.map(|row| row.number(0)).transpose()?.map(to_u64);
    Ok(fence.map(|fence| Lease { owner: owner.to_owned(), fence, until }))
}

/// Renews a lease; `false` if it was lost.
pub(super) async fn renew_lease(
    queries: &Queries<'_>,
    id: &RunId,
    fence: u64,
    until: Timestamp,
) -> Result<bool, QueryError> {
    let statement = "UPDATE durable_runs SET lease_until_ms = $3
        WHERE id = $1 AND fence = $2 AND owner IS NOT NULL AND ended_ms IS NULL";
    Ok(queries.execute(statement, &[&id.as_str(), &to_i64(fence), &until.0]).await? > 0)
}

/// The runs among these whose lease was lost.
pub(super) async fn lost_leases(
    queries: &Queries<'_>,
    leases: &[(RunId, u64)],
) -> Result<Vec<RunId>, QueryError> {
    let ids: Vec<&str> = leases.iter().map(|(run, _)| run.as_str()).collect();
    let query = "SELECT id, fence FROM durable_runs
        WHERE id = ANY($1) AND owner IS NOT NULL AND ended_ms IS NULL";
    let rows = queries.query(query, &[&ids]).await?;
    let held = rows.iter().map(|row| Ok((row.text(0)?, to_u64(row.number(1)?))));
    let held = held.collect::<Result<HashSet<_>, QueryError>>()?;
    let is_lost = |(run, fence): &&(RunId, u64)| !held.contains(&(run.to_string(), *fence));
    Ok(leases.iter().filter(is_lost).map(|(run, _)| run.clone()).collect())
}

pub(super) async fn give_up_lease(
    queries: &Queries<'_>,
    id: &RunId,
    fence: u64,
) -> Result<(), QueryError> {
    let statement =
        "UPDATE durable_runs SET owner = NULL, lease_until_ms = NULL WHERE id = $1 AND fence = $2";
    queries.execute(statement, &[&id.as_str(), &to_i64(fence)]).await.map(drop)
}

/// The number of a run that has not ended, whatever its lease.
pub(super) async fn number_unfinished(
    queries: &Queries<'_>,
    id: &RunId,
) -> Result<Option<i64>, QueryError> {
    let query = "SELECT number FROM durable_runs WHERE id = $1 AND ended_ms IS NULL";
    let row = queries.query_optional(query, &[&id.as_str()]).await?;
    row.map(|row| row.number(0)).transpose()
}

/// Whether the run is stored and has ended.
pub(super) async fn has_ended(queries: &Queries<'_>, id: &RunId) -> Result<bool, QueryError> {
    let query = "SELECT 1 FROM durable_runs WHERE id = $1 AND ended_ms IS NOT NULL";
    queries.exists(query, &[&id.as_str()]).await
}

/// Ends a run: keeps its answer, withdraws its questions, and deletes its journal and the approvals
/// that were limited to it. The fencing number becomes a new one, so that the owner notices.
pub(super) async fn end(
    queries: &Queries<'_>,
    number: i64,
    id: &RunId,
    answer: &FinalAnswer,
) -> Result<(), QueryError> {
    end_unused(queries, number, answer).await?;
    for table in ["journal_events", "journal_values"] {
        queries.execute(&format!("DELETE FROM {table} WHERE run = $1"), &[&number]).await?;
    }
    let withdraw = "UPDATE questions SET state = 'withdrawn' WHERE run_id = $1 AND state = 'open'";
    queries.execute(withdraw, &[&id.as_str()]).await?;
    queries.execute("DELETE FROM grants WHERE run_id = $1", &[&id.as_str()]).await.map(drop)
}

/// Whether anything outside may depend on a run that has not ended: its journal has events, or it has
/// asked a person.
pub(super) async fn is_used(
    queries: &Queries<'_>,
    number: i64,
    id: &RunId,
) -> Result<bool, QueryError> {
    let query = "SELECT 1 WHERE EXISTS (SELECT 1 FROM journals WHERE run = $1 AND next > 0)
        OR EXISTS (SELECT 1 FROM questions WHERE run_id = $2)";
    queries.exists(query, &[&number, &id.as_str()]).await
}

/// Ends a run on which nothing outside depends: keeps its answer, and ends its lease and its journal.
pub(super) async fn end_unused(
    queries: &Queries<'_>,
    number: i64,
    answer: &FinalAnswer,
) -> Result<(), QueryError> {
    let row = "UPDATE durable_runs SET state = 'ended', ended_ms = $2, fence = fence + 1,
          owner = NULL, lease_until_ms = NULL
        WHERE number = $1";
    queries.execute(row, &[&number, &answer.at.0]).await?;
    let keep_answer = "UPDATE durable_texts SET answer = $2 WHERE run = $1";
    queries.execute(keep_answer, &[&number, &Text(&answer.result)]).await?;
    queries.execute("DELETE FROM journals WHERE run = $1", &[&number]).await.map(drop)
}

/// Removes runs that ended before `before`, at most one batch, with their questions.
pub(super) async fn remove_ended(
    queries: &Queries<'_>,
    before: Timestamp,
) -> Result<u64, QueryError> {
    let chosen = "SELECT number, id FROM durable_runs WHERE ended_ms < $1 LIMIT $2";
    let rows = queries.query(chosen, &[&before.0, &BATCH]).await?;
    let numbers = rows.iter().map(|row| row.number(0)).collect::<Result<Vec<_>, _>>()?;
    let ids = rows.iter().map(|row| row.text(1)).collect::<Result<Vec<_>, _>>()?;
    queries.execute("DELETE FROM durable_texts WHERE run = ANY($1)", &[&numbers]).await?;
    queries.execute("DELETE FROM questions WHERE run_id = ANY($1)", &[&ids]).await?;
    queries.execute("DELETE FROM durable_runs WHERE number = ANY($1)", &[&numbers]).await
}
