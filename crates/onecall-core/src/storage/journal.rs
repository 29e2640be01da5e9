//! The storage trait for durable runs: their journals, their leases and their answers.

use std::time::Duration;

use thiserror::Error;

use super::StoreError;
use crate::{InPlaceReason, JournalEvent, Principal, RunId, Timestamp};

/// A run that can be continued in another process.
#[derive(Clone, Debug, PartialEq)]
pub struct DurableRun {
    /// The identifier of the run.
    pub id: RunId,
    /// The kind of run, such as `program` or `plan`.
    pub kind: String,
    /// The user that the run is for, with the groups at its beginning.
    pub principal: Principal,
    /// The client that asked for the run.
    pub client: String,
    /// When the run began.
    pub started: Timestamp,
    /// What is run, as JSON: a program with its options, a plan or a single call. It contains
    /// everything that is needed to start the run again.
    pub request: String,
    /// The digest of the configuration. Only a gateway with the same configuration continues the run
    /// by itself.
    pub configuration: String,
    /// Makes the random numbers of the program.
    pub seed: [u8; 32],
    /// What the run does at present.
    pub state: DurableState,
    /// Why the run can be continued only by the process that holds its worker, if that is so.
    pub in_place: Option<InPlaceReason>,
    /// The process that executes the run, until its lease ends.
    pub lease: Option<Lease>,
    /// How often the run was continued from its journal. The store counts it.
    pub resumed: u64,
    /// How often among that its process had disappeared without giving its lease up. The store counts it.
    pub interruptions: u64,
}

/// What a durable run does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DurableState {
    /// The run is executed by the owner of its lease. Without a valid lease it was interrupted.
    Running,
    /// The run waits for a person. It may have a worker or not.
    Waiting,
    /// The run has ended.
    Ended(FinalAnswer),
}

impl DurableState {
    /// The name of the state in the store.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Ended(_) => "ended",
        }
    }
}

impl DurableRun {
    /// Lets the first lease of the run begin now, with the length that it had when the run began.
    pub fn renew_lease(&mut self, now: Timestamp) {
        if let Some(lease) = &mut self.lease {
            let length = lease.until.0.saturating_sub(self.started.0);
            lease.until = Timestamp(now.0.saturating_add(length).max(lease.until.0));
        }
    }
}

/// The answer of a run that has ended, for a client that asks for it later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalAnswer {
    /// The answer, as JSON: the result of the tool call that started the run.
    pub result: String,
    /// When the run ended.
    pub at: Timestamp,
}

/// The right of one process to execute a run. Each lease of a run has a higher number than the one
/// before; a write with an older number is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The process that holds the lease.
    pub owner: String,
    /// The fencing number.
    pub fence: u64,
    /// When the lease ends, unless it is renewed.
    pub until: Timestamp,
}

/// How far the clocks of two machines, or of one machine at different times, may differ. A lease that ends
/// later than that from now was taken before the clock was set back.
pub const LONGEST_CLOCK_ERROR: Duration = Duration::from_secs(24 * 60 * 60);

impl Lease {
    /// Whether another process may take the run.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.until <= now || self.until > now.after(LONGEST_CLOCK_ERROR)
    }
}

impl DurableRun {
    /// Whether a process has the right to execute the run.
    #[must_use]
    pub fn is_owned(&self, now: Timestamp) -> bool {
        self.lease.as_ref().is_some_and(|lease| !lease.is_over(now))
    }
}

/// Events to be appended to the journal of one run.
#[derive(Clone, Debug)]
pub struct JournalBatch {
    /// The run.
    pub run: RunId,
    /// The fencing number of the writer's lease.
    pub fence: u64,
    /// The number of the first event; events of a run are numbered from 0 without gaps.
    pub first: u64,
    /// The events.
    pub events: Vec<JournalEvent>,
}

/// The journal of a run as far as it can be read.
#[derive(Clone, Debug, Default)]
pub struct StoredJournal {
    /// The events, in their order, up to the first damaged one.
    pub events: Vec<JournalEvent>,
    /// How many events follow that cannot be used, because the first of them is damaged. If there
    /// are any, calls may have been sent of which nothing is known.
    pub unreadable: u64,
}

/// Why a journal was not written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JournalRefusal {
    /// Another process has taken the run over, or the run was cancelled or has ended.
    #[error("another process continues the run, or the run has ended")]
    LeaseLost,
    /// The first event of the batch is not the one that comes next, so the journal would have a gap
    /// or contain an event twice.
    #[error("the next event of the journal has the number {expected}")]
    OutOfOrder {
        /// The number of the event that comes next.
        expected: u64,
    },
    /// All journals together would exceed the configured size.
    #[error("the journals of all runs would take more than {limit_mb} MB (`store.journal_mb`)")]
    Full {
        /// The configured size.
        limit_mb: u64,
    },
}

/// Stores durable runs. Every write survives the end of the process when its method returns, and is
/// on disk then, unless its method says otherwise.
pub trait Journals: Send + Sync {
    /// Adds runs with their leases, in one transaction. The runs are on disk when the next write to
    /// the store is. A run that this was done for before, although the answer was lost, gets its new lease
    /// if its process still holds the old one; otherwise it stays as it is, and the next write under the
    /// lease is refused.
    ///
    /// # Errors
    /// If the store cannot be written. No run is added then.
    fn add_durable_runs(&self, runs: &[&DurableRun]) -> Result<(), StoreError>;

    /// Appends events to the journals of several runs in one transaction. A refused batch is left
    /// out; the others are written. Events at the beginning of a batch that are there already, because the
    /// answer to an earlier call was lost, are not written again.
    ///
    /// # Errors
    /// If the store cannot be written. Nothing is written then.
    fn append(
        &self,
        batches: &[JournalBatch],
    ) -> Result<Vec<Result<(), JournalRefusal>>, StoreError>;

    /// The journal of a run. It is empty if the run is unknown or has ended.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn journal(&self, run: &RunId) -> Result<StoredJournal, StoreError>;

    /// The run with this identifier, if it is stored.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn durable_run(&self, run: &RunId) -> Result<Option<DurableRun>, StoreError>;

    /// The runs that have not ended, oldest first; with `ended`, also those that have.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn durable_runs(&self, ended: bool) -> Result<Vec<DurableRun>, StoreError>;

    /// The runs that have ended and of which there is no record, newest first and at most `limit` of them.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn unrecorded_runs(&self, limit: usize) -> Result<Vec<DurableRun>, StoreError>;

    /// Sets whether the run waits for a person. The result is `false` if the lease was lost.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn set_waiting(&self, run: &RunId, fence: u64, waiting: bool) -> Result<bool, StoreError>;

    /// Notes that the run can be continued only by the process that holds its worker. The result is
    /// `false` if the lease was lost.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn set_in_place(
        &self,
        run: &RunId,
        fence: u64,
        reason: InPlaceReason,
    ) -> Result<bool, StoreError>;

    /// Takes the lease of a run that has not ended and whose lease has ended or was given up. A
    /// lease that ends more than a day after the new one would, has ended too: the clock was set
    /// back. The result is the new lease, or `None` if the run cannot be taken.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn take_lease(
        &self,
        run: &RunId,
        owner: &str,
        now: Timestamp,
        length: Duration,
    ) -> Result<Option<Lease>, StoreError>;

    /// Renews these leases, each given by its run and fencing number, and returns the runs whose
    /// lease was lost.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn renew_leases(
        &self,
        leases: &[(RunId, u64)],
        now: Timestamp,
        length: Duration,
    ) -> Result<Vec<RunId>, StoreError>;

    /// The runs among these, each given by its run and the fencing number of its lease, whose lease was lost.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn lost_leases(&self, leases: &[(RunId, u64)]) -> Result<Vec<RunId>, StoreError>;

    /// Gives a lease up, so that any process can continue the run at once. Later writes with its
    /// fencing number are refused.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn give_up_lease(&self, run: &RunId, fence: u64) -> Result<(), StoreError>;

    /// Ends a run: keeps its answer, withdraws its open questions and deletes its journal. The
    /// result is `false` if the lease was lost or the run had ended. If the journal is empty and the run
    /// has asked nobody, so that nothing outside depends on it, its end is on disk when the next write
    /// to the store is.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn end_durable_run(
        &self,
        run: &RunId,
        fence: u64,
        answer: &FinalAnswer,
    ) -> Result<bool, StoreError>;

    /// Cancels a run, whoever holds its lease: the holder finds its lease lost. The result is
    /// `false` if the run had ended or is unknown.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn cancel_durable_run(&self, run: &RunId, answer: &FinalAnswer) -> Result<bool, StoreError>;

    /// Removes ended runs that ended before `before`, and returns how many.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn prune_durable_runs(&self, before: Timestamp) -> Result<u64, StoreError>;

    /// Allows the file of the store to be replaced if it gets damaged, unless a run that has not ended
    /// or an open question depends on it. The file is protected from the first run that is added until
    /// this is called: to protect it for each run takes longer than a short run.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn release_file(&self) -> Result<(), StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_of_a_clock_that_was_set_back_is_over() {
        let now = Timestamp(1_000_000);
        let day = LONGEST_CLOCK_ERROR;
        for (until, is_over) in [
            (now.before(day), true),
            (now, true),
            (Timestamp(now.0 + 1), false),
            (now.after(day), false),
            (Timestamp(now.after(day).0 + 1), true),
        ] {
            let lease = Lease { owner: String::new(), fence: 1, until };
            assert_eq!(lease.is_over(now), is_over, "{until:?}");
        }
    }
}
