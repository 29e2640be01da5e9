//! The storage trait for cached tool answers that several processes share.

use super::StoreError;
use crate::{Timestamp, ToolValue};

/// The largest answer that is stored or read.
pub const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// The key of a cached answer: a hash of the server, the tool and the arguments.
pub type AnswerKey = [u8; 32];

/// A cached answer with its lifetime.
#[derive(Clone, Debug)]
pub struct StoredAnswer {
    /// The value that the tool returned.
    pub value: ToolValue,
    /// When the answer was stored.
    pub stored_at: Timestamp,
    /// When the answer stops being valid.
    pub expires_at: Timestamp,
}

/// The version of the cached answers at some moment. Between two equal versions no process has changed
/// one. It may change with other writes, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreVersion {
    /// The connection or store that reported the version: each has its own counter.
    pub connection: u64,
    /// The counter.
    pub count: i64,
}

/// The size of the cached answers of one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerSize {
    /// The server's name.
    pub server: String,
    /// The tool's name.
    pub tool: String,
    /// The number of answers.
    pub entries: u64,
    /// The bytes of all answers together.
    pub bytes: u64,
    /// How often the answers were used, as far as it was reported.
    pub hits: u64,
}

/// Stores cached answers. Stored data is not trusted: an entry that is malformed or larger than
/// answers may be is ignored and removed.
pub trait AnswerStore: Send + Sync {
    /// The answer for this key, if there is one that is valid at `now`.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn answer(&self, key: &AnswerKey, now: Timestamp) -> Result<Option<StoredAnswer>, StoreError>;

    /// Reads something, to find out whether the store responds.
    ///
    /// # Errors
    /// If it does not.
    fn check(&self) -> Result<(), StoreError>;

    /// The current version of the answers.
    ///
    /// # Errors
    /// If the version cannot be read.
    fn version(&self) -> Result<StoreVersion, StoreError>;

    /// Whether no answer has changed since `version`. A change by a process on another machine is noticed
    /// within a second. The method never blocks: if it cannot find out at once, it returns `false`.
    fn is_unchanged_since(&self, version: StoreVersion) -> bool;

    /// Stores an answer and replaces an earlier one. The names are those that
    /// [`forget_answers`](Self::forget_answers) selects by.
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

    /// Adds to the number of times an answer was used.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn count_hits(&self, key: &AnswerKey, hits: u64) -> Result<(), StoreError>;

    /// Removes every answer whose server and tool `chosen` accepts, and returns how many were
    /// removed.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn forget_answers(&self, chosen: &dyn Fn(&str, &str) -> bool) -> Result<u64, StoreError>;

    /// Removes expired answers, then the oldest ones until the rest fits, and returns how many were
    /// removed.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn evict_answers(&self, max_bytes: u64, now: Timestamp) -> Result<u64, StoreError>;

    /// The number and size of the valid answers of each tool.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn answer_sizes(&self, now: Timestamp) -> Result<Vec<AnswerSize>, StoreError>;
}
