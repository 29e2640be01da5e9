//! The errors of a store. Those of records and caches are logged and never affect a running program.

use std::error::Error as StdError;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// An error of a store.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The file or its directory cannot be used.
    #[error("the store '{}' cannot be used: {source}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The store was written by a newer onecall; it is left unchanged.
    #[error(
        "the store '{store}' has version {found}, and this onecall supports versions up to {known}; update onecall"
    )]
    Newer {
        /// The file, or the address of the database without its password.
        store: String,
        /// The schema version of the store.
        found: i64,
        /// The newest schema version that this onecall knows.
        known: i64,
    },
    /// The store is disabled for this process; the reason was reported when it happened.
    #[error("the store is not used: {reason}")]
    Disabled {
        /// The reason.
        reason: String,
    },
    /// The file is damaged or is not a store. It was left where it is.
    #[error("the store '{}' is damaged, or is not a store of onecall", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged or is not a store. It was moved aside, and the next call starts with an
    /// empty store.
    #[error("the store '{}' was damaged, or not a store of onecall; it is kept as '{}', and an empty store replaces it", path.display(), aside.display())]
    Replaced {
        /// The file.
        path: PathBuf,
        /// The new path of the file.
        aside: PathBuf,
    },
    /// The file is damaged and holds something that nobody can make again. It was left where it is.
    #[error(
        "the store '{}' is damaged. It holds users, their secrets, an audit trail, or runs that have not \
         ended and their approvals, so onecall does not replace it. `onecall users list`, `onecall audit` \
         and `onecall approvals list` show what can still be read. Restore the file from a backup; or move \
         it, and the files that begin with its name, to another folder: onecall then starts with an empty \
         store, and all of this is lost", path.display()
    )]
    DamagedWithRuns {
        /// The file.
        path: PathBuf,
    },
    /// A database operation failed; the store is unchanged.
    #[error("the store '{store}': {cause}")]
    Database {
        /// The file, or the address of the database without its password.
        store: String,
        /// The error of the database. It is a part of the message, and not shown once more as its source.
        cause: Box<dyn StdError + Send + Sync>,
    },
    /// The store has an entry with this key already, and keeps it. An earlier attempt of the same write may have
    /// stored it.
    #[error("the store '{store}': {cause}")]
    AlreadyStored {
        /// The address of the database without its password.
        store: String,
        /// The error of the database. It is a part of the message, and not shown once more as its source.
        cause: Box<dyn StdError + Send + Sync>,
    },
    /// There is no room on the disk; the store is unchanged.
    #[error("the store '{store}' cannot be written: the disk is full; make room on it")]
    Full {
        /// The file.
        store: String,
    },
    /// The database cannot be reached, or does not answer. It may answer later.
    #[error("the store '{store}': {cause}")]
    Unreachable {
        /// The address of the database without its password.
        store: String,
        /// What is known about the operation.
        outage: Outage,
        /// The error of the database. It is a part of the message, and not shown once more as its source.
        cause: Box<dyn StdError + Send + Sync>,
    },
    /// The rows of the audit trail that were to be removed are not intact. All of them are kept.
    #[error(
        "the audit trail is not intact, so no old rows are removed: {problem}; see `onecall audit verify`"
    )]
    AuditNotIntact {
        /// What is wrong.
        problem: super::AuditProblem,
    },
    /// The entry is larger than the limit.
    #[error("{what} of {bytes} bytes is too large to be stored; at most {limit} are kept")]
    TooLarge {
        /// The kind of entry.
        what: &'static str,
        /// The size of the entry.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
}

/// What is known about an operation whose database gave no answer in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// The store is unchanged.
    NotDone,
    /// The answer to the commit is missing, so the store may be changed or not.
    Unconfirmed,
    /// The database has given the operation up, because it took too long. The store is unchanged.
    TooSlow,
}

impl StoreError {
    /// An error of a database operation on this file.
    pub fn database(path: &Path, cause: impl StdError + Send + Sync + 'static) -> Self {
        Self::Database { store: path.display().to_string(), cause: Box::new(cause) }
    }

    /// An error for a file or directory that cannot be used.
    #[must_use]
    pub fn unusable(path: &Path, source: io::Error) -> Self {
        Self::Unusable { path: path.to_path_buf(), source }
    }

    /// Whether the same operation may succeed later, without a change to the store.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Full { .. })
    }

    /// Whether the operation may have been done although it failed: its commit was sent, and the answer is
    /// missing.
    #[must_use]
    pub fn may_be_done(&self) -> bool {
        matches!(self, Self::Unreachable { outage: Outage::Unconfirmed, .. })
    }

    /// Whether the operation took longer than it may. It may take as long the next time.
    #[must_use]
    pub fn was_too_slow(&self) -> bool {
        matches!(self, Self::Unreachable { outage: Outage::TooSlow, .. })
    }

    /// Whether the error has already been reported to the user.
    #[must_use]
    pub fn was_reported(&self) -> bool {
        matches!(self, Self::Disabled { .. } | Self::Replaced { .. } | Self::DamagedWithRuns { .. })
    }
}
