//! The audit trail in PostgreSQL. One transaction at a time adds rows, so that several processes extend
//! one chain.

use std::sync::PoisonError;

use onecall_core::storage::{
    AuditEntry, AuditFilter, AuditHead, AuditProblem, AuditReport, AuditRow, AuditTrail,
    ChainCheck, ExpectedHead, StoreError,
};
use onecall_core::{Digest, Timestamp};

use super::error::QueryError;
use super::transaction::{Exclusive, Queries};
use super::{PostgresStore, audit_rows};
use crate::rows::audit::{BATCH, EncodedEntry};

/// For how many commits it is remembered that their answers are missing.
const MAX_UNCONFIRMED: usize = 8;

/// The rows whose commits were not confirmed. When they are written again, those that are there are left out.
#[derive(Default)]
pub(super) struct UnconfirmedRows(Vec<UnconfirmedCommit>);

struct UnconfirmedCommit {
    /// The digests of the contents of the rows, with those that were left out.
    contents: Vec<Digest>,
    /// The last row, if the commit was done. The digest is one of all rows before, too.
    last: AuditHead,
}

impl UnconfirmedRows {
    /// How many of the first entries are stored already. No other process adds rows meanwhile.
    async fn stored(
        &self,
        queries: &Queries<'_>,
        entries: &[EncodedEntry],
    ) -> Result<usize, QueryError> {
        for commit in self.0.iter().rev().filter(|commit| commit.begins(entries)) {
            if audit_rows::has_row(queries, commit.last).await? {
                return Ok(commit.contents.len());
            }
        }
        Ok(0)
    }

    fn add(&mut self, entries: &[EncodedEntry], last: AuditHead) {
        let contents = entries.iter().map(|entry| Digest::of(&entry.content)).collect();
        self.0.push(UnconfirmedCommit { contents, last });
        let surplus = self.0.len().saturating_sub(MAX_UNCONFIRMED);
        self.0.drain(..surplus);
    }

    /// Notes that these entries are stored.
    fn forget(&mut self, entries: &[EncodedEntry]) {
        self.0.retain(|commit| !commit.begins(entries));
    }
}

impl UnconfirmedCommit {
    /// Whether the entries begin with the rows of this commit.
    fn begins(&self, entries: &[EncodedEntry]) -> bool {
        let contents = entries.iter().map(|entry| Digest::of(&entry.content));
        self.contents.len() <= entries.len()
            && contents.take(self.contents.len()).eq(self.contents.iter().copied())
    }
}

impl AuditTrail for PostgresStore {
    fn append_audit(&self, entries: &[AuditEntry]) -> Result<(), StoreError> {
        if entries.is_empty() {
            return Ok(());
        }
        let encoded: Result<Vec<_>, _> = entries.iter().map(EncodedEntry::new).collect();
        let encoded = encoded.map_err(|source| self.error(source))?;
        let mut unconfirmed = self.unconfirmed_rows.lock().unwrap_or_else(PoisonError::into_inner);
        let mut last = None;
        let done = self.write_durably(None, async |queries| {
            queries.lock(Exclusive::Audit).await?;
            let left = encoded.get(unconfirmed.stored(queries, &encoded).await?..);
            if let Some(left) = left.filter(|left| !left.is_empty()) {
                last = Some(audit_rows::append(queries, left).await?);
            }
            Ok(())
        });
        match (&done, last) {
            (Ok(()), _) => unconfirmed.forget(&encoded),
            (Err(error), Some(last)) if error.may_be_done() => unconfirmed.add(&encoded, last),
            (Err(_), _) => {}
        }
        done
    }

    fn audit_rows(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError> {
        self.read_snapshot(async |queries| audit_rows::select(queries, filter).await)
    }

    fn audit_head(&self) -> Result<Option<AuditHead>, StoreError> {
        self.read(async |queries| audit_rows::head(queries).await)
    }

    fn verify_audit(&self, expected: Option<ExpectedHead>) -> Result<AuditReport, StoreError> {
        self.read_snapshot(async |queries| {
            let mut check = ChainCheck::new(audit_rows::checkpoints(queries).await?, expected);
            audit_rows::for_each(queries, u64::MAX, |row| check.row(&row)).await?;
            Ok(check.finish(audit_rows::head(queries).await?))
        })
    }

    fn prune_audit(&self, before: Timestamp, now: Timestamp) -> Result<u64, StoreError> {
        let mut pruned = 0;
        loop {
            let removed = self.write_durably(None, async |queries| {
                queries.lock(Exclusive::Audit).await?;
                remove_batch(queries, before, now).await
            })?;
            match removed {
                Ok(0) => return Ok(pruned),
                Ok(removed) => pruned += removed,
                Err(problem) => return Err(StoreError::AuditNotIntact { problem }),
            }
        }
    }
}

/// Removes rows older than `before`, at most one batch, and returns how many. The error says that
/// they are not intact: what was done to them must not be hidden by a checkpoint.
async fn remove_batch(
    queries: &Queries<'_>,
    before: Timestamp,
    now: Timestamp,
) -> Result<Result<u64, AuditProblem>, QueryError> {
    let checkpoints = audit_rows::checkpoints(queries).await?;
    let newest = checkpoints.last().copied();
    let first = newest.map_or(0, |checkpoint| checkpoint.last.number);
    let Some(through) = audit_rows::last_before(queries, before).await? else { return Ok(Ok(0)) };
    let through = through.min(first.saturating_add(BATCH));
    let mut check = ChainCheck::new(checkpoints, None);
    audit_rows::for_each(queries, through, |row| check.row(&row)).await?;
    let (last, problem) = check.interim();
    if let Some(problem) = problem {
        return Ok(Err(problem));
    }
    let removed = last.number.saturating_sub(first);
    if removed == 0 {
        return Ok(Ok(0));
    }
    audit_rows::remove(queries, newest.as_ref(), last, removed, now).await?;
    let entry = EncodedEntry::of_pruning(last, removed, now)?;
    audit_rows::append(queries, &[entry]).await?;
    Ok(Ok(removed))
}
