//! Run records in SQLite.

use std::time::Duration;

use onecall_core::storage::{
    CallFacts, Found, Retention, RunDetail, RunFilter, RunRecord, RunSummary, Runs, StoreError,
};
use onecall_core::{RunId, TextSizes, Timestamp, Tokens};
use rusqlite::{Connection, Row, ToSql, Transaction, params};
use serde_json::Value;

use super::{SqliteStore, count, whole};

/// The columns that [`summary`] reads, in its order.
const SUMMARY: &str = "id, started_ms, client, kind, language, engine, session, program_sha256, \
    outcome, error_kind, error_message, duration_us, output_bytes, output_truncated, calls, \
    failed_calls, cached_calls, direct_tokens, onecall_tokens, tokens_estimated, detail, \
    direct_bytes, onecall_bytes";

/// The columns that [`call`] reads, in its order.
const CALL: &str = "calls.name, server, arguments_sha256, arguments_bytes, result_bytes, \
    started_us, calls.duration_us, error, cached, tokens, denied_by";

/// How many runs are removed in one transaction, so that other processes can write in between.
const BATCH: i64 = 500;

/// How many identifiers are returned for an ambiguous beginning.
const NAMED: i64 = 5;

impl Runs for SqliteStore {
    fn put_run(&self, record: &RunRecord) -> Result<(), StoreError> {
        self.write(|transaction| {
            insert_run(transaction, record)?;
            insert_calls(transaction, &record.run.id, &record.calls)
        })
    }

    fn runs(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, StoreError> {
        let pattern = filter.tool.as_deref().map(containing);
        let since = filter.since.unwrap_or(Timestamp(i64::MIN));
        let limit = filter.limit.and_then(|limit| i64::try_from(limit).ok()).unwrap_or(-1);
        self.read(|connection| {
            let mut statement = connection.prepare(&format!(
                "SELECT {SUMMARY} FROM runs
                 WHERE started_ms >= ?1 AND (NOT ?2 OR outcome <> 'ok')
                   AND (?3 IS NULL OR EXISTS (SELECT 1 FROM calls
                     WHERE run_id = runs.id AND name LIKE ?3 ESCAPE '\\'))
                 ORDER BY started_ms DESC, id DESC LIMIT ?4"
            ))?;
            let rows =
                statement.query_map(params![since.0, filter.failed, pattern, limit], summary)?;
            rows.collect()
        })
    }

    fn find_run(&self, beginning: &str) -> Result<Found, StoreError> {
        // The range contains exactly the identifiers with this beginning.
        let end = format!("{beginning}\u{10ffff}");
        self.read(|connection| {
            let ids: Vec<String> = connection
                .prepare(
                    "SELECT id FROM runs WHERE id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3",
                )?
                .query_map(params![beginning, end, NAMED], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            match ids.as_slice() {
                [] => Ok(Found::Nothing),
                [id] => Ok(Found::One(Box::new(whole_run(connection, id)?))),
                ids => Ok(Found::Several(ids.iter().map(RunId::known).collect())),
            }
        })
    }

    fn each_call(
        &self,
        since: Option<Timestamp>,
        visit: &mut dyn FnMut(&RunId, CallFacts),
    ) -> Result<(), StoreError> {
        let since = since.unwrap_or(Timestamp(i64::MIN));
        self.read(|connection| {
            let mut statement = connection.prepare(&format!(
                "SELECT {CALL}, runs.id FROM runs JOIN calls ON calls.run_id = runs.id
                 WHERE runs.started_ms >= ?1"
            ))?;
            let mut rows = statement.query(params![since.0])?;
            while let Some(row) = rows.next()? {
                visit(&RunId::known(row.get::<_, String>(11)?), call(row)?);
            }
            Ok(())
        })
    }

    fn prune_runs(&self, retention: &Retention, now: Timestamp) -> Result<u64, StoreError> {
        let oldest = now.before(retention.keep);
        let mut pruned = 0;
        loop {
            let removed = self.write(|transaction| {
                let mut removed = remove_before(transaction, oldest)?;
                if removed == 0 {
                    removed = remove_surplus(transaction, retention.max_bytes)?;
                }
                Ok(removed)
            })?;
            if removed == 0 {
                break;
            }
            pruned += removed;
        }
        if pruned > 0 {
            // Returns free pages to the file system, in steps that do not block other processes.
            self.with(&self.writing, |link| {
                // Each step frees one page.
                let mut statement = link.connection.prepare("PRAGMA incremental_vacuum(4096)")?;
                let mut steps = statement.query([])?;
                while steps.next()?.is_some() {}
                Ok(())
            })?;
        }
        Ok(pruned)
    }
}

fn insert_run(transaction: &Transaction<'_>, record: &RunRecord) -> rusqlite::Result<()> {
    let run = &record.run;
    let (error_kind, error_message) = match &run.error {
        Some((kind, message)) => (Some(kind), Some(message)),
        None => (None, None),
    };
    let argv = (!record.argv.is_empty()).then(|| Value::from(record.argv.as_slice()).to_string());
    let values: [&dyn ToSql; 28] = [
        &run.id.as_str(),
        &run.started.0,
        &run.client,
        &run.kind,
        &run.language,
        &run.engine,
        &run.session,
        &run.program_hash,
        &run.outcome,
        &error_kind,
        &error_message,
        &microseconds(run.duration),
        &whole(run.output_bytes),
        &run.output_truncated,
        &whole(run.call_count),
        &whole(run.failed_calls),
        &whole(run.cached_calls),
        &run.counted_tokens.map(|tokens| whole(tokens.direct)),
        &run.counted_tokens.map(|tokens| whole(tokens.onecall)),
        &run.counted_tokens.map(|tokens| tokens.estimated),
        &run.detail.name(),
        &run.sizes.map(|sizes| whole(sizes.direct)),
        &run.sizes.map(|sizes| whole(sizes.onecall)),
        &record.program,
        &record.output,
        &record.tools,
        &argv,
        &i64::try_from(record.stored_bytes()).unwrap_or(i64::MAX),
    ];
    let places = (1..=values.len()).map(|place| format!("?{place}")).collect::<Vec<_>>().join(", ");
    let statement = format!(
        "INSERT INTO runs ({SUMMARY}, program, output, tools, argv, stored_bytes) VALUES ({places})"
    );
    transaction.execute(&statement, values.as_slice()).map(drop)
}

fn insert_calls(
    transaction: &Transaction<'_>,
    id: &RunId,
    calls: &[CallFacts],
) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare(
        "INSERT INTO calls (run_id, position, name, server, arguments_sha256, arguments_bytes,
           result_bytes, started_us, duration_us, error, cached, tokens, denied_by, arguments,
           result_kind, result)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
    )?;
    for (position, call) in calls.iter().enumerate() {
        let (result_kind, result) = match &call.result {
            Some((kind, text)) => (Some(kind), Some(text)),
            None => (None, None),
        };
        statement.execute(params![
            id.as_str(),
            i64::try_from(position).unwrap_or(i64::MAX),
            call.name,
            call.server,
            call.arguments_hash,
            whole(call.arguments_bytes),
            whole(call.result_bytes),
            microseconds(call.started),
            call.duration.map(microseconds),
            call.error,
            call.cached,
            call.counted_tokens.map(whole),
            call.denied_by,
            call.arguments,
            result_kind,
            result,
        ])?;
    }
    Ok(())
}

fn whole_run(connection: &Connection, id: &str) -> rusqlite::Result<RunRecord> {
    let statement =
        format!("SELECT {SUMMARY}, program, output, tools, argv FROM runs WHERE id = ?1");
    let mut record = connection.query_row(&statement, params![id], |row| {
        let (program, output, tools) = (row.get(23)?, row.get(24)?, row.get(25)?);
        let argv: Option<String> = row.get(26)?;
        let argv = argv.and_then(|argv| serde_json::from_str(&argv).ok()).unwrap_or_default();
        Ok(RunRecord { run: summary(row)?, program, argv, output, tools, calls: Vec::new() })
    })?;
    let statement = format!(
        "SELECT {CALL}, arguments, result_kind, result FROM calls
         WHERE run_id = ?1 ORDER BY position"
    );
    let mut statement = connection.prepare(&statement)?;
    let calls = statement.query_map(params![id], |row| {
        let kind: Option<String> = row.get(12)?;
        let result: Option<String> = row.get(13)?;
        Ok(CallFacts { arguments: row.get(11)?, result: kind.zip(result), ..call(row)? })
    })?;
    record.calls = calls.collect::<rusqlite::Result<_>>()?;
    Ok(record)
}

fn summary(row: &Row<'_>) -> rusqlite::Result<RunSummary> {
    let kind: Option<String> = row.get(9)?;
    let message: Option<String> = row.get(10)?;
    let direct: Option<i64> = row.get(17)?;
    let onecall: Option<i64> = row.get(18)?;
    let estimated = row.get::<_, Option<bool>>(19)?.unwrap_or_default();
    let direct_bytes: Option<i64> = row.get(21)?;
    let onecall_bytes: Option<i64> = row.get(22)?;
    Ok(RunSummary {
        id: RunId::known(row.get::<_, String>(0)?),
        started: Timestamp(row.get(1)?),
        client: row.get(2)?,
        kind: row.get(3)?,
        language: row.get(4)?,
        engine: row.get(5)?,
        session: row.get(6)?,
        program_hash: row.get(7)?,
        outcome: row.get(8)?,
        error: kind.zip(message),
        duration: duration(row.get(11)?),
        output_bytes: count(row.get(12)?),
        output_truncated: row.get(13)?,
        call_count: count(row.get(14)?),
        failed_calls: count(row.get(15)?),
        cached_calls: count(row.get(16)?),
        sizes: direct_bytes
            .zip(onecall_bytes)
            .map(|(direct, onecall)| TextSizes { direct: count(direct), onecall: count(onecall) }),
        counted_tokens: direct.zip(onecall).map(|(direct, onecall)| Tokens {
            direct: count(direct),
            onecall: count(onecall),
            estimated,
        }),
        detail: match row.get::<_, String>(20)?.as_str() {
            "full" => RunDetail::Full,
            _ => RunDetail::Metadata,
        },
    })
}

fn call(row: &Row<'_>) -> rusqlite::Result<CallFacts> {
    Ok(CallFacts {
        name: row.get(0)?,
        server: row.get(1)?,
        arguments_hash: row.get(2)?,
        arguments_bytes: count(row.get(3)?),
        result_bytes: count(row.get(4)?),
        started: duration(row.get(5)?),
        duration: row.get::<_, Option<i64>>(6)?.map(duration),
        error: row.get(7)?,
        cached: row.get(8)?,
        counted_tokens: row.get::<_, Option<i64>>(9)?.map(count),
        denied_by: row.get(10)?,
        arguments: None,
        result: None,
    })
}

fn remove_before(transaction: &Transaction<'_>, oldest: Timestamp) -> rusqlite::Result<u64> {
    let old = "SELECT id FROM runs WHERE started_ms < ?1 ORDER BY started_ms LIMIT ?2";
    remove(transaction, old, params![oldest.0, BATCH])
}

/// Removes the oldest runs that exceed the limit, at most one batch.
fn remove_surplus(transaction: &Transaction<'_>, max_bytes: u64) -> rusqlite::Result<u64> {
    let sum = "SELECT coalesce(sum(stored_bytes), 0) FROM runs";
    let mut surplus =
        count(transaction.query_row(sum, [], |row| row.get(0))?).saturating_sub(max_bytes);
    let mut statement =
        transaction.prepare("SELECT stored_bytes FROM runs ORDER BY started_ms, id LIMIT ?1")?;
    let mut rows = statement.query(params![BATCH])?;
    let mut oldest: i64 = 0;
    while surplus > 0
        && let Some(row) = rows.next()?
    {
        surplus = surplus.saturating_sub(count(row.get(0)?));
        oldest += 1;
    }
    let old = "SELECT id FROM runs ORDER BY started_ms, id LIMIT ?1";
    remove(transaction, old, params![oldest])
}

/// Removes the runs that a query selects, with their calls.
fn remove(
    transaction: &Transaction<'_>,
    query: &str,
    values: &[&dyn ToSql],
) -> rusqlite::Result<u64> {
    transaction.execute(&format!("DELETE FROM calls WHERE run_id IN ({query})"), values)?;
    let removed =
        transaction.execute(&format!("DELETE FROM runs WHERE id IN ({query})"), values)?;
    Ok(u64::try_from(removed).unwrap_or(0))
}

/// A `LIKE` pattern that matches every text that contains `text`.
fn containing(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{escaped}%")
}

fn microseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

fn duration(microseconds: i64) -> Duration {
    Duration::from_micros(count(microseconds))
}
