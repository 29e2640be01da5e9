//! Durable runs in SQLite: their rows, their leases and their end.

use std::time::Duration;

use onecall_core::storage::{DurableRun, DurableState, FinalAnswer, LONGEST_CLOCK_ERROR, Lease};
use onecall_core::{RunId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::{to_i64, to_u64};
use crate::encoding::names::name_of;
use crate::rows::durable_runs::{BATCH, RUN_COLUMNS, final_answer, groups_text, read_run};

/// Adds a run. If it was added before, its first lease is renewed, unless that was lost meanwhile.
pub(super) fn insert(transaction: &Transaction<'_>, run: &DurableRun) -> rusqlite::Result<()> {
    let answer = final_answer(run);
    let lease = run.lease.as_ref();
    let row = "INSERT INTO durable_runs (id, kind, client, started_ms, configuration, seed, state,
                 in_place, fence, owner, lease_until_ms, ended_ms, user, groups)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
               ON CONFLICT (id) DO NOTHING";
    let added = transaction.prepare_cached(row)?.execute(params![
        run.id.as_str(),
        run.kind,
        run.client,
        run.started.0,
        run.configuration,
        run.seed,
        run.state.name(),
        run.in_place.as_ref().map(name_of),
        to_i64(lease.map_or(0, |lease| lease.fence)),
        lease.map(|lease| &lease.owner),
        lease.map(|lease| lease.until.0),
        answer.map(|answer| answer.at.0),
        run.principal.user.as_str(),
        groups_text(run),
    ])?;
    if added == 0 {
        return renew_first_lease(transaction, run);
    }
    let number = transaction.last_insert_rowid();
    let texts = "INSERT INTO durable_texts (run, request, answer) VALUES (?1, ?2, ?3)";
    let result = answer.map(|answer| &answer.result);
    transaction.prepare_cached(texts)?.execute(params![number, run.request, result])?;
    if answer.is_none() {
        let journal = "INSERT INTO journals (run, next, bytes) VALUES (?1, 0, 0)";
        transaction.prepare_cached(journal)?.execute(params![number])?;
    }
    Ok(())
}

fn renew_first_lease(transaction: &Transaction<'_>, run: &DurableRun) -> rusqlite::Result<()> {
    let Some(lease) = &run.lease else { return Ok(()) };
    let statement = "UPDATE durable_runs SET lease_until_ms = ?4
        WHERE id = ?1 AND fence = ?2 AND owner = ?3 AND ended_ms IS NULL";
    let (fence, until) = (to_i64(lease.fence), lease.until.0);
    transaction
        .prepare_cached(statement)?
        .execute(params![run.id.as_str(), fence, lease.owner, until])
        .map(drop)
}

pub(super) fn find(connection: &Connection, id: &RunId) -> rusqlite::Result<Option<DurableRun>> {
    let statement = format!(
        "SELECT {RUN_COLUMNS} FROM durable_runs JOIN durable_texts ON run = number WHERE id = ?1"
    );
    connection
        .prepare_cached(&statement)?
        .query_row(params![id.as_str()], |row| read_run(row))
        .optional()
}

/// The statement that lists the runs that have not ended, or all of them.
pub(super) fn list_statement(ended: bool) -> String {
    let condition = if ended { "" } else { "WHERE ended_ms IS NULL" };
    // A cross join keeps the order of the tables, so that the index gives the order of the runs.
    format!(
        "SELECT {RUN_COLUMNS} FROM durable_runs CROSS JOIN durable_texts ON run = number
         {condition} ORDER BY started_ms, number"
    )
}

pub(super) fn list(connection: &Connection, ended: bool) -> rusqlite::Result<Vec<DurableRun>> {
    connection.prepare_cached(&list_statement(ended))?.query_map([], |row| read_run(row))?.collect()
}

/// The newest runs that have ended and have no record.
pub(super) fn list_unrecorded(
    connection: &Connection,
    limit: usize,
) -> rusqlite::Result<Vec<DurableRun>> {
    let query = format!(
        "SELECT {RUN_COLUMNS} FROM durable_runs CROSS JOIN durable_texts ON run = number
         WHERE ended_ms IS NOT NULL AND NOT EXISTS
           (SELECT 1 FROM runs WHERE runs.id = durable_runs.id)
         ORDER BY ended_ms DESC, number DESC LIMIT ?1"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    connection.prepare_cached(&query)?.query_map([limit], |row| read_run(row))?.collect()
}

/// The number of a run that has not ended and whose current lease has this fencing number.
pub(super) fn number_for_owner(
    connection: &Connection,
    id: &RunId,
    fence: u64,
) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached(
            "SELECT number FROM durable_runs
             WHERE id = ?1 AND fence = ?2 AND owner IS NOT NULL AND ended_ms IS NULL",
        )?
        .query_row(params![id.as_str(), to_i64(fence)], |row| row.get(0))
        .optional()
}

/// Sets one column of a run that has not ended, for the owner of its lease; `false` if the lease was
/// lost.
pub(super) fn set_for_owner(
    transaction: &Transaction<'_>,
    id: &RunId,
    fence: u64,
    column: &'static str,
    value: &str,
) -> rusqlite::Result<bool> {
    let Some(number) = number_for_owner(transaction, id, fence)? else { return Ok(false) };
    let statement = format!("UPDATE durable_runs SET {column} = ?2 WHERE number = ?1");
    transaction.execute(&statement, params![number, value])?;
    Ok(true)
}

/// Notes that a run waits for a person. A run that is not stored cannot be noted.
pub(super) fn begin_to_wait(transaction: &Transaction<'_>, id: &RunId) -> rusqlite::Result<()> {
    let statement = "UPDATE durable_runs SET state = ?2 WHERE id = ?1 AND state = ?3";
    let (waiting, running) = (DurableState::Waiting.name(), DurableState::Running.name());
    transaction.prepare_cached(statement)?.execute(params![id.as_str(), waiting, running])?;
    Ok(())
}

pub(super) fn take_lease(
    transaction: &Transaction<'_>,
    id: &RunId,
    owner: &str,
    now: Timestamp,
    length: Duration,
) -> rusqlite::Result<Option<Lease>> {
    let until = now.after(length);
    let fence = transaction
        .query_row(
            // A lease that was given up has no owner.
            "UPDATE durable_runs SET fence = fence + 1,
               interruptions = interruptions + (owner IS NOT NULL),
               owner = ?2, lease_until_ms = ?3
             WHERE id = ?1 AND ended_ms IS NULL
               AND (owner IS NULL OR lease_until_ms IS NULL
                 OR lease_until_ms <= ?4 OR lease_until_ms > ?5)
             RETURNING fence",
            params![id.as_str(), owner, until.0, now.0, until.after(LONGEST_CLOCK_ERROR).0],
            |row| row.get(0).map(to_u64),
        )
        .optional()?;
    Ok(fence.map(|fence| Lease { owner: owner.to_owned(), fence, until }))
}

/// Renews a lease; `false` if it was lost.
pub(super) fn renew_lease(
    transaction: &Transaction<'_>,
    id: &RunId,
    fence: u64,
    until: Timestamp,
) -> rusqlite::Result<bool> {
    let Some(number) = number_for_owner(transaction, id, fence)? else { return Ok(false) };
    transaction
        .prepare_cached("UPDATE durable_runs SET lease_until_ms = ?2 WHERE number = ?1")?
        .execute(params![number, until.0])?;
    Ok(true)
}

/// The runs among these whose lease was lost.
pub(super) fn lost_leases(
    connection: &Connection,
    leases: &[(RunId, u64)],
) -> rusqlite::Result<Vec<RunId>> {
    let mut lost = Vec::new();
    for (run, fence) in leases {
        if number_for_owner(connection, run, *fence)?.is_none() {
            lost.push(run.clone());
        }
    }
    Ok(lost)
}

pub(super) fn give_up_lease(
    transaction: &Transaction<'_>,
    id: &RunId,
    fence: u64,
) -> rusqlite::Result<()> {
    transaction.execute(
        "UPDATE durable_runs SET owner = NULL, lease_until_ms = NULL WHERE id = ?1 AND fence = ?2",
        params![id.as_str(), to_i64(fence)],
    )?;
    Ok(())
}

/// The number of a run that has not ended, whatever its lease.
pub(super) fn number_unfinished(
    connection: &Connection,
    id: &RunId,
) -> rusqlite::Result<Option<i64>> {
    let statement = "SELECT number FROM durable_runs WHERE id = ?1 AND ended_ms IS NULL";
    connection.query_row(statement, params![id.as_str()], |row| row.get(0)).optional()
}

/// Ends a run: keeps its answer, withdraws its questions, and deletes its journal and the approvals
/// that were limited to it. The fencing number becomes a new one, so that the owner notices.
pub(super) fn end(
    transaction: &Transaction<'_>,
    number: i64,
    id: &RunId,
    answer: &FinalAnswer,
) -> rusqlite::Result<()> {
    end_unused(transaction, number, answer)?;
    for delete in
        ["DELETE FROM journal_events WHERE run = ?1", "DELETE FROM journal_values WHERE run = ?1"]
    {
        transaction.prepare_cached(delete)?.execute(params![number])?;
    }
    transaction
        .prepare_cached(
            "UPDATE questions SET state = 'withdrawn' WHERE run_id = ?1 AND state = 'open'",
        )?
        .execute(params![id.as_str()])?;
    let grants = "DELETE FROM grants WHERE run_id = ?1";
    transaction.prepare_cached(grants)?.execute(params![id.as_str()])?;
    Ok(())
}

/// Whether anything outside may depend on a run that has not ended: its journal has events, or it has
/// asked a person.
pub(super) fn is_used(connection: &Connection, number: i64, id: &RunId) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM journals WHERE run = ?1 AND next > 0)
               OR EXISTS (SELECT 1 FROM questions WHERE run_id = ?2)",
        )?
        .query_row(params![number, id.as_str()], |row| row.get(0))
}

/// Ends a run on which nothing outside depends: keeps its answer, and ends its lease and its journal.
pub(super) fn end_unused(
    transaction: &Transaction<'_>,
    number: i64,
    answer: &FinalAnswer,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "UPDATE durable_runs SET state = 'ended', ended_ms = ?2, fence = fence + 1,
               owner = NULL, lease_until_ms = NULL
             WHERE number = ?1",
        )?
        .execute(params![number, answer.at.0])?;
    let keep_answer = "UPDATE durable_texts SET answer = ?2 WHERE run = ?1";
    transaction.prepare_cached(keep_answer)?.execute(params![number, answer.result])?;
    let journal = "DELETE FROM journals WHERE run = ?1";
    transaction.prepare_cached(journal)?.execute(params![number])?;
    Ok(())
}

/// Removes runs that ended before `before`, at most one batch, with their questions.
pub(super) fn remove_ended(
    transaction: &Transaction<'_>,
    before: Timestamp,
) -> rusqlite::Result<u64> {
    let chosen = "SELECT number, id FROM durable_runs WHERE ended_ms < ?1 LIMIT ?2";
    let runs: Vec<(i64, String)> = transaction
        .prepare(chosen)?
        .query_map(params![before.0, BATCH], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (number, id) in &runs {
        transaction.execute("DELETE FROM durable_runs WHERE number = ?1", params![number])?;
        transaction.execute("DELETE FROM durable_texts WHERE run = ?1", params![number])?;
        transaction.execute("DELETE FROM questions WHERE run_id = ?1", params![id])?;
    }
    Ok(u64::try_from(runs.len()).unwrap_or(u64::MAX))
}

/// Whether a run has not ended, a question is open, a user is known or has secrets, or there is an
/// audit trail.
pub(super) fn depend_on_store(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM durable_runs WHERE ended_ms IS NULL)
           OR EXISTS (SELECT 1 FROM questions WHERE state = 'open')
           OR EXISTS (SELECT 1 FROM users)
           OR EXISTS (SELECT 1 FROM user_secrets)
           OR EXISTS (SELECT 1 FROM audit)",
        [],
        |row| row.get(0),
    )
}
