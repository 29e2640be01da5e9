//! The audit trail in SQLite. Rows are added inside of an immediate transaction, so that several
//! processes extend one chain. A file that cannot be used is tried again at the next write: unlike
//! records, the trail is never given up, and its file is never replaced here.

use onecall_core::Timestamp;
use onecall_core::storage::{
    AuditEntry, AuditFilter, AuditHead, AuditProblem, AuditReport, AuditRow, AuditTrail,
    ChainCheck, ExpectedHead, StoreError,
};
use rusqlite::Connection;
use std::sync::PoisonError;

use super::connection::{FileConnection, OpenError};
use super::{SqliteStore, audit_rows, in_transaction};
use crate::rows::audit::{BATCH, EncodedEntry};

impl AuditTrail for SqliteStore {
    fn append_audit(&self, entries: &[AuditEntry]) -> Result<(), StoreError> {
        if entries.is_empty() {
            return Ok(());
        }
        let encoded: Result<Vec<_>, _> = entries.iter().map(EncodedEntry::new).collect();
        let encoded = encoded.map_err(|source| StoreError::database(&self.path, source))?;
        self.with_trail(|connection| {
            in_transaction(connection, |transaction| {
                self.after_marking(|| audit_rows::append(transaction, &encoded))
            })
        })?
        .map_err(|source| StoreError::unusable(&self.path, source))
    }

    fn audit_rows(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError> {
        self.read_durable(|connection| audit_rows::select(connection, filter))
    }

    fn audit_head(&self) -> Result<Option<AuditHead>, StoreError> {
        self.read_durable(audit_rows::head)
    }

    fn verify_audit(&self, expected: Option<ExpectedHead>) -> Result<AuditReport, StoreError> {
        self.read_durable(|connection| {
            // One transaction, so that everything is read as it was at one moment.
            let snapshot = connection.unchecked_transaction()?;
            let mut check = ChainCheck::new(audit_rows::checkpoints(&snapshot)?, expected);
            audit_rows::for_each(&snapshot, u64::MAX, |row| check.row(&row))?;
            Ok(check.finish(audit_rows::head(&snapshot)?))
        })
    }

    fn prune_audit(&self, before: Timestamp, now: Timestamp) -> Result<u64, StoreError> {
        let mut pruned = 0;
        loop {
            let removed = self.with_trail(|connection| {
                in_transaction(connection, |transaction| remove_batch(transaction, before, now))
            })?;
            match removed {
                Ok(0) => break,
                Ok(removed) => pruned += removed,
                Err(problem) => return Err(StoreError::AuditNotIntact { problem }),
            }
        }
        if pruned > 0 {
            self.free_pages()?;
        }
        Ok(pruned)
    }
}

impl SqliteStore {
    /// Executes `work` on the connection of the audit trail.
    fn with_trail<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        if let Some(reason) = self.disabled.get().filter(|_| self.path.as_os_str().is_empty()) {
            return Err(StoreError::Disabled { reason: reason.clone() });
        }
        let slot = &self.audit_connection;
        let mut open = slot.connection.lock().unwrap_or_else(PoisonError::into_inner);
        // The file may have been deleted or moved aside.
        let file = match open.take().filter(|file| file.is_at(&self.path)) {
            Some(file) => file,
            None => {
                FileConnection::open(&self.path, slot.synchronous).map_err(|error| match error {
                    OpenError::Damaged(_) => StoreError::NotAStore { path: self.path.clone() },
                    OpenError::Permanent(error) => error,
                    OpenError::Temporary(source) => self.database_error(source),
                })?
            }
        };
        let done = work(&file.connection);
        // After an error, the next write begins with a new connection.
        *open = done.is_ok().then_some(file);
        done.map_err(|source| self.database_error(source))
    }
}

/// Removes rows older than `before`, at most one batch, and returns how many. The error says that
/// they are not intact: what was done to them must not be hidden by a checkpoint.
fn remove_batch(
    connection: &Connection,
    before: Timestamp,
    now: Timestamp,
) -> rusqlite::Result<Result<u64, AuditProblem>> {
    let checkpoints = audit_rows::checkpoints(connection)?;
    let newest = checkpoints.last().copied();
    let first = newest.map_or(0, |checkpoint| checkpoint.last.number);
    let Some(through) = audit_rows::last_before(connection, before)? else { return Ok(Ok(0)) };
    let through = through.min(first.saturating_add(BATCH));
    let mut check = ChainCheck::new(checkpoints, None);
    audit_rows::for_each(connection, through, |row| check.row(&row))?;
    let (last, problem) = check.interim();
    if let Some(problem) = problem {
        return Ok(Err(problem));
    }
    let removed = last.number.saturating_sub(first);
    if removed == 0 {
        return Ok(Ok(0));
    }
    audit_rows::remove(connection, newest.as_ref(), last, removed, now)?;
    let entry = EncodedEntry::of_pruning(last, removed, now)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    audit_rows::append(connection, &[entry])?;
    Ok(Ok(removed))
}
