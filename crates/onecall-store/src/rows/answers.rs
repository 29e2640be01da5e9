//! The rows of cached answers and tool lists. They are not trusted.

use std::borrow::Cow;

use onecall_core::storage::{
    AnswerKey, AnswerSize, MAX_ANSWER_BYTES, MAX_LISTING_BYTES, StoreError, StoredAnswer,
    StoredListing,
};
use onecall_core::{Timestamp, ToolValue};

use super::Columns;
use crate::encoding::to_u64;

/// How many answers are removed in one statement.
pub(crate) const BATCH: i64 = 256;

/// How many tool lists of entries with one server name are kept, the latest ones: different
/// configurations may have a server of the same name.
pub(crate) const LISTINGS_PER_SERVER: i64 = 8;

/// The size limit of all tool lists together.
pub(crate) const MAX_LISTINGS_BYTES: u64 = 64 * 1024 * 1024;

/// An answer in its stored form.
pub(crate) struct EncodedAnswer<'a> {
    pub(crate) kind: &'static str,
    pub(crate) text: Cow<'a, str>,
    /// How many bytes it takes in the store.
    pub(crate) bytes: i64,
}

impl<'a> EncodedAnswer<'a> {
    /// Encodes an answer, unless it is too large.
    pub(crate) fn new(
        key: &AnswerKey,
        server: &str,
        tool: &str,
        answer: &'a StoredAnswer,
    ) -> Result<Self, StoreError> {
        let (kind, text) = answer.value.encode();
        let bytes = text.len() + server.len() + tool.len() + key.len();
        if bytes > MAX_ANSWER_BYTES {
            let (what, limit) = ("an answer", MAX_ANSWER_BYTES);
            return Err(StoreError::TooLarge { what, bytes, limit });
        }
        Ok(Self { kind, text, bytes: i64::try_from(bytes).unwrap_or(i64::MAX) })
    }
}

/// The result of looking an answer up.
pub(crate) enum AnswerRow {
    None,
    Answer(StoredAnswer),
    /// The row is malformed.
    Malformed,
}

impl AnswerRow {
    /// Checks a row: its kind, its text, and when it was stored and expires. `None` stands for a row
    /// that cannot be read.
    pub(crate) fn check(
        row: Option<(String, String, Timestamp, Timestamp)>,
        now: Timestamp,
    ) -> Self {
        let Some((kind, text, stored_at, expires_at)) = row else { return Self::Malformed };
        // A row from the future is not used: the clock was set back.
        if stored_at > now || expires_at < stored_at {
            return Self::Malformed;
        }
        if expires_at <= now {
            return Self::None;
        }
        match ToolValue::decode(&kind, text) {
            Some(value) => Self::Answer(StoredAnswer { value, stored_at, expires_at }),
            None => Self::Malformed,
        }
    }
}

pub(crate) fn read_size<R: Columns>(row: &R) -> Result<AnswerSize, R::Error> {
    Ok(AnswerSize {
        server: row.text(0)?,
        tool: row.text(1)?,
        entries: to_u64(row.number(2)?),
        bytes: to_u64(row.number(3)?),
        hits: to_u64(row.number(4)?),
    })
}

/// The size of a tool list in the store, unless it is too large.
pub(crate) fn listing_bytes(listing: &StoredListing) -> Result<i64, StoreError> {
    let bytes = listing.tools.len();
    if bytes > MAX_LISTING_BYTES {
        let (what, limit) = ("a list of tools", MAX_LISTING_BYTES);
        return Err(StoreError::TooLarge { what, bytes, limit });
    }
    Ok(i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// How many of the oldest entries, whose sizes are given, have to go so that `surplus` bytes are free.
pub(crate) fn count_to_remove(mut surplus: u64, sizes: impl IntoIterator<Item = i64>) -> i64 {
    let mut count = 0;
    for size in sizes {
        if surplus == 0 {
            break;
        }
        surplus = surplus.saturating_sub(to_u64(size));
        count += 1;
    }
    count
}
