//! A store for durable runs in memory, which can be out of order.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, MutexGuard};
use std::time::Duration;

use onecall_core::storage::{
    AnswerReceipt, Approvals, DurableRun, FinalAnswer, Grant, JournalBatch, JournalRefusal,
    Journals, Lease, Outage, QuestionFilter, StoreError, StoredJournal, StoredQuestion,
};
use onecall_core::{
    AnsweredVerdict, ApprovalQuestion, CallableName, InPlaceReason, ItemId, JournalEvent, RunId,
    Timestamp, UserName,
};

/// A store with the journal of one run.
#[derive(Default)]
pub struct MemoryStore {
    events: Mutex<Vec<JournalEvent>>,
    in_place: Mutex<Option<InPlaceReason>>,
    /// The run as it was added last.
    pub added: Mutex<Option<DurableRun>>,
    /// If this is set, adding a run waits at the barrier twice: when it begins, and before it ends.
    pub add_barrier: Mutex<Option<Arc<Barrier>>>,
    /// Whether the answer is lost when a run has been added.
    pub loses_answer: AtomicBool,
    /// How many transactions have written events.
    pub commits: AtomicUsize,
    /// Whether nothing can be written.
    pub is_full: AtomicBool,
    /// Whether the disk fails.
    pub is_broken: AtomicBool,
    /// Whether another process has taken the run.
    pub is_taken: AtomicBool,
}

impl MemoryStore {
    pub fn with(events: &[JournalEvent]) -> Self {
        Self { events: Mutex::new(events.to_vec()), ..Self::default() }
    }

    pub fn events(&self) -> MutexGuard<'_, Vec<JournalEvent>> {
        self.events.lock().unwrap()
    }

    pub fn in_place(&self) -> Option<InPlaceReason> {
        *self.in_place.lock().unwrap()
    }
}

impl Journals for MemoryStore {
    fn add_durable_runs(&self, runs: &[&DurableRun]) -> Result<(), StoreError> {
        let barrier = self.add_barrier.lock().unwrap().clone();
        if let Some(barrier) = barrier {
            barrier.wait();
            barrier.wait();
        }
        if self.is_broken.load(Ordering::SeqCst) {
            return Err(StoreError::Disabled { reason: "the disk is gone".to_owned() });
        }
        for run in runs {
            *self.added.lock().unwrap() = Some(DurableRun::clone(run));
        }
        match self.loses_answer.load(Ordering::SeqCst) {
            true => Err(StoreError::Unreachable {
                store: "memory".to_owned(),
                outage: Outage::Unconfirmed,
                cause: "the answer is lost".into(),
            }),
            false => Ok(()),
        }
    }

    fn append(
        &self,
        batches: &[JournalBatch],
    ) -> Result<Vec<Result<(), JournalRefusal>>, StoreError> {
        if self.is_broken.load(Ordering::SeqCst) {
            return Err(StoreError::Disabled { reason: "the disk is gone".to_owned() });
        }
        self.commits.fetch_add(1, Ordering::SeqCst);
        let mut events = self.events();
        let append = |batch: &JournalBatch| {
            if self.is_full.load(Ordering::SeqCst) {
                return Err(JournalRefusal::Full { limit_mb: 1 });
            }
            if self.is_taken.load(Ordering::SeqCst) {
                return Err(JournalRefusal::LeaseLost);
            }
            let expected = u64::try_from(events.len()).unwrap();
            if batch.first != expected {
                return Err(JournalRefusal::OutOfOrder { expected });
            }
            events.extend(batch.events.iter().cloned());
            Ok(())
        };
        Ok(batches.iter().map(append).collect())
    }

    fn journal(&self, _: &RunId) -> Result<StoredJournal, StoreError> {
        Ok(StoredJournal { events: self.events().clone(), unreadable: 0 })
    }

    fn durable_run(&self, _: &RunId) -> Result<Option<DurableRun>, StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn durable_runs(&self, _: bool) -> Result<Vec<DurableRun>, StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn unrecorded_runs(&self, _limit: usize) -> Result<Vec<DurableRun>, StoreError> {
        Ok(Vec::new())
    }

    fn set_waiting(&self, _: &RunId, _: u64, _: bool) -> Result<bool, StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn set_in_place(&self, _: &RunId, _: u64, reason: InPlaceReason) -> Result<bool, StoreError> {
        *self.in_place.lock().unwrap() = Some(reason);
        Ok(true)
    }

    fn take_lease(
        &self,
        _: &RunId,
        _: &str,
        _: Timestamp,
        _: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn renew_leases(
        &self,
        _: &[(RunId, u64)],
        _: Timestamp,
        _: Duration,
    ) -> Result<Vec<RunId>, StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn lost_leases(&self, _: &[(RunId, u64)]) -> Result<Vec<RunId>, StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn give_up_lease(&self, _: &RunId, _: u64) -> Result<(), StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn end_durable_run(&self, _: &RunId, _: u64, _: &FinalAnswer) -> Result<bool, StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn cancel_durable_run(&self, _: &RunId, _: &FinalAnswer) -> Result<bool, StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn prune_durable_runs(&self, _: Timestamp) -> Result<u64, StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn release_file(&self) -> Result<(), StoreError> {
        unreachable!("no test of the runtime needs this")
    }
}

/// The desk of these tests keeps its questions itself.
impl Approvals for MemoryStore {
    fn add_question(
        &self,
        _: &ApprovalQuestion,
        _: Option<Timestamp>,
    ) -> Result<StoredQuestion, StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn question(&self, _: &ItemId) -> Result<Option<StoredQuestion>, StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn questions(&self, _: &QuestionFilter) -> Result<Vec<StoredQuestion>, StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn claim_announcement(
        &self,
        _: &RunId,
        _: &[(ItemId, Timestamp)],
        _: Timestamp,
    ) -> Result<Vec<ItemId>, StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn end_announcement(&self, _: &RunId, _: &[ItemId]) -> Result<(), StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn answer_question(
        &self,
        _: &ItemId,
        _: &AnsweredVerdict,
    ) -> Result<AnswerReceipt, StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn withdraw_question(&self, _: &ItemId) -> Result<(), StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn grants(
        &self,
        _: &CallableName,
        _: &RunId,
        _: &UserName,
        _: Timestamp,
    ) -> Result<Vec<Grant>, StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn all_grants(&self, _: Timestamp) -> Result<Vec<Grant>, StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn revoke_grant(&self, _: &ItemId) -> Result<bool, StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn change_number(&self) -> Result<i64, StoreError> {
        unreachable!("no test of the runtime needs this")
    }

    fn sealing_key(&self) -> Result<[u8; 32], StoreError> {
        unreachable!("no test of the runtime needs this")
    }
}
