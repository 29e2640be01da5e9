//! The rows of run records and their calls.

use std::time::Duration;

use onecall_core::storage::{CallTexts, ReplayData, RunDetail, RunRecord, RunSummary, StoredCall};
use onecall_core::{RunId, TextSizes, Timestamp, TokenUsage, UserName};

use super::Columns;
use crate::encoding::to_u64;

/// The columns that [`read_summary`] reads, in its order.
pub(crate) const SUMMARY_COLUMNS: &str = "id, started_ms, client, kind, language, engine, session, \
    program_sha256, \
    outcome, error_kind, error_message, duration_us, output_bytes, output_truncated, calls, \
    failed_calls, cached_calls, direct_tokens, onecall_tokens, tokens_estimated, detail, \
    direct_bytes, onecall_bytes, \"user\"";

/// How many columns [`read_summary`] reads.
pub(crate) const SUMMARY_COLUMN_COUNT: usize = 24;

/// The columns that [`read_record`] reads after those of the summary.
pub(crate) const TEXT_COLUMNS: &str = "program, output, tools, argv, error_line";

/// The columns that [`read_call`] reads, in its order.
pub(crate) const CALL_COLUMNS: &str = "calls.name, server, arguments_sha256, arguments_bytes, \
    result_bytes, started_us, calls.duration_us, error, cached, tokens, denied_by";

/// The columns that [`read_full_call`] reads after those of the call. They are NULL for calls whose texts are
/// not read.
pub(crate) fn call_text_columns(texts: CallTexts) -> String {
    let columns = ["arguments", "result_kind", "result"];
    let position = match texts {
        CallTexts::All => return columns.join(", "),
        CallTexts::None => -1,
        CallTexts::Of(index) => i64::try_from(index).unwrap_or(-1),
    };
    columns.map(|column| format!("CASE position WHEN {position} THEN {column} END")).join(", ")
}

/// The column of the run's identifier in a query of calls.
pub(crate) const RUN_ID_COLUMN: usize = 11;

/// How many runs are removed in one transaction, so that other processes can write in between.
pub(crate) const BATCH: i64 = 500;

/// How many identifiers are returned for an ambiguous beginning.
pub(crate) const MAX_CANDIDATES: i64 = 5;

/// The condition of runs that may be removed: those that wait or are executed stay.
pub(crate) const IS_OVER: &str =
    "NOT EXISTS (SELECT 1 FROM durable_runs WHERE id = runs.id AND ended_ms IS NULL)";

/// A record without its calls and its journal.
pub(crate) fn read_record<R: Columns>(row: &R) -> Result<RunRecord, R::Error> {
    let argv = row.optional_text(27)?;
    Ok(RunRecord {
        run: read_summary(row)?,
        program: row.text(24)?,
        argv: argv.and_then(|argv| serde_json::from_str(&argv).ok()).unwrap_or_default(),
        output: row.optional_text(25)?,
        tools: row.optional_text(26)?,
        error_line: row.optional_number(28)?.map(to_u64),
        pictures: Vec::new(),
        calls: Vec::new(),
        replay: ReplayData::None,
    })
}

pub(crate) fn read_summary<R: Columns>(row: &R) -> Result<RunSummary, R::Error> {
    let (kind, message) = (row.optional_text(9)?, row.optional_text(10)?);
    let (direct, onecall) = (row.optional_number(17)?, row.optional_number(18)?);
    let estimated = row.optional_flag(19)?.unwrap_or_default();
    let (direct_bytes, onecall_bytes) = (row.optional_number(21)?, row.optional_number(22)?);
    Ok(RunSummary {
        id: RunId::from_existing(row.text(0)?),
        started: Timestamp(row.number(1)?),
        user: UserName::from_existing(row.text(23)?),
        client: row.text(2)?,
        kind: row.text(3)?,
        language: row.text(4)?,
        engine: row.text(5)?,
        session: row.optional_text(6)?,
        program_hash: row.text(7)?,
        outcome: row.text(8)?,
        error: kind.zip(message),
        duration: duration(row.number(11)?),
        output_bytes: to_u64(row.number(12)?),
        output_truncated: row.flag(13)?,
        call_count: to_u64(row.number(14)?),
        failed_calls: to_u64(row.number(15)?),
        cached_calls: to_u64(row.number(16)?),
        sizes: direct_bytes.zip(onecall_bytes).map(|(direct, onecall)| TextSizes {
            direct: to_u64(direct),
            onecall: to_u64(onecall),
        }),
        counted_tokens: direct.zip(onecall).map(|(direct, onecall)| TokenUsage {
            direct: to_u64(direct),
            onecall: to_u64(onecall),
            estimated,
        }),
        detail: match row.text(20)?.as_str() {
            "full" => RunDetail::Full,
            _ => RunDetail::Metadata,
        },
    })
}

/// A call with its arguments and its result.
pub(crate) fn read_full_call<R: Columns>(row: &R) -> Result<StoredCall, R::Error> {
    let (kind, result) = (row.optional_text(12)?, row.optional_text(13)?);
    Ok(StoredCall {
        arguments: row.optional_text(11)?,
        result: kind.zip(result),
        ..read_call(row)?
    })
}

/// A call without its arguments and its result.
pub(crate) fn read_call<R: Columns>(row: &R) -> Result<StoredCall, R::Error> {
    Ok(StoredCall {
        name: row.text(0)?,
        server: row.text(1)?,
        arguments_hash: row.text(2)?,
        arguments_bytes: to_u64(row.number(3)?),
        result_bytes: to_u64(row.number(4)?),
        started: duration(row.number(5)?),
        duration: row.optional_number(6)?.map(duration),
        error: row.optional_text(7)?,
        cached: row.flag(8)?,
        counted_tokens: row.optional_number(9)?.map(to_u64),
        denied_by: row.optional_text(10)?,
        arguments: None,
        result: None,
    })
}

/// The arguments of a program as they are stored: JSON, or nothing if there are none.
pub(crate) fn argv_text(record: &RunRecord) -> Option<String> {
    let argv = record.argv.as_slice();
    (!argv.is_empty()).then(|| serde_json::Value::from(argv).to_string())
}

/// A `LIKE` pattern that matches every text that contains `text`.
pub(crate) fn like_pattern(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{escaped}%")
}

pub(crate) fn microseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

fn duration(microseconds: i64) -> Duration {
    Duration::from_micros(to_u64(microseconds))
}
