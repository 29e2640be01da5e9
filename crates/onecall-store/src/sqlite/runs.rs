//! Run records in SQLite.

use std::path::PathBuf;

use onecall_core::storage::{
    CallTexts, FigureQuery, PeriodFigures, Retention, RunFilter, RunLookup, RunRecord, RunStore,
    RunSummary, StoreError, StoredCall,
};
use onecall_core::{RunId, Timestamp, TokenUsage};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, Transaction, params};

use super::filtered::{self, DIALECT};
use super::{SqliteStore, damaged_file, figures, record_journals, run_pictures, to_i64, to_u64};
use crate::encoding::record_journals::EncodedReplay;
use crate::rows::answers::count_to_remove;
use crate::rows::figures::FigureRows;
use crate::rows::run_query;
use crate::rows::runs::{
    BATCH, CALL_COLUMNS, IS_OVER, MAX_CANDIDATES, RUN_ID_COLUMN, SUMMARY_COLUMN_COUNT,
    SUMMARY_COLUMNS, TEXT_COLUMNS, argv_text, call_text_columns, microseconds, read_call,
    read_full_call, read_record, read_summary,
};

impl RunStore for SqliteStore {
    fn damaged_files(&self) -> Vec<PathBuf> {
        damaged_file::set_aside(&self.path)
    }

    fn put_run(&self, record: &RunRecord) -> Result<(), StoreError> {
        // Compressing takes time, so it is done while other processes can still write.
        let journal = EncodedReplay::new(&record.run.id, &record.replay)
            .map_err(|source| StoreError::database(&self.path, source))?;
        self.write(|transaction| {
            let journal_bytes = journal.as_ref().map_or(0, EncodedReplay::stored_bytes);
            insert_run(transaction, record, record.stored_bytes() + journal_bytes)?;
            if let Some(journal) = &journal {
                record_journals::insert(transaction, &record.run.id, journal)?;
            }
            let figures = PeriodFigures::of_run(&record.run, &record.calls);
            figures::add(transaction, &FigureRows::of_run(&record.run, &figures))?;
            run_pictures::insert(transaction, &record.run.id, &record.pictures)?;
            insert_calls(transaction, &record.run.id, &record.calls)
        })
    }

    fn runs(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, StoreError> {
        let query = run_query::of_filter(filter, &DIALECT);
        self.read(|connection| {
            let mut statement = connection.prepare(&query.text)?;
            let values = filtered::values(&query);
            statement.query_map(values, |row| read_summary(row))?.collect()
        })
    }

    fn start_of_run_at(
        &self,
        filter: &RunFilter,
        count: usize,
    ) -> Result<Option<Timestamp>, StoreError> {
        let query = run_query::start_at(filter, count, &DIALECT);
        self.read(|connection| {
            let mut statement = connection.prepare(&query.text)?;
            let values = filtered::values(&query);
            statement.query_row(values, |row| row.get(0).map(Timestamp)).optional()
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
                [id] => Ok(RunLookup::One(Box::new(read_run(connection, id, CallTexts::All)?))),
                ids => Ok(RunLookup::Several(ids.iter().map(RunId::from_existing).collect())),
            }
        })
    }

    fn run(&self, id: &RunId, texts: CallTexts) -> Result<Option<RunRecord>, StoreError> {
        self.read(|connection| read_run(connection, id.as_str(), texts).optional())
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
                visit(&RunId::from_existing(row.get::<_, String>(RUN_ID_COLUMN)?), read_call(row)?);
            }
            Ok(())
        })
    }

    fn figures(&self, query: &FigureQuery) -> Result<PeriodFigures, StoreError> {
        self.read(|connection| figures::read(connection, query))
    }

    fn add_older_runs_to_figures(&self) -> Result<bool, StoreError> {
        // Usually there are none, and then nothing is locked.
        match self.read(figures::has_older_runs)? {
            true => self.write(figures::add_older_runs),
            false => Ok(false),
        }
    }

    fn set_run_tokens(&self, run: &RunId, tokens: TokenUsage) -> Result<bool, StoreError> {
        self.write(|transaction| {
            let query = format!(
                "SELECT {SUMMARY_COLUMNS}, in_figures FROM runs
                 WHERE id = ?1 AND direct_tokens IS NULL"
            );
            let mut statement = transaction.prepare_cached(&query)?;
            let read = |row: &Row<'_>| Ok((read_summary(row)?, row.get(SUMMARY_COLUMN_COUNT)?));
            let found = statement.query_row(params![run.as_str()], read);
            let Some((summary, is_in_figures)) = found.optional()? else { return Ok(false) };
            if is_in_figures {
                let change = PeriodFigures::of_counted_tokens(&summary, tokens);
                figures::add(transaction, &FigureRows::of_run(&summary, &change))?;
            }
            transaction.execute(
                "UPDATE runs SET direct_tokens = ?2, onecall_tokens = ?3, tokens_estimated = ?4
                 WHERE id = ?1",
                params![
                    run.as_str(),
                    to_i64(tokens.direct),
                    to_i64(tokens.onecall),
                    tokens.estimated
                ],
            )?;
            Ok(true)
        })
    }

    fn prune_runs(&self, retention: &Retention, now: Timestamp) -> Result<u64, StoreError> {
        let oldest = now.before(retention.max_age);
        let mut pruned = 0;
        while self.write(|transaction| figures::remove_before(transaction, oldest))? > 0 {}
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
    let argv = argv_text(record);
    let values: [&dyn ToSql; 31] = [
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
        &record.error_line.map(to_i64),
        &i64::try_from(stored_bytes).unwrap_or(i64::MAX),
        &true,
    ];
    let placeholders =
        (1..=values.len()).map(|number| format!("?{number}")).collect::<Vec<_>>().join(", ");
    let statement = format!(
        "INSERT INTO runs ({SUMMARY_COLUMNS}, {TEXT_COLUMNS}, stored_bytes, in_figures) \
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

fn read_run(connection: &Connection, id: &str, texts: CallTexts) -> rusqlite::Result<RunRecord> {
    let statement = format!("SELECT {SUMMARY_COLUMNS}, {TEXT_COLUMNS} FROM runs WHERE id = ?1");
    let mut record = connection.query_row(&statement, params![id], |row| read_record(row))?;
    record.replay = record_journals::read(connection, &record.run.id)?;
    record.pictures = run_pictures::read(connection, &record.run.id)?;
    let statement = format!(
        "SELECT {CALL_COLUMNS}, {} FROM calls WHERE run_id = ?1 ORDER BY position",
        call_text_columns(texts)
    );
    let mut statement = connection.prepare(&statement)?;
    let calls = statement.query_map(params![id], |row| read_full_call(row))?;
    record.calls = calls.collect::<rusqlite::Result<_>>()?;
    Ok(record)
}

fn remove_before(transaction: &Transaction<'_>, oldest: Timestamp) -> rusqlite::Result<u64> {
    let old = format!(
        "SELECT id FROM runs WHERE started_ms < ?1 AND {IS_OVER} ORDER BY started_ms LIMIT ?2"
    );
    remove(transaction, &old, params![oldest.0, BATCH])
}

/// Removes the oldest runs that exceed the limit, at most one batch.
fn remove_surplus(transaction: &Transaction<'_>, max_bytes: u64) -> rusqlite::Result<u64> {
    let sum = "SELECT coalesce(sum(stored_bytes), 0) FROM runs";
    let surplus =
        to_u64(transaction.query_row(sum, [], |row| row.get(0))?).saturating_sub(max_bytes);
    let oldest_first = format!("FROM runs WHERE {IS_OVER} ORDER BY started_ms, id LIMIT ?1");
    let mut statement = transaction.prepare(&format!("SELECT stored_bytes {oldest_first}"))?;
    let sizes = statement.query_map(params![BATCH], |row| row.get(0))?;
    let sizes: Vec<i64> = sizes.collect::<rusqlite::Result<_>>()?;
    let oldest = count_to_remove(surplus, sizes);
    remove(transaction, &format!("SELECT id {oldest_first}"), params![oldest])
}

/// Removes the runs that a query selects, with their calls, journals and pictures.
fn remove(
    transaction: &Transaction<'_>,
    query: &str,
    values: &[&dyn ToSql],
) -> rusqlite::Result<u64> {
    for table in ["calls", "record_journals", "run_pictures"] {
        let delete = format!("DELETE FROM {table} WHERE run_id IN ({query})");
        transaction.execute(&delete, values)?;
    }
    let removed =
        transaction.execute(&format!("DELETE FROM runs WHERE id IN ({query})"), values)?;
    Ok(u64::try_from(removed).unwrap_or(0))
}
