//! Durable runs and their journals in PostgreSQL.

use std::time::Duration;

use onecall_core::storage::{
    DurableRun, DurableState, FinalAnswer, JournalBatch, JournalRefusal, Journals, Lease,
    StoreError, StoredJournal,
};
use onecall_core::{InPlaceReason, RunId, Timestamp};

use super::changes::Topic;
use super::journal_batches::{append_batch, read_journal, total_bytes};
use super::{PostgresStore, approvals, durable_runs};
use crate::encoding::names::name_of;
use crate::rows::journals::EncodedBatch;

impl Journals for PostgresStore {
    fn add_durable_runs(&self, runs: &[&DurableRun]) -> Result<(), StoreError> {
        // No other process waits for a run that has a lease.
        self.write(None, async |queries| {
            for run in runs {
                durable_runs::insert(queries, run).await?;
            }
            Ok(())
        })
    }

    fn append(
        &self,
        batches: &[JournalBatch],
    ) -> Result<Vec<Result<(), JournalRefusal>>, StoreError> {
        let mut encoded = EncodedBatch::encode_all(batches).map_err(|source| self.error(source))?;
        self.write_durably(None, async |queries| {
            durable_runs::lock(queries, batches.iter().map(|batch| &batch.run)).await?;
            let mut total = total_bytes(queries).await?;
            let mut appended = Vec::with_capacity(encoded.len());
            for batch in &mut encoded {
                appended.push(append_batch(queries, batch, &mut total, self.journal_mb).await?);
            }
            Ok(appended)
        })
    }

    fn journal(&self, run: &RunId) -> Result<StoredJournal, StoreError> {
        self.read_snapshot(async |queries| {
            match durable_runs::number_unfinished(queries, run).await? {
                Some(number) => read_journal(queries, number).await,
                None => Ok(StoredJournal::default()),
            }
        })
    }

    fn durable_run(&self, run: &RunId) -> Result<Option<DurableRun>, StoreError> {
        self.read(async |queries| durable_runs::find(queries, run).await)
    }

    fn durable_runs(&self, ended: bool) -> Result<Vec<DurableRun>, StoreError> {
        self.read(async |queries| durable_runs::list(queries, ended).await)
    }

    fn unrecorded_runs(&self, limit: usize) -> Result<Vec<DurableRun>, StoreError> {
        self.read(async |queries| durable_runs::list_unrecorded(queries, limit).await)
    }

    fn set_waiting(&self, run: &RunId, fence: u64, waiting: bool) -> Result<bool, StoreError> {
        let state = if waiting { DurableState::Waiting } else { DurableState::Running };
        self.write_durably(Some(Topic::Runs), async |queries| {
            durable_runs::set_for_owner(queries, run, fence, "state", state.name()).await
        })
    }

    fn set_in_place(
        &self,
        run: &RunId,
        fence: u64,
        reason: InPlaceReason,
    ) -> Result<bool, StoreError> {
        let reason = name_of(&reason);
        self.write_durably(Some(Topic::Runs), async |queries| {
            durable_runs::set_for_owner(queries, run, fence, "in_place", &reason).await
        })
    }

    fn take_lease(
        &self,
        run: &RunId,
        owner: &str,
        now: Timestamp,
        length: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        self.write_durably(Some(Topic::Runs), async |queries| {
            durable_runs::take_lease(queries, run, owner, now, length).await
        })
    }

    fn renew_leases(
        &self,
        leases: &[(RunId, u64)],
        now: Timestamp,
        length: Duration,
    ) -> Result<Vec<RunId>, StoreError> {
        let until = now.after(length);
        self.write_durably(None, async |queries| {
            durable_runs::lock(queries, leases.iter().map(|(run, _)| run)).await?;
            let mut lost = Vec::new();
            for (run, fence) in leases {
                if !durable_runs::renew_lease(queries, run, *fence, until).await? {
                    lost.push(run.clone());
                }
            }
            Ok(lost)
        })
    }

    fn lost_leases(&self, leases: &[(RunId, u64)]) -> Result<Vec<RunId>, StoreError> {
        self.read(async |queries| durable_runs::lost_leases(queries, leases).await)
    }

    fn give_up_lease(&self, run: &RunId, fence: u64) -> Result<(), StoreError> {
        self.write_durably(Some(Topic::Runs), async |queries| {
            durable_runs::give_up_lease(queries, run, fence).await
        })
    }

    fn end_durable_run(
        &self,
        run: &RunId,
        fence: u64,
        answer: &FinalAnswer,
    ) -> Result<bool, StoreError> {
        self.write_durably(Some(Topic::Runs), async |queries| {
            match durable_runs::number_for_owner(queries, run, fence).await? {
                Some(number) if durable_runs::is_used(queries, number, run).await? => {
                    durable_runs::end(queries, number, run, answer).await?;
                    Ok(true)
                }
                Some(number) => {
                    durable_runs::end_unused(queries, number, answer).await?;
                    // Nothing outside depends on the run, so its end need not wait for the disk.
                    queries.batch("SET LOCAL synchronous_commit = off").await?;
                    Ok(true)
                }
                None => Ok(false),
            }
        })
    }

    fn cancel_durable_run(&self, run: &RunId, answer: &FinalAnswer) -> Result<bool, StoreError> {
        self.write_durably(Some(Topic::Runs), async |queries| {
            durable_runs::lock(queries, [run]).await?;
            let Some(number) = durable_runs::number_unfinished(queries, run).await? else {
                return Ok(false);
            };
            durable_runs::end(queries, number, run, answer).await?;
            Ok(true)
        })
    }

    fn prune_durable_runs(&self, before: Timestamp) -> Result<u64, StoreError> {
        let mut pruned = 0;
        loop {
            let removed = self.write_durably(None, async |queries| {
                durable_runs::remove_ended(queries, before).await
            })?;
            if removed == 0 {
                break;
            }
            pruned += removed;
        }
        self.write_durably(Some(Topic::Runs), async |queries| {
            approvals::remove_old(queries, before).await
        })?;
        Ok(pruned)
    }

    fn release_file(&self) -> Result<(), StoreError> {
        // A database is never replaced.
        Ok(())
    }
}
