//! The chain of digests that runs through the audit trail, and its check. A row that is changed,
//! removed, inserted or moved does not follow from the row before any more.
//!
//! A chain alone does not protect from a person who can write the whole file: that person can compute
//! all digests anew. A digest that is kept in another place proves the rows up to it ([`ExpectedHead`]).

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::audit::{AuditEntry, AuditEvent};
use super::audit_report::{AuditProblem, AuditReport};
use crate::{Digest, DigestBuilder, Timestamp};

/// What the first row is chained to.
const BEGINNING: &str = "onecall audit trail 1";

/// The newest row of a trail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditHead {
    /// Its number.
    pub number: u64,
    /// The digest of the row and all rows before it.
    pub digest: Digest,
}

impl AuditHead {
    /// What comes before the first row.
    #[must_use]
    pub fn beginning() -> Self {
        Self { number: 0, digest: Digest::of(BEGINNING) }
    }

    /// The head after a row with this number and content was added.
    #[must_use]
    pub fn followed_by(self, number: u64, content: &str) -> Self {
        let mut builder = DigestBuilder::default();
        // Both parts have a fixed length, so nothing else gives the same bytes.
        builder.add(self.digest.into_bytes());
        builder.add(number.to_le_bytes());
        builder.add(content);
        Self { number, digest: builder.finish() }
    }
}

/// The head as people keep it: the number, a colon, and the digest.
impl fmt::Display for AuditHead {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.number, self.digest)
    }
}

/// A head that was kept in another place, with the number of its row if that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedHead {
    /// The number of the row.
    pub number: Option<u64>,
    /// The digest of the row.
    pub digest: Digest,
}

/// Why a text is not a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "write what `onecall audit head` has printed: a number, a colon and 64 hexadecimal digits, or only the digits"
)]
pub struct InvalidHead;

impl FromStr for ExpectedHead {
    type Err = InvalidHead;

    fn from_str(text: &str) -> Result<Self, InvalidHead> {
        let (number, digest) = match text.split_once(':') {
            Some((number, digest)) => (Some(number.parse().map_err(|_| InvalidHead)?), digest),
            None => (None, text),
        };
        Ok(Self { number, digest: parse_digest(digest).ok_or(InvalidHead)? })
    }
}

fn parse_digest(text: &str) -> Option<Digest> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(Digest::from_bytes(bytes))
}

/// What is left of rows that were removed because of their age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditCheckpoint {
    /// The last row that was removed.
    pub last: AuditHead,
    /// How many rows were removed.
    pub removed: u64,
    /// When they were removed.
    pub at: Timestamp,
    /// The digest of this checkpoint and all checkpoints before it.
    pub seal: Digest,
}

impl AuditCheckpoint {
    /// A checkpoint that follows the checkpoint `before`.
    #[must_use]
    pub fn new(before: Option<&Self>, last: AuditHead, removed: u64, at: Timestamp) -> Self {
        let seal = Self::seal(before, last, removed, at);
        Self { last, removed, at, seal }
    }

    fn seal(before: Option<&Self>, last: AuditHead, removed: u64, at: Timestamp) -> Digest {
        let mut builder = DigestBuilder::default();
        builder.add(before.map_or_else(|| Digest::of(BEGINNING), |it| it.seal).into_bytes());
        builder.add(last.number.to_le_bytes());
        builder.add(last.digest.into_bytes());
        builder.add(removed.to_le_bytes());
        builder.add(at.0.to_le_bytes());
        builder.finish()
    }

    fn follows(&self, before: Option<&Self>) -> bool {
        let first = before.map_or(0, |before| before.last.number);
        first.checked_add(self.removed) == Some(self.last.number)
            && self.removed > 0
            && self.seal == Self::seal(before, self.last, self.removed, self.at)
    }
}

/// A row as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAuditRow {
    /// Its number.
    pub number: u64,
    /// Copies of parts of the content, by which rows are found.
    pub columns: AuditColumns,
    /// The entry as JSON, as it is digested.
    pub content: String,
    /// The digest of the row and all rows before it; `None` if what is stored is no digest.
    pub digest: Option<Digest>,
}

/// Copies of parts of a row's content, by which rows are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditColumns {
    /// When it happened.
    pub at: Timestamp,
    /// The user.
    pub user: String,
    /// The run, or an empty text.
    pub run: String,
    /// The tool, or an empty text.
    pub tool: String,
}

impl AuditColumns {
    /// The columns of an entry.
    #[must_use]
    pub fn of(entry: &AuditEntry) -> Self {
        let (user, run, tool) =
            (entry.user.clone(), entry.run().to_owned(), entry.tool().to_owned());
        Self { at: entry.at, user, run, tool }
    }
}

/// Checks a trail row by row, in the order of the numbers.
#[derive(Debug)]
pub struct ChainCheck {
    report: AuditReport,
    /// The row before the next one, as it is stored.
    last: AuditHead,
    checkpoints: Vec<AuditCheckpoint>,
    /// Whether a row says that the newest checkpoint was made.
    is_confirmed: bool,
    expected: Option<ExpectedHead>,
}

impl ChainCheck {
    /// Begins with the checkpoints, oldest first. If `expected` is given, a row must have that digest.
    #[must_use]
    pub fn new(checkpoints: Vec<AuditCheckpoint>, expected: Option<ExpectedHead>) -> Self {
        let mut report = AuditReport::default();
        let mut before = None;
        for checkpoint in &checkpoints {
            if !checkpoint.follows(before) {
                report.add(AuditProblem::Checkpoint { number: checkpoint.last.number });
            }
            before = Some(checkpoint);
        }
        let last = before.map_or_else(AuditHead::beginning, |checkpoint| checkpoint.last);
        report.removed = last.number;
        let is_confirmed = checkpoints.is_empty();
        let mut check = Self { report, last, checkpoints, is_confirmed, expected };
        check.compare_removed();
        check
    }

    /// Checks the next row.
    pub fn row(&mut self, row: &StoredAuditRow) {
        let number = row.number;
        self.report.rows += 1;
        let next = self.last.number.saturating_add(1);
        if number < next {
            self.report.add(AuditProblem::Inserted { number });
            return;
        }
        let computed = self.last.followed_by(number, &row.content).digest;
        if number > next {
            let (first, last) = (next, number.saturating_sub(1));
            self.report.add(match first == last {
                true => AuditProblem::Missing { number: first },
                false => AuditProblem::MissingRange { first, last },
            });
        } else if row.digest != Some(computed) {
            self.report.add(AuditProblem::Changed { number });
        }
        match serde_json::from_str::<AuditEntry>(&row.content) {
            Ok(entry) if AuditColumns::of(&entry) != row.columns => {
                self.report.add(AuditProblem::Columns { number });
            }
            Ok(entry) => self.compare_pruning(number, &entry),
            Err(_) => self.report.add(AuditProblem::Unreadable { number }),
        }
        // The check goes on from what is stored, so that one change is one problem.
        self.last = AuditHead { number, digest: row.digest.unwrap_or(computed) };
        self.compare_expected();
    }

    /// The last row so far, and the first problem that was found.
    #[must_use]
    pub fn interim(self) -> (AuditHead, Option<AuditProblem>) {
        (self.last, self.report.problems.into_iter().next())
    }

    /// Ends the check; `head` is the newest row according to the store.
    #[must_use]
    pub fn finish(mut self, head: Option<AuditHead>) -> AuditReport {
        let last = self.last;
        match head {
            Some(head) if head.number > last.number => {
                let (first, end) = (last.number.saturating_add(1), head.number);
                self.report.add(match first == end {
                    true => AuditProblem::Missing { number: first },
                    false => AuditProblem::MissingRange { first, last: end },
                });
            }
            Some(head) if head.number < last.number => {
                let (number, head) = (last.number, head.number);
                self.report.add(AuditProblem::AfterHead { number, head });
            }
            Some(head) if head != last => {
                self.report.add(AuditProblem::OtherHead { number: last.number });
            }
            None if last.number > 0 => {
                self.report.add(AuditProblem::NoHead { number: last.number });
            }
            _ => {}
        }
        if let Some(checkpoint) = self.checkpoints.last().filter(|_| !self.is_confirmed) {
            let number = checkpoint.last.number;
            self.report.add(AuditProblem::UnconfirmedCheckpoint { number });
        }
        if let Some(ExpectedHead { number, digest }) = self.expected {
            self.report.add(match number {
                Some(number) => AuditProblem::EndsEarly { number, last: last.number },
                None => AuditProblem::Unexpected { digest },
            });
        }
        self.report.head = (last.number > 0).then_some(last);
        self.report
    }

    /// Compares a row that says that rows were removed with the checkpoints.
    fn compare_pruning(&mut self, number: u64, entry: &AuditEntry) {
        let AuditEvent::Pruned { through, removed, digest } = &entry.event else { return };
        let matches = |checkpoint: &AuditCheckpoint| {
            let AuditHead { number, digest: of_row } = checkpoint.last;
            number == *through && checkpoint.removed == *removed && of_row.to_string() == *digest
        };
        if !self.checkpoints.iter().any(matches) {
            self.report.add(AuditProblem::MissingCheckpoint { number, through: *through });
        }
        self.is_confirmed |= self.checkpoints.last().is_some_and(matches);
    }

    /// Compares the last row with the expected one.
    fn compare_expected(&mut self) {
        let Some(ExpectedHead { number, digest }) = self.expected else { return };
        match number {
            None if self.last.digest == digest => self.expected = None,
            Some(number) if number == self.last.number => {
                self.expected = None;
                if self.last.digest != digest {
                    self.report.add(AuditProblem::UnexpectedRow { number, digest });
                }
            }
            // The expected row itself is missing, which is a problem of its own.
            Some(number) if number < self.last.number => self.expected = None,
            _ => {}
        }
    }

    /// Compares the rows of which only checkpoints are left with the expected one.
    fn compare_removed(&mut self) {
        let Some(ExpectedHead { number, digest }) = self.expected else { return };
        let found = self.checkpoints.iter().find(|it| match number {
            Some(number) => it.last.number == number,
            None => it.last.digest == digest,
        });
        match (found, number) {
            (Some(found), _) => {
                self.expected = None;
                if found.last.digest != digest {
                    let number = found.last.number;
                    self.report.add(AuditProblem::UnexpectedRow { number, digest });
                }
            }
            (None, Some(number)) if number <= self.last.number => {
                self.expected = None;
                self.report.add(AuditProblem::ExpectedRemoved { number });
            }
            (None, _) => {}
        }
    }
}
