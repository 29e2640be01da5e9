//! The storage traits for data that outlives a process: run records, learned result shapes, cached
//! answers, the last tool lists of servers, journals, approvals, users, their secrets and browser
//! sessions, the audit trail, and the gateways that share a store with their pins. The traits are
//! implemented in another crate.
//!
//! An error of a [`Store`] never stops a program: the caller logs the error and continues. An error
//! of a [`DurableStore`] means that a journal was not written, so the call that depends on it is not
//! made. The same holds for an [`AuditTrail`].

mod answer;
mod approval;
mod audit;
mod audit_chain;
mod audit_report;
mod browser_session;
mod error;
mod figures;
mod fleet;
mod journal;
mod listing;
mod pins;
mod replay;
mod run;
mod run_json;
mod shape;
mod user;
mod user_secret;

pub use self::answer::{
    AnswerKey, AnswerSize, AnswerStore, MAX_ANSWER_BYTES, StoreVersion, StoredAnswer,
};
pub use self::approval::{
    AnswerReceipt, Approvals, Grant, QuestionFilter, QuestionState, StoredQuestion,
};
pub use self::audit::{
    AuditDecision, AuditEntry, AuditEvent, AuditFilter, AuditOutcome, AuditRow, AuditTrail,
    AuditedArguments, AuditedCall,
};
pub use self::audit_chain::{
    AuditCheckpoint, AuditColumns, AuditHead, ChainCheck, ExpectedHead, InvalidHead, StoredAuditRow,
};
pub use self::audit_report::{AuditProblem, AuditReport};
pub use self::browser_session::{
    BrowserSession, BrowserSessions, MAX_BROWSER_SESSIONS_PER_USER, SessionProof,
};
pub use self::error::{Outage, StoreError};
pub use self::figures::{Counter, DurationBucket, FigureQuery, FigureUnit, Figures, PeriodFigures};
pub use self::fleet::{FleetStore, StoredGateway, UsageByUser, UserUsage};
pub use self::journal::{
    DurableRun, DurableState, FinalAnswer, JournalBatch, JournalRefusal, Journals,
    LONGEST_CLOCK_ERROR, Lease, StoredJournal,
};
pub use self::listing::{ListingKey, MAX_LISTING_BYTES, StoredListing, ToolListStore};
pub use self::pins::{PinStore, StoredPins};
pub use self::replay::{RecordedJournal, ReplayData, ReplayObstacle};
pub use self::run::{
    COMMAND_LINE_CLIENT, CallTexts, MAX_SEARCHED_ARGUMENTS, Retention, RunDetail, RunFilter,
    RunLookup, RunPosition, RunRecord, RunStore, RunSummary, StoredCall,
};
pub use self::shape::{ShapeKey, ShapeStore, StoredShape};
pub use self::user::{
    MAX_TOKENS_PER_USER, StoredToken, StoredUser, TokenAddition, UserAddition, UserLogin,
    UserRemoval, UserSource, Users,
};
pub use self::user_secret::{
    Reencryption, ReplacedVersion, SealedSecret, SecretLock, StoredUserSecret, UserSecretKey,
    UserSecretKind, UserSecretStore, WriteOutcome,
};

/// A store for all persistent data. Its methods block for a short time.
pub trait Store: RunStore + ShapeStore + AnswerStore + ToolListStore {}

impl<T: RunStore + ShapeStore + AnswerStore + ToolListStore> Store for T {}

/// A store for durable runs and approvals. Its methods block until what they write is on disk, so
/// they are called from threads that may wait.
pub trait DurableStore: Journals + Approvals {}

impl<T: Journals + Approvals> DurableStore for T {}

/// A store that implements all storage traits.
pub trait CompleteStore:
    Store + DurableStore + AuditTrail + Users + BrowserSessions + UserSecretStore + FleetStore
{
}

impl<T> CompleteStore for T where
    T: Store + DurableStore + AuditTrail + Users + BrowserSessions + UserSecretStore + FleetStore
{
}
