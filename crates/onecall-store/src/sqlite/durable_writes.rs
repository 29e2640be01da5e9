//! The transactions of journals and approvals, and the marker that protects a damaged store from
//! being replaced.
//!
//! Most of these transactions are on disk when they are committed. The beginning of a run, and the
//! end of one whose journal is empty, are not: they outlive the process at once, and the machine with
//! the next transaction that is on disk, because all transactions share one log. Such a run has sent
//! nothing and asked nobody, so nothing outside depends on it.

use std::io;

use onecall_core::storage::StoreError;
use rusqlite::{Connection, Transaction};

use super::durable_marker::DurableMarker;
use super::{ConnectionSlot, SqliteStore, connection, durable_runs};

impl SqliteStore {
    /// Reads on the connection for journals and approvals.
    pub(super) fn read_durable<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.with(&self.durable_reading_connection, |file_connection| {
            work(&file_connection.connection)
        })
    }

    /// Executes `work` in a transaction that is on disk when this returns.
    pub(super) fn write_durably<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.write_with(&self.durable_writing_connection, work)
    }

    /// Executes `work`, which adds something that must not be lost, in a transaction of this
    /// connection. The marker is on disk before the transaction is.
    pub(super) fn write_marked<T>(
        &self,
        slot: &ConnectionSlot,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.write_with(slot, |transaction| self.after_marking(|| work(transaction)))?
            .map_err(|source| StoreError::unusable(&self.path, source))
    }

    /// Executes `work` once the marker is on disk; the inner error says why it is not.
    pub(super) fn after_marking<T>(
        &self,
        work: impl FnOnce() -> rusqlite::Result<T>,
    ) -> rusqlite::Result<io::Result<T>> {
        match DurableMarker::of(&self.path).create() {
            Ok(()) => work().map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Executes `work`, which may settle the last run or question, in a transaction. If it did, the
    /// marker is removed.
    pub(super) fn write_and_unmark<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let (done, is_needed) = self.write_durably(|transaction| {
            let done = work(transaction)?;
            Ok((done, durable_runs::depend_on_store(transaction)?))
        })?;
        if !is_needed && let Err(error) = self.remove_marker() {
            tracing::debug!("cannot remove the marker of '{}': {error}", self.path.display());
        }
        Ok(done)
    }

    /// Removes the marker, unless a run depends on the store. It has a transaction of its own: if the
    /// process ended between the removal and the commit that settles the last run, a run would be left
    /// without a marker.
    pub(super) fn remove_marker(&self) -> Result<(), StoreError> {
        let marker = DurableMarker::of(&self.path);
        if !marker.exists() {
            return Ok(());
        }
        let removed = self.write_durably(|transaction| {
            Ok(match durable_runs::depend_on_store(transaction)? {
                true => Ok(()),
                // The ends of runs must be on disk before the marker goes: otherwise a power failure
                // could bring a run back without it.
                false => connection::sync_log(&self.path).and_then(|()| marker.remove()),
            })
        })?;
        removed.map_err(|source| StoreError::unusable(&self.path, source))
    }
}
