//! The storage traits for data that outlives a process: run records, learned result shapes, cached
//! answers, the last tool lists of servers, journals, approvals and users. The traits are implemented in
//! another crate.
//!
//! An error of a [`Store`] never stops a program: the caller logs the error and continues. An error
//! of a [`DurableStore`] means that a journal was not written, so the call that depends on it is not
//! made.

mod answer;
mod approval;
mod error;
mod journal;
mod listing;
mod replay;
mod run;
mod shape;
mod user;

pub use self::answer::{
    AnswerKey, AnswerSize, AnswerStore, MAX_ANSWER_BYTES, StoreVersion, StoredAnswer,
};
pub use self::approval::{
    AnswerReceipt, Approvals, Grant, QuestionFilter, QuestionState, StoredQuestion,
};
pub use self::error::StoreError;
pub use self::journal::{
    DurableRun, DurableState, FinalAnswer, JournalBatch, JournalRefusal, Journals, Lease,
    StoredJournal,
};
pub use self::listing::{ListingKey, MAX_LISTING_BYTES, StoredListing, ToolListStore};
pub use self::replay::{RecordedJournal, ReplayData, ReplayObstacle};
pub use self::run::{
    Retention, RunDetail, RunFilter, RunLookup, RunRecord, RunStore, RunSummary, StoredCall,
};
pub use self::shape::{ShapeKey, ShapeStore, StoredShape};
pub use self::user::{
    MAX_TOKENS_PER_USER, StoredToken, StoredUser, TokenAddition, UserAddition, UserLogin,
    UserRemoval, UserSource, Users,
};

/// A store for all persistent data. Its methods block for a short time.
pub trait Store: RunStore + ShapeStore + AnswerStore + ToolListStore {}

impl<T: RunStore + ShapeStore + AnswerStore + ToolListStore> Store for T {}

/// A store for durable runs and approvals. Its methods block until what they write is on disk, so
/// they are called from threads that may wait.
pub trait DurableStore: Journals + Approvals {}

impl<T: Journals + Approvals> DurableStore for T {}
