//! The rows and checkpoints of the audit trail.

use onecall_core::storage::{
    AuditCheckpoint, AuditColumns, AuditEntry, AuditEvent, AuditFilter, AuditHead, AuditRow,
    StoredAuditRow,
};
use onecall_core::{Digest, Timestamp};

use super::Columns;
use super::query::{Conditions, Dialect, Query, QueryValue};
use crate::encoding::{to_i64, to_u64};

/// The columns of a row, in the order in which stores read them.
pub(crate) const COLUMNS: &str = "number, at_ms, \"user\", run_id, tool, content, digest";

/// The columns that [`read_checkpoint`] reads, in its order.
pub(crate) const CHECKPOINT_COLUMNS: &str = "number, digest, removed, at_ms, seal";

/// How many rows are removed in one transaction, so that other processes can write in between.
pub(crate) const BATCH: u64 = 5_000;

/// One of these is in the content of each row that denies a call.
const DENIALS: [&str; 2] = ["\"deny\"", "\"give_up\""];

/// One of these is in the content of each row that decides about a call.
const DECISIONS: [&str; 2] = ["\"decided\"", "\"answered\""];

/// Stands for bytes that are not a digest.
const NO_DIGEST: Digest = Digest::from_bytes([0; 32]);

/// An entry in its stored form, before it has a number.
pub(crate) struct EncodedEntry {
    pub(crate) columns: AuditColumns,
    pub(crate) content: String,
}

impl EncodedEntry {
    pub(crate) fn new(entry: &AuditEntry) -> serde_json::Result<Self> {
        let content = serde_json::to_string(entry)?;
        Ok(Self { columns: AuditColumns::of(entry), content })
    }

    /// The entry that says that rows were removed because of their age.
    pub(crate) fn of_pruning(
        last: AuditHead,
        removed: u64,
        now: Timestamp,
    ) -> serde_json::Result<Self> {
        let AuditHead { number: through, digest } = last;
        let event = AuditEvent::Pruned { through, removed, digest: digest.to_string() };
        Self::new(&AuditEntry::of_gateway(now, event))
    }
}

/// The number and the digest of a row, in the first two columns.
pub(crate) fn read_head<R: Columns>(row: &R) -> Result<AuditHead, R::Error> {
    let digest = digest(row.bytes(1)?).unwrap_or(NO_DIGEST);
    Ok(AuditHead { number: to_u64(row.number(0)?), digest })
}

pub(crate) fn read_checkpoint<R: Columns>(row: &R) -> Result<AuditCheckpoint, R::Error> {
    Ok(AuditCheckpoint {
        last: read_head(row)?,
        removed: to_u64(row.number(2)?),
        at: Timestamp(row.number(3)?),
        seal: digest(row.bytes(4)?).unwrap_or(NO_DIGEST),
    })
}

/// The query of the rows that match a filter by user, run, time and number, newest first, at most `limit`. Tools, denials
/// and decisions are left to [`select`].
pub(crate) fn query(filter: &AuditFilter, limit: Option<usize>, dialect: &Dialect) -> Query {
    let mut conditions = Conditions::new(dialect);
    // A run has few of all rows, so it is found by its index. Without these terms, a database may choose to read the
    // whole trail in the order of the numbers, or all rows of the user.
    let is_of_run = filter.run.is_some();
    let number = if is_of_run { "number + 0" } else { "number" };
    let user = if is_of_run { "\"user\" || ''" } else { "\"user\"" };
    if let Some(run) = &filter.run {
        // The range contains exactly the identifiers with this beginning.
        let (first, end) = (run.to_string(), format!("{run}\u{10ffff}"));
        conditions.add(QueryValue::Text(first), |it| format!("run_id >= {it}"));
        conditions.add(QueryValue::Text(end), |it| format!("run_id < {it}"));
    }
    if let Some(run) = &filter.decisions_of {
        conditions.add(QueryValue::Text(run.to_string()), |it| format!("run_id = {it}"));
        // Half of the rows of a run say how calls ended.
        conditions.texts.push("content NOT LIKE '%\"what\":\"ended\"%'".to_owned());
    }
    if let Some(name) = &filter.user {
        conditions.add(QueryValue::Text(name.clone()), |it| format!("{user} = {it}"));
    }
    if let Some(since) = filter.since {
        conditions.add(QueryValue::Number(since.0), |it| format!("at_ms >= {it}"));
    }
    if let Some(before) = filter.before {
        conditions.add(QueryValue::Number(to_i64(before)), |it| format!("{number} < {it}"));
    }
    if let Some(after) = filter.after {
        conditions.add(QueryValue::Number(to_i64(after)), |it| format!("{number} > {it}"));
    }
    let limit = conditions.limit(limit);
    let condition = conditions.text();
    let text = format!("SELECT {COLUMNS} FROM audit{condition} ORDER BY {number} DESC{limit}");
    Query { text, values: conditions.values }
}

/// The row that a filter selects; `None` if it does not, or if the content cannot be read: the check
/// of the trail reports that.
pub(crate) fn select(row: StoredAuditRow, filter: &AuditFilter) -> Option<AuditRow> {
    let StoredAuditRow { number, columns, content, digest } = row;
    // Most rows are left out by this, without reading their content.
    let has_one = |texts: &[&str]| texts.iter().any(|text| content.contains(text));
    if filter.tool.as_ref().is_some_and(|pattern| !pattern.matches(&columns.tool))
        || (filter.denied && !has_one(&DENIALS))
        || (filter.decisions_of.is_some() && !has_one(&DECISIONS))
    {
        return None;
    }
    let entry = serde_json::from_str::<AuditEntry>(&content).ok()?;
    let digest = digest.filter(|_| filter.selects(&entry))?;
    Some(AuditRow { number, entry, digest })
}

/// The digest in a column; `None` if what is stored is no digest.
pub(crate) fn digest(bytes: Vec<u8>) -> Option<Digest> {
    bytes.try_into().ok().map(Digest::from_bytes)
}
