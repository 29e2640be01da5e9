//! Answers of tools that several processes share.

use super::StoreError;
use crate::{Timestamp, ToolValue};

/// A longer answer is not kept, and nothing longer is read.
pub const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// What was asked: a hash of the server, the tool and the arguments.
pub type AnswerKey = [u8; 32];

/// An answer that can be used again.
#[derive(Clone, Debug)]
pub struct StoredAnswer {
    /// What the tool gave.
    pub value: ToolValue,
    /// When.
    pub stored_at: Timestamp,
    /// From then on it is no answer any more.
    pub expires_at: Timestamp,
}

/// The state of a store at some moment. Two that are equal have nothing written between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// The connection that was asked: each connection counts for itself.
    pub observer: u64,
    /// What that connection counted.
    pub count: i64,
}

/// What the answers of one tool take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerSize {
    /// The server's name.
    pub server: String,
    /// The tool's name.
    pub tool: String,
    /// How many there are.
    pub entries: u64,
    /// What they come to.
    pub bytes: u64,
    /// How often one of them was used, as far as it was told.
    pub hits: u64,
}

/// Remembers answers. They are data from outside: one that does not look like an answer,
/// or is larger than answers may be, is none and is removed.
pub trait Answers: Send + Sync {
    /// The answer to this, if there is one that holds at `now`.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn answer(&self, key: &AnswerKey, now: Timestamp) -> Result<Option<StoredAnswer>, StoreError>;

    /// What has been written so far.
    ///
    /// # Errors
    /// If nobody can tell.
    fn version(&self) -> Result<Version, StoreError>;

    /// Whether nothing has been written since. It blocks nobody: where that cannot be told at
    /// once, it is not so.
    fn is_still(&self, version: Version) -> bool;

    /// Keeps an answer in place of an earlier one. The names are what
    /// [`forget_answers`](Self::forget_answers) will know it by.
    ///
    /// # Errors
    /// If it is too large, or the store cannot be written.
    fn put_answer(
        &self,
        key: &AnswerKey,
        server: &str,
        tool: &str,
        answer: &StoredAnswer,
    ) -> Result<(), StoreError>;

    /// Notes that an answer was used so often.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn count_hits(&self, key: &AnswerKey, hits: u64) -> Result<(), StoreError>;

    /// Removes every answer whose server and tool are chosen, and says how many those were.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn forget_answers(&self, chosen: &dyn Fn(&str, &str) -> bool) -> Result<u64, StoreError>;

    /// Removes what has expired, and then the oldest until the rest fits, and says how many
    /// those were.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn evict_answers(&self, max_bytes: u64, now: Timestamp) -> Result<u64, StoreError>;

    /// What there is, tool by tool.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn answer_sizes(&self, now: Timestamp) -> Result<Vec<AnswerSize>, StoreError>;
}
