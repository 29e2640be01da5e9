//! Run records in PostgreSQL.

use std::path::PathBuf;

use onecall_core::storage::{
    CallTexts, FigureQuery, PeriodFigures, Retention, RunFilter, RunLookup, RunRecord, RunStore,
    RunSummary, StoreError, StoredCall,
};
use onecall_core::{RunId, Timestamp, TokenUsage};
use tokio_postgres::types::ToSql;

use super::columns::Text;
use super::error::QueryError;
use super::filtered::{self, DIALECT};
use super::transaction::Queries;
use super::{PostgresStore, figures, record_journals, run_pictures, to_i64, to_u64};
use crate::encoding::record_journals::EncodedReplay;
use crate::rows::Columns;
use crate::rows::answers::count_to_remove;
use crate::rows::figures::FigureRows;
use crate::rows::run_query;
use crate::rows::runs::{
    BATCH, CALL_COLUMNS, IS_OVER, MAX_CANDIDATES, RUN_ID_COLUMN, SUMMARY_COLUMN_COUNT,
    SUMMARY_COLUMNS, TEXT_COLUMNS, argv_text, call_text_columns, microseconds, read_call,
    read_full_call, read_record, read_summary,
};

/// How many calls are read at once.
const CALLS_AT_ONCE: i64 = 5_000;

/// How many sizes of runs are added up at once.
const SIZES_AT_ONCE: i64 = 100_000;

impl RunStore for PostgresStore {
    fn damaged_files(&self) -> Vec<PathBuf> {
        // A database is repaired or restored by its own means, and never replaced.
        Vec::new()
    }

    fn put_run(&self, record: &RunRecord) -> Result<(), StoreError> {
        let journal = EncodedReplay::new(&record.run.id, &record.replay)
            .map_err(|source| self.error(source))?;
        // Nothing waits for a record, so other processes are not notified.
        self.write(None, async |queries| {
            let journal_bytes = journal.as_ref().map_or(0, EncodedReplay::stored_bytes);
            insert_run(queries, record, record.stored_bytes() + journal_bytes).await?;
            if let Some(journal) = &journal {
                record_journals::insert(queries, &record.run.id, journal).await?;
            }
            let figures = PeriodFigures::of_run(&record.run, &record.calls);
            figures::add(queries, &FigureRows::of_run(&record.run, &figures)).await?;
            run_pictures::insert(queries, &record.run.id, &record.pictures).await?;
            insert_calls(queries, &record.run.id, &record.calls).await
        })
    }

    fn runs(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, StoreError> {
        let query = run_query::of_filter(filter, &DIALECT);
        self.read(async |queries| {
            filtered::rows(queries, &query).await?.iter().map(read_summary).collect()
        })
    }

    fn start_of_run_at(
        &self,
        filter: &RunFilter,
        count: usize,
    ) -> Result<Option<Timestamp>, StoreError> {
        let query = run_query::start_at(filter, count, &DIALECT);
        self.read(async |queries| {
            let rows = filtered::rows(queries, &query).await?;
            rows.first().map(|row| row.number(0).map(Timestamp)).transpose()
        })
    }

    fn find_run(&self, beginning: &str) -> Result<RunLookup, StoreError> {
        // The range contains exactly the identifiers with this beginning.
        let end = format!("{beginning}\u{10ffff}");
        self.read(async |queries| {
            let query = "SELECT id FROM runs WHERE id >= $1 AND id < $2 ORDER BY id DESC LIMIT $3";
            let rows = queries.query(query, &[&beginning, &end, &MAX_CANDIDATES]).await?;
            let ids = rows.iter().map(|row| row.text(0)).collect::<Result<Vec<_>, _>>()?;
            match ids.as_slice() {
                [] => Ok(RunLookup::Nothing),
                [id] => Ok(match read_run(queries, id, CallTexts::All).await? {
                    Some(record) => RunLookup::One(Box::new(record)),
                    None => RunLookup::Nothing,
                }),
                ids => Ok(RunLookup::Several(ids.iter().map(RunId::from_existing).collect())),
            }
        })
    }

    fn run(&self, id: &RunId, texts: CallTexts) -> Result<Option<RunRecord>, StoreError> {
        self.read(async |queries| read_run(queries, id.as_str(), texts).await)
    }

    fn for_each_call(
        &self,
        since: Option<Timestamp>,
        visit: &mut dyn FnMut(&RunId, StoredCall),
    ) -> Result<(), StoreError> {
        let since = since.unwrap_or(Timestamp(i64::MIN));
        let query = format!(
            "SELECT {CALL_COLUMNS}, runs.id, position FROM runs JOIN calls ON calls.run_id = runs.id
             WHERE runs.started_ms >= $1 AND (calls.run_id, position) > ($2, $3)
             ORDER BY calls.run_id, position LIMIT {CALLS_AT_ONCE}"
        );
        self.read_snapshot(async |queries| {
            let mut last = (String::new(), -1_i64);
            loop {
                let rows = queries.query(&query, &[&since.0, &last.0, &last.1]).await?;
                let Some(newest) = rows.last() else { return Ok(()) };
                last = (newest.text(RUN_ID_COLUMN)?, newest.number(RUN_ID_COLUMN + 1)?);
                for row in &rows {
                    visit(&RunId::from_existing(row.text(RUN_ID_COLUMN)?), read_call(row)?);
                }
            }
        })
    }

    fn figures(&self, query: &FigureQuery) -> Result<PeriodFigures, StoreError> {
        self.read(async |queries| figures::read(queries, query).await)
    }

    fn add_older_runs_to_figures(&self) -> Result<bool, StoreError> {
        // Usually there are none, and then nothing is locked.
        match self.read(async |queries| figures::has_older_runs(queries).await)? {
            true => self.write(None, async |queries| figures::add_older_runs(queries).await),
            false => Ok(false),
        }
    }

    fn set_run_tokens(&self, run: &RunId, tokens: TokenUsage) -> Result<bool, StoreError> {
        self.write(None, async |queries| {
            let query = format!(
                "SELECT {SUMMARY_COLUMNS}, in_figures FROM runs
                 WHERE id = $1 AND direct_tokens IS NULL FOR UPDATE"
            );
            let Some(row) = queries.query_optional(&query, &[&run.as_str()]).await? else {
                return Ok(false);
            };
            let summary = read_summary(&row)?;
            if row.flag(SUMMARY_COLUMN_COUNT)? {
                let change = PeriodFigures::of_counted_tokens(&summary, tokens);
                figures::add(queries, &FigureRows::of_run(&summary, &change)).await?;
            }
            let update = "UPDATE runs SET direct_tokens = $2, onecall_tokens = $3,
                tokens_estimated = $4 WHERE id = $1";
            let (direct, onecall) = (to_i64(tokens.direct), to_i64(tokens.onecall));
            let values: [&(dyn ToSql + Sync); 4] =
                [&run.as_str(), &direct, &onecall, &tokens.estimated];
            queries.execute(update, &values).await?;
            Ok(true)
        })
    }

    fn prune_runs(&self, retention: &Retention, now: Timestamp) -> Result<u64, StoreError> {
        let oldest = now.before(retention.max_age);
        while self.write(None, async |queries| figures::remove_before(queries, oldest).await)? > 0 {
        }
        let mut pruned = self.remove_runs(async |queries| remove_before(queries, oldest).await)?;
        if let Some(newest) = self.newest_surplus_run(retention.max_bytes)? {
            pruned += self.remove_runs(async |queries| remove_through(queries, &newest).await)?;
        }
        Ok(pruned)
    }
}

/// A run as the order of runs by age has it: when it began, and its identifier.
type RunPosition = (i64, String);

impl PostgresStore {
    /// Removes runs batch by batch, until `remove` finds no more, and returns how many.
    fn remove_runs(
        &self,
        remove: impl AsyncFn(&Queries<'_>) -> Result<u64, QueryError>,
    ) -> Result<u64, StoreError> {
        let mut pruned = 0;
        loop {
            match self.write(None, async |queries| remove(queries).await)? {
                0 => return Ok(pruned),
                removed => pruned += removed,
            }
        }
    }

    /// The newest run that has to be removed, with all that are older, so that the rest takes at most
    /// `max_bytes`. Several gateways that look for it at once find the same one. Each query reads a bounded
    /// number of rows from an index, however many there are.
    fn newest_surplus_run(&self, max_bytes: u64) -> Result<Option<RunPosition>, StoreError> {
        let (mut total, mut after) = (0_u64, Some(i64::MIN));
        while let Some(last) = after {
            let (bytes, newest) =
                self.read(async |queries| stored_bytes_after(queries, last).await)?;
            (total, after) = (total.saturating_add(bytes), newest);
        }
        let mut surplus = total.saturating_sub(max_bytes);
        let (mut newest, mut last) = (None, (i64::MIN, String::new()));
        while surplus > 0 {
            let runs = self.read(async |queries| removable_runs_after(queries, &last).await)?;
            let Some((position, _)) = runs.last() else { break };
            last = position.clone();
            let count = count_to_remove(surplus, runs.iter().map(|(_, bytes)| *bytes));
            let removed = runs.iter().take(usize::try_from(count).unwrap_or(usize::MAX));
            for (position, bytes) in removed {
                surplus = surplus.saturating_sub(to_u64(*bytes));
                newest = Some(position.clone());
            }
        }
        Ok(newest)
    }
}

async fn insert_run(
    queries: &Queries<'_>,
    record: &RunRecord,
    stored_bytes: usize,
) -> Result<(), QueryError> {
    let run = &record.run;
    let (error_kind, error_message) = match &run.error {
        Some((kind, message)) => (Some(Text(kind)), Some(Text(message))),
        None => (None, None),
    };
    let argv = argv_text(record);
    let values: [&(dyn ToSql + Sync); 31] = [
        &run.id.as_str(),
        &run.started.0,
        &Text(&run.client),
        &run.kind,
        &Text(&run.language),
        &run.engine,
        &Text::optional(run.session.as_ref()),
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
        &Text(&record.program),
        &Text::optional(record.output.as_ref()),
        &Text::optional(record.tools.as_ref()),
        &Text::optional(argv.as_ref()),
        &record.error_line.map(to_i64),
        &i64::try_from(stored_bytes).unwrap_or(i64::MAX),
        &true,
    ];
    let placeholders =
        (1..=values.len()).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ");
    let statement = format!(
        "INSERT INTO runs ({SUMMARY_COLUMNS}, {TEXT_COLUMNS}, stored_bytes, in_figures) \
         VALUES ({placeholders})"
    );
    queries.execute(&statement, &values).await.map(drop)
}

/// Inserts the calls of a run with one statement, column by column.
async fn insert_calls(
    queries: &Queries<'_>,
    id: &RunId,
    calls: &[StoredCall],
) -> Result<(), QueryError> {
    if calls.is_empty() {
        return Ok(());
    }
    let texts = |column: fn(&StoredCall) -> &String| -> Vec<Text<'_>> {
        calls.iter().map(|call| Text(column(call))).collect()
    };
    let optional_texts = |column: fn(&StoredCall) -> Option<&String>| -> Vec<Option<Text<'_>>> {
        calls.iter().map(|call| Text::optional(column(call))).collect()
    };
    let numbers = |column: fn(&StoredCall) -> i64| calls.iter().map(column).collect::<Vec<_>>();
    let optional_numbers =
        |column: fn(&StoredCall) -> Option<i64>| calls.iter().map(column).collect::<Vec<_>>();
    let positions: Vec<i64> = (0..).take(calls.len()).collect();
    let cached: Vec<bool> = calls.iter().map(|call| call.cached).collect();
    let statement = "INSERT INTO calls (run_id, position, name, server, arguments_sha256,
          arguments_bytes, result_bytes, started_us, duration_us, error, cached, tokens, denied_by,
          arguments, result_kind, result)
        SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[],
          $7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::boolean[], $12::bigint[],
          $13::text[], $14::text[], $15::text[], $16::text[])";
    let values: [&(dyn ToSql + Sync); 16] = [
        &id.as_str(),
        &positions,
        &texts(|call| &call.name),
        &texts(|call| &call.server),
        &texts(|call| &call.arguments_hash),
        &numbers(|call| to_i64(call.arguments_bytes)),
        &numbers(|call| to_i64(call.result_bytes)),
        &numbers(|call| microseconds(call.started)),
        &optional_numbers(|call| call.duration.map(microseconds)),
        &optional_texts(|call| call.error.as_ref()),
        &cached,
        &optional_numbers(|call| call.counted_tokens.map(to_i64)),
        &optional_texts(|call| call.denied_by.as_ref()),
        &optional_texts(|call| call.arguments.as_ref()),
        &optional_texts(|call| call.result.as_ref().map(|(kind, _)| kind)),
        &optional_texts(|call| call.result.as_ref().map(|(_, text)| text)),
    ];
    queries.execute(statement, &values).await.map(drop)
}

async fn read_run(
    queries: &Queries<'_>,
    id: &str,
    texts: CallTexts,
) -> Result<Option<RunRecord>, QueryError> {
    let query = format!("SELECT {SUMMARY_COLUMNS}, {TEXT_COLUMNS} FROM runs WHERE id = $1");
    let Some(row) = queries.query_optional(&query, &[&id]).await? else { return Ok(None) };
    let mut record = read_record(&row)?;
    record.replay = record_journals::read(queries, &record.run.id).await?;
    record.pictures = run_pictures::read(queries, &record.run.id).await?;
    let query = format!(
        "SELECT {CALL_COLUMNS}, {} FROM calls WHERE run_id = $1 ORDER BY position",
        call_text_columns(texts)
    );
    let calls = queries.query(&query, &[&id]).await?;
    record.calls = calls.iter().map(read_full_call).collect::<Result<_, _>>()?;
    Ok(Some(record))
}

async fn remove_before(queries: &Queries<'_>, oldest: Timestamp) -> Result<u64, QueryError> {
    let old = format!(
        "SELECT id FROM runs WHERE started_ms < $1 AND {IS_OVER} ORDER BY started_ms LIMIT $2"
    );
    remove(queries, &old, &[&oldest.0, &BATCH]).await
}

/// Removes this run and all that are older, at most one batch.
async fn remove_through(
    queries: &Queries<'_>,
    (started, id): &RunPosition,
) -> Result<u64, QueryError> {
    let old = format!(
        "SELECT id FROM runs WHERE started_ms <= $1 AND (started_ms, id) <= ($1, $2) AND {IS_OVER}
         ORDER BY started_ms, id LIMIT $3"
    );
    remove(queries, &old, &[started, id, &BATCH]).await
}

/// How many bytes the next runs take that began after this time, and when the last of them began; `None` if
/// there are no more.
async fn stored_bytes_after(
    queries: &Queries<'_>,
    last: i64,
) -> Result<(u64, Option<i64>), QueryError> {
    let sum = "SELECT coalesce(sum(stored_bytes), 0)::bigint, max(started_ms) FROM runs
        WHERE started_ms > $1 AND started_ms <= coalesce(
          (SELECT started_ms FROM runs WHERE started_ms > $1 ORDER BY started_ms OFFSET $2 LIMIT 1),
          9223372036854775807)";
    match queries.query_optional(sum, &[&last, &SIZES_AT_ONCE]).await? {
        Some(row) => Ok((to_u64(row.number(0)?), row.optional_number(1)?)),
        None => Ok((0, None)),
    }
}

/// The next runs after this one that may be removed, oldest first, with their sizes.
async fn removable_runs_after(
    queries: &Queries<'_>,
    (started, id): &RunPosition,
) -> Result<Vec<(RunPosition, i64)>, QueryError> {
    let query = format!(
        "SELECT started_ms, id, stored_bytes FROM runs
         WHERE started_ms >= $1 AND (started_ms, id) > ($1, $2) AND {IS_OVER}
         ORDER BY started_ms, id LIMIT $3"
    );
    let rows = queries.query(&query, &[started, id, &CALLS_AT_ONCE]).await?;
    rows.iter().map(|row| Ok(((row.number(0)?, row.text(1)?), row.number(2)?))).collect()
}

/// Removes the runs that a query selects, with their calls, journals and pictures.
async fn remove(
    queries: &Queries<'_>,
    query: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<u64, QueryError> {
    let rows = queries.query(query, values).await?;
    let ids = rows.iter().map(|row| row.text(0)).collect::<Result<Vec<_>, _>>()?;
    for table in ["calls", "record_journals", "run_pictures"] {
        let delete = format!("DELETE FROM {table} WHERE run_id = ANY($1)");
        queries.execute(&delete, &[&ids]).await?;
    }
    queries.execute("DELETE FROM runs WHERE id = ANY($1)", &[&ids]).await
}
