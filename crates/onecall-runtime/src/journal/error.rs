//! Why a journal could not be written.

use onecall_core::storage::JournalRefusal;
use thiserror::Error;

/// Why a journal could not be written. Events that were not written are kept in memory, and written
/// with the next ones if that is possible.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JournalError {
    /// The store does not accept events of this run.
    #[error(transparent)]
    Refused(#[from] JournalRefusal),
    /// The store cannot be written.
    #[error("{reason}")]
    Store {
        /// The error of the store.
        reason: String,
    },
    /// The process is ending and writes no more events.
    #[error("onecall is shutting down")]
    Closed,
}
