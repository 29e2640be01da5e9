//! What a check of the audit trail finds.

use thiserror::Error;

use super::audit_chain::AuditHead;
use crate::Digest;

/// How many problems a report names.
const MAX_PROBLEMS: usize = 20;

/// Something that is wrong with a trail.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AuditProblem {
    /// A row is not there.
    #[error("row {number} is missing")]
    Missing {
        /// The number.
        number: u64,
    },
    /// Several rows in sequence are not there.
    #[error("rows {first} to {last} are missing")]
    MissingRange {
        /// The first number.
        first: u64,
        /// The last number.
        last: u64,
    },
    /// A row is there that was removed, according to a checkpoint.
    #[error("row {number} was inserted: a checkpoint says that it was removed")]
    Inserted {
        /// The number.
        number: u64,
    },
    /// The digest of a row is not that of its content and the row before.
    #[error(
        "row {number} was changed, moved or inserted, or the row before it was: it does not follow from the row before"
    )]
    Changed {
        /// The number.
        number: u64,
    },
    /// A column is not what the content says.
    #[error("row {number} was changed: its columns differ from its content")]
    Columns {
        /// The number.
        number: u64,
    },
    /// The content is not an entry.
    #[error("row {number} cannot be read")]
    Unreadable {
        /// The number.
        number: u64,
    },
    /// The trail has rows after the one that was the newest.
    #[error("row {number} was inserted: the newest row that onecall has written is row {head}")]
    AfterHead {
        /// The number.
        number: u64,
        /// The number of the newest row that was written.
        head: u64,
    },
    /// The newest row is not the one that was written last.
    #[error("row {number} was changed: it is not the newest row that onecall has written")]
    OtherHead {
        /// The number.
        number: u64,
    },
    /// The note which row is the newest is not there.
    #[error(
        "the note which row is the newest is missing, so rows may be missing after row {number}"
    )]
    NoHead {
        /// The number of the last row.
        number: u64,
    },
    /// A checkpoint is not what was written.
    #[error("the checkpoint at row {number} was changed, or one before it is missing")]
    Checkpoint {
        /// The number of the last row that it stands for.
        number: u64,
    },
    /// No row says that a checkpoint was made.
    #[error(
        "the checkpoint at row {number} was inserted: no row says that old rows were removed up to it"
    )]
    UnconfirmedCheckpoint {
        /// The number of the last row that it stands for.
        number: u64,
    },
    /// A row says that rows were removed, and the checkpoint is not there.
    #[error(
        "the checkpoint at row {through} is missing or was changed: row {number} says that it was made"
    )]
    MissingCheckpoint {
        /// The row that says so.
        number: u64,
        /// The number of the last row that the checkpoint stands for.
        through: u64,
    },
    /// No row has the expected digest.
    #[error(
        "no row has the expected digest {digest}: rows were changed or removed, or it is of another trail"
    )]
    Unexpected {
        /// The expected digest.
        digest: Digest,
    },
    /// A row has another digest than expected.
    #[error(
        "row {number} does not have the expected digest {digest}: it, or a row before it, was changed"
    )]
    UnexpectedRow {
        /// The number.
        number: u64,
        /// The expected digest.
        digest: Digest,
    },
    /// The trail ends before the expected row.
    #[error(
        "the trail ends with row {last}, before the expected row {number}: rows are missing at the end"
    )]
    EndsEarly {
        /// The expected number.
        number: u64,
        /// The number of the last row.
        last: u64,
    },
    /// The expected row was removed because of its age.
    #[error(
        "row {number} was removed because of its age, so its digest cannot be compared; keep a newer one"
    )]
    ExpectedRemoved {
        /// The expected number.
        number: u64,
    },
}

/// The result of checking a trail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditReport {
    /// How many rows there are.
    pub rows: u64,
    /// How many rows were removed because of their age.
    pub removed: u64,
    /// The newest row.
    pub head: Option<AuditHead>,
    /// What is wrong: the first problems, in the order of the rows.
    pub problems: Vec<AuditProblem>,
    /// How many problems there are beside those.
    pub further_problems: u64,
}

impl AuditReport {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        self.problems.is_empty()
    }

    pub(super) fn add(&mut self, problem: AuditProblem) {
        match self.problems.len() < MAX_PROBLEMS {
            true => self.problems.push(problem),
            false => self.further_problems += 1,
        }
    }
}
