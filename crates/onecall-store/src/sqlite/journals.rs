//! Durable runs and their journals in SQLite.

use std::time::Duration;

use onecall_core::storage::{
    DurableRun, DurableState, FinalAnswer, JournalBatch, JournalRefusal, Journals, Lease,
    StoreError, StoredJournal,
};
use onecall_core::{InPlaceReason, RunId, Timestamp};

use super::journal_batches::{append_batch, read_journal, total_bytes};
use super::{SqliteStore, approvals, durable_runs};
use crate::encoding::names::name_of;
use crate::rows::journals::EncodedBatch;

impl Journals for SqliteStore {
    fn add_durable_runs(&self, runs: &[&DurableRun]) -> Result<(), StoreError> {
        self.write_marked(&self.writing_connection, |transaction| {
            runs.iter().try_for_each(|run| durable_runs::insert(transaction, run))
        })
    }

    fn append(
        &self,
        batches: &[JournalBatch],
    ) -> Result<Vec<Result<(), JournalRefusal>>, StoreError> {
        let mut encoded = EncodedBatch::encode_all(batches)
            .map_err(|source| StoreError::database(&self.path, source))?;
        self.write_durably(|transaction| {
            let mut total = total_bytes(transaction)?;
            let appended = encoded
                .iter_mut()
                .map(|batch| append_batch(transaction, batch, &mut total, self.journal_mb));
            appended.collect()
        })
    }

    fn journal(&self, run: &RunId) -> Result<StoredJournal, StoreError> {
        self.read_durable(|connection| {
            let snapshot = connection.unchecked_transaction()?;
            match durable_runs::number_unfinished(&snapshot, run)? {
                Some(number) => read_journal(&snapshot, number),
                None => Ok(StoredJournal::default()),
            }
        })
    }

    fn durable_run(&self, run: &RunId) -> Result<Option<DurableRun>, StoreError> {
        self.read_durable(|connection| durable_runs::find(connection, run))
    }

    fn durable_runs(&self, ended: bool) -> Result<Vec<DurableRun>, StoreError> {
        self.read_durable(|connection| durable_runs::list(connection, ended))
    }

    fn unrecorded_runs(&self, limit: usize) -> Result<Vec<DurableRun>, StoreError> {
        self.read_durable(|connection| durable_runs::list_unrecorded(connection, limit))
    }

    fn set_waiting(&self, run: &RunId, fence: u64, waiting: bool) -> Result<bool, StoreError> {
        let state = if waiting { DurableState::Waiting } else { DurableState::Running };
        self.write_durably(|transaction| {
            durable_runs::set_for_owner(transaction, run, fence, "state", state.name())
        })
    }

    fn set_in_place(
        &self,
        run: &RunId,
        fence: u64,
        reason: InPlaceReason,
    ) -> Result<bool, StoreError> {
        self.write_durably(|transaction| {
            let reason = name_of(&reason);
            durable_runs::set_for_owner(transaction, run, fence, "in_place", &reason)
        })
    }

    fn take_lease(
        &self,
        run: &RunId,
        owner: &str,
        now: Timestamp,
        length: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        self.write_durably(|transaction| {
            durable_runs::take_lease(transaction, run, owner, now, length)
        })
    }

    fn renew_leases(
        &self,
        leases: &[(RunId, u64)],
        now: Timestamp,
        length: Duration,
    ) -> Result<Vec<RunId>, StoreError> {
        let until = now.after(length);
        self.write_durably(|transaction| {
            let mut lost = Vec::new();
            for (run, fence) in leases {
                if !durable_runs::renew_lease(transaction, run, *fence, until)? {
                    lost.push(run.clone());
                }
            }
            Ok(lost)
        })
    }

    fn lost_leases(&self, leases: &[(RunId, u64)]) -> Result<Vec<RunId>, StoreError> {
        self.read_durable(|connection| durable_runs::lost_leases(connection, leases))
    }

    fn give_up_lease(&self, run: &RunId, fence: u64) -> Result<(), StoreError> {
        self.write_durably(|transaction| durable_runs::give_up_lease(transaction, run, fence))
    }

    fn end_durable_run(
        &self,
        run: &RunId,
        fence: u64,
        answer: &FinalAnswer,
    ) -> Result<bool, StoreError> {
        let as_unused = self.write(|transaction| {
            match durable_runs::number_for_owner(transaction, run, fence)? {
                Some(number) if durable_runs::is_used(transaction, number, run)? => Ok(None),
                Some(number) => {
                    durable_runs::end_unused(transaction, number, answer)?;
                    Ok(Some(true))
                }
                None => Ok(Some(false)),
            }
        })?;
        if let Some(ended) = as_unused {
            return Ok(ended);
        }
        self.write_durably(|transaction| {
            let number = durable_runs::number_for_owner(transaction, run, fence)?;
            number.map(|number| durable_runs::end(transaction, number, run, answer)).transpose()
        })
        .map(|ended| ended.is_some())
    }

    fn cancel_durable_run(&self, run: &RunId, answer: &FinalAnswer) -> Result<bool, StoreError> {
        self.write_and_unmark(|transaction| {
            let number = durable_runs::number_unfinished(transaction, run)?;
            number.map(|number| durable_runs::end(transaction, number, run, answer)).transpose()
        })
        .map(|ended| ended.is_some())
    }

    fn prune_durable_runs(&self, before: Timestamp) -> Result<u64, StoreError> {
        let mut pruned = 0;
        loop {
            let removed =
                self.write_durably(|transaction| durable_runs::remove_ended(transaction, before))?;
            if removed == 0 {
                break;
            }
            pruned += removed;
        }
        self.write_and_unmark(|transaction| approvals::remove_old(transaction, before))?;
        if pruned > 0 {
            self.free_pages()?;
        }
        Ok(pruned)
    }

    fn release_file(&self) -> Result<(), StoreError> {
        self.remove_marker()
    }
}
