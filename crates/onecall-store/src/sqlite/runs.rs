//! Run records in SQLite.

use std::time::Duration;

use onecall_core::storage::{
    ReplayData, Retention, RunDetail, RunFilter, RunLookup, RunRecord, RunStore, RunSummary,
    StoreError, StoredCall,
};
use onecall_core::{RunId, TextSizes, Timestamp, TokenUsage, UserName};
use rusqlite::{Connection, Row, ToSql, Transaction, params};
use serde_json::Value;

use super::record_journals::{self, EncodedReplay};
use super::{SqliteStore, to_i64, to_u64};

/// The columns that [`read_summary`] reads, in its order.
const SUMMARY_COLUMNS: &str = "id, started_ms, client, kind, language, engine, session, \
    program_sha256, \
    outcome, error_kind, error_message, duration_us, output_bytes, output_truncated, calls, \
    failed_calls, cached_calls, direct_tokens, onecall_tokens, tokens_estimated, detail, \
    direct_bytes, onecall_bytes, user";

/// The columns that [`read_call`] reads, in its order.
const CALL_COLUMNS: &str = "calls.name, server, arguments_sha256, arguments_bytes, result_bytes, \
    started_us, calls.duration_us, error, cached, tokens, denied_by";

/// How many runs are removed in one transaction, so that other processes can write in between.
const BATCH: i64 = 500;

/// How many identifiers are returned for an ambiguous beginning.
const MAX_CANDIDATES: i64 = 5;

impl RunStore for SqliteStore {
    fn put_run(&self, record: &RunRecord) -> Result<(), StoreError> {
        // Compressing takes time, so it is done while other processes can still write.
        let journal = EncodedReplay::new(&record.run.id, &record.replay)
            .map_err(|source| StoreError::database(&self.path, source))?;
        self.write(|transaction| {
            let journal_bytes = journal.as_ref().map_or(0, EncodedReplay::stored_bytes);
            insert_run(transaction, record, record.stored_bytes() + journal_bytes)?;
            journal.iter().try_for_each(|journal| journal.insert(transaction, &record.run.id))?;
            insert_calls(transaction, &record.run.id, &record.calls)
        })
    }

    fn runs(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, StoreError> {
        let pattern = filter.tool.as_deref().map(like_pattern);
        let since = filter.since.unwrap_or(Timestamp(i64::MIN));
        let limit = filter.limit.and_then(|limit| i64::try_from(limit).ok()).unwrap_or(-1);
        self.read(|connection| {
            let mut statement = connection.prepare(&format!(
                "SELECT {SUMMARY_COLUMNS} FROM runs
                 WHERE started_ms >= ?1 AND (NOT ?2 OR outcome <> 'ok')
                   AND (?5 IS NULL OR user = ?5)
                   AND (?3 IS NULL OR EXISTS (SELECT 1 FROM calls
                     WHERE run_id = runs.id AND name LIKE ?3 ESCAPE '\\'))
                 ORDER BY started_ms DESC, id DESC LIMIT ?4"
            ))?;
            let user = filter.user.as_ref().map(UserName::as_str);
            let selected = params![since.0, filter.failed, pattern, limit, user];
            statement.query_map(selected, read_summary)?.collect()
        })
    }

    fn find_run(&self, beginning: &str) -> Result<RunLookup, StoreError> {
        // The range contains exactly the identifiers with this beginning.
        let end = format!("{beginning}\u{10ffff}");
        self.read(|connection| {
            let ids: Vec<String> = connection
                .prepare(
                    "SELECT id FROM runs WHERE id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3",
                )?
                .query_map(params![beginning, end, MAX_CANDIDATES], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            match ids.as_slice() {
                [] => Ok(RunLookup::Nothing),
                [id] => Ok(RunLookup::One(Box::new(read_run(connection, id)?))),
                ids => Ok(RunLookup::Several(ids.iter().map(RunId::from_existing).collect())),
            }
        })
    }

    fn for_each_call(
        &self,
        since: Option<Timestamp>,
        visit: &mut dyn FnMut(&RunId, StoredCall),
    ) -> Result<(), StoreError> {
        let since = since.unwrap_or(Timestamp(i64::MIN));
        self.read(|connection| {
            let mut statement = connection.prepare(&format!(
                "SELECT {CALL_COLUMNS}, runs.id FROM runs JOIN calls ON calls.run_id = runs.id
                 WHERE runs.started_ms >= ?1"
            ))?;
            let mut rows = statement.query(params![since.0])?;
            while let Some(row) = rows.next()? {
                visit(&RunId::from_existing(row.get::<_, String>(11)?), read_call(row)?);
            }
            Ok(())
        })
    }

    fn prune_runs(&self, retention: &Retention, now: Timestamp) -> Result<u64, StoreError> {
        let oldest = now.before(retention.max_age);
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
            self.free_pages()?;
        }
        Ok(pruned)
    }
}

impl SqliteStore {
    /// Returns free pages to the file system, in steps that do not block other processes.
    pub(super) fn free_pages(&self) -> Result<(), StoreError> {
        self.with(&self.writing_connection, |file_connection| {
            // Each step frees one page.
            let mut statement =
                file_connection.connection.prepare("PRAGMA incremental_vacuum(4096)")?;
            let mut steps = statement.query([])?;
            while steps.next()?.is_some() {}
            Ok(())
        })
    }
}

fn insert_run(
    transaction: &Transaction<'_>,
    record: &RunRecord,
    stored_bytes: usize,
) -> rusqlite::Result<()> {
    let run = &record.run;
    let (error_kind, error_message) = match &run.error {
        Some((kind, message)) => (Some(kind), Some(message)),
        None => (None, None),
    };
    let argv = (!record.argv.is_empty()).then(|| Value::from(record.argv.as_slice()).to_string());
    let values: [&dyn ToSql; 29] = [
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
        &to_i64(run.output_bytes),
        &run.output_truncated,
        &to_i64(run.call_count),
        &to_i64(run.failed_calls),
        &to_i64(run.cached_calls),
        &run.counted_tokens.map(|tokens| to_i64(tokens.direct)),
        &run.counted_tokens.map(|tokens| to_i64(tokens.onecall)),
        &run.counted_tokens.map(|tokens| tokens.estimated),
        &run.detail.name(),
        &run.sizes.map(|sizes| to_i64(sizes.direct)),
        &run.sizes.map(|sizes| to_i64(sizes.onecall)),
        &run.user.as_str(),
        &record.program,
        &record.output,
        &record.tools,
        &argv,
        &i64::try_from(stored_bytes).unwrap_or(i64::MAX),
    ];
    let placeholders =
        (1..=values.len()).map(|number| format!("?{number}")).collect::<Vec<_>>().join(", ");
    let statement = format!(
        "INSERT INTO runs ({SUMMARY_COLUMNS}, program, output, tools, argv, stored_bytes) \
         VALUES ({placeholders})"
    );
    transaction.execute(&statement, values.as_slice()).map(drop)
}

fn insert_calls(
    transaction: &Transaction<'_>,
    id: &RunId,
    calls: &[StoredCall],
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
            to_i64(call.arguments_bytes),
            to_i64(call.result_bytes),
            microseconds(call.started),
            call.duration.map(microseconds),
            call.error,
            call.cached,
            call.counted_tokens.map(to_i64),
            call.denied_by,
            call.arguments,
            result_kind,
            result,
        ])?;
    }
    Ok(())
}

fn read_run(connection: &Connection, id: &str) -> rusqlite::Result<RunRecord> {
    let statement =
        format!("SELECT {SUMMARY_COLUMNS}, program, output, tools, argv FROM runs WHERE id = ?1");
    let mut record = connection.query_row(&statement, params![id], |row| {
        let (program, output, tools) = (row.get(24)?, row.get(25)?, row.get(26)?);
        let argv: Option<String> = row.get(27)?;
        let argv = argv.and_then(|argv| serde_json::from_str(&argv).ok()).unwrap_or_default();
        let (run, calls, replay) = (read_summary(row)?, Vec::new(), ReplayData::None);
        Ok(RunRecord { run, program, argv, output, tools, calls, replay })
    })?;
    record.replay = record_journals::read(connection, &record.run.id)?;
    let statement = format!(
        "SELECT {CALL_COLUMNS}, arguments, result_kind, result FROM calls
         WHERE run_id = ?1 ORDER BY position"
    );
    let mut statement = connection.prepare(&statement)?;
    let calls = statement.query_map(params![id], |row| {
        let kind: Option<String> = row.get(12)?;
        let result: Option<String> = row.get(13)?;
        Ok(StoredCall { arguments: row.get(11)?, result: kind.zip(result), ..read_call(row)? })
    })?;
    record.calls = calls.collect::<rusqlite::Result<_>>()?;
    Ok(record)
}

fn read_summary(row: &Row<'_>) -> rusqlite::Result<RunSummary> {
    let kind: Option<String> = row.get(9)?;
    let message: Option<String> = row.get(10)?;
    let direct: Option<i64> = row.get(17)?;
    let onecall: Option<i64> = row.get(18)?;
    let estimated = row.get::<_, Option<bool>>(19)?.unwrap_or_default();
    let direct_bytes: Option<i64> = row.get(21)?;
    let onecall_bytes: Option<i64> = row.get(22)?;
    Ok(RunSummary {
        id: RunId::from_existing(row.get::<_, String>(0)?),
        started: Timestamp(row.get(1)?),
        user: UserName::from_existing(row.get::<_, String>(23)?),
        client: row.get(2)?,
        kind: row.get(3)?,
        language: row.get(4)?,
        engine: row.get(5)?,
        session: row.get(6)?,
        program_hash: row.get(7)?,
        outcome: row.get(8)?,
        error: kind.zip(message),
        duration: duration(row.get(11)?),
        output_bytes: to_u64(row.get(12)?),
        output_truncated: row.get(13)?,
        call_count: to_u64(row.get(14)?),
        failed_calls: to_u64(row.get(15)?),
        cached_calls: to_u64(row.get(16)?),
        sizes: direct_bytes.zip(onecall_bytes).map(|(direct, onecall)| TextSizes {
            direct: to_u64(direct),
            onecall: to_u64(onecall),
        }),
        counted_tokens: direct.zip(onecall).map(|(direct, onecall)| TokenUsage {
            direct: to_u64(direct),
            onecall: to_u64(onecall),
            estimated,
        }),
        detail: match row.get::<_, String>(20)?.as_str() {
            "full" => RunDetail::Full,
            _ => RunDetail::Metadata,
        },
    })
}

fn read_call(row: &Row<'_>) -> rusqlite::Result<StoredCall> {
    Ok(StoredCall {
        name: row.get(0)?,
        server: row.get(1)?,
        arguments_hash: row.get(2)?,
        arguments_bytes: to_u64(row.get(3)?),
        result_bytes: to_u64(row.get(4)?),
        started: duration(row.get(5)?),
        duration: row.get::<_, Option<i64>>(6)?.map(duration),
        error: row.get(7)?,
        cached: row.get(8)?,
        counted_tokens: row.get::<_, Option<i64>>(9)?.map(to_u64),
        denied_by: row.get(10)?,
        arguments: None,
        result: None,
    })
}

/// The condition of runs that may be removed: those that wait or are executed stay.
const IS_OVER: &str =
    "NOT EXISTS (SELECT 1 FROM durable_runs WHERE id = runs.id AND ended_ms IS NULL)";

fn remove_before(transaction: &Transaction<'_>, oldest: Timestamp) -> rusqlite::Result<u64> {
    let old = format!(
        "SELECT id FROM runs WHERE started_ms < ?1 AND {IS_OVER} ORDER BY started_ms LIMIT ?2"
    );
    remove(transaction, &old, params![oldest.0, BATCH])
}

/// Removes the oldest runs that exceed the limit, at most one batch.
fn remove_surplus(transaction: &Transaction<'_>, max_bytes: u64) -> rusqlite::Result<u64> {
    let sum = "SELECT coalesce(sum(stored_bytes), 0) FROM runs";
    let mut surplus =
        to_u64(transaction.query_row(sum, [], |row| row.get(0))?).saturating_sub(max_bytes);
    let oldest_first = format!("FROM runs WHERE {IS_OVER} ORDER BY started_ms, id LIMIT ?1");
    let mut statement = transaction.prepare(&format!("SELECT stored_bytes {oldest_first}"))?;
    let mut rows = statement.query(params![BATCH])?;
    let mut oldest: i64 = 0;
    while surplus > 0
        && let Some(row) = rows.next()?
    {
        surplus = surplus.saturating_sub(to_u64(row.get(0)?));
        oldest += 1;
    }
    remove(transaction, &format!("SELECT id {oldest_first}"), params![oldest])
}

/// Removes the runs that a query selects, with their calls and journals.
fn remove(
    transaction: &Transaction<'_>,
    query: &str,
    values: &[&dyn ToSql],
) -> rusqlite::Result<u64> {
    for table in ["calls", "record_journals"] {
        let delete = format!("DELETE FROM {table} WHERE run_id IN ({query})");
        transaction.execute(&delete, values)?;
    }
    let removed =
        transaction.execute(&format!("DELETE FROM runs WHERE id IN ({query})"), values)?;
    Ok(u64::try_from(removed).unwrap_or(0))
}

/// A `LIKE` pattern that matches every text that contains `text`.
fn like_pattern(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{escaped}%")
}

fn microseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

fn duration(microseconds: i64) -> Duration {
    Duration::from_micros(to_u64(microseconds))
}
