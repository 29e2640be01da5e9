//! Why a query failed.

use std::error::Error as StdError;

use deadpool::managed::PoolError;
use onecall_core::storage::Outage;
use thiserror::Error;
use tokio_postgres::error::SqlState;

/// Why a query failed.
#[derive(Debug, Error)]
pub(crate) enum QueryError {
    /// The database reports an error, or the connection ended.
    #[error("{}", explain(.0))]
    Database(#[from] tokio_postgres::Error),
    /// There is no connection.
    #[error("no connection: {0}")]
    NoConnection(String),
    /// The database does not answer.
    #[error("the database does not answer")]
    NoAnswer,
    /// A commit was sent, and its answer is missing.
    #[error(transparent)]
    Unconfirmed(Box<QueryError>),
    /// The schema cannot be migrated at present.
    #[error("its schema cannot be brought up to date: {reason}")]
    NotMigrated {
        /// The reason.
        reason: String,
        /// Whether it may be different later.
        is_temporary: bool,
    },
    /// A column has a value that onecall never writes there.
    #[error("column {column} has a malformed value")]
    Malformed {
        /// The number of the column in its query.
        column: usize,
    },
    /// The schema was written by a newer onecall.
    #[error("its version is {found}, and this onecall supports versions up to {known}")]
    Newer {
        /// The version of the schema.
        found: i64,
        /// The newest version that this onecall knows.
        known: i64,
    },
    /// A value cannot be written as JSON.
    #[error(transparent)]
    Encoding(#[from] serde_json::Error),
}

impl QueryError {
    /// Whether the database may answer later: it could not be reached, stopped during the query, takes no
    /// connections or writes at present, or has ended a transaction because this process was too slow.
    pub(super) fn is_temporary(&self) -> bool {
        match self {
            Self::NoConnection(_) | Self::NoAnswer => true,
            Self::Database(error) => match error.code() {
                Some(code) => {
                    let class = code.code().get(..2);
                    // Connection failures, insufficient resources, intervention of an operator.
                    matches!(class, Some("08" | "53" | "57"))
                        || *code == SqlState::READ_ONLY_SQL_TRANSACTION
                        || *code == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
                }
                // The connection ended.
                None => true,
            },
            Self::Unconfirmed(_) => true,
            Self::NotMigrated { is_temporary, .. } => *is_temporary,
            Self::Malformed { .. } | Self::Newer { .. } | Self::Encoding(_) => false,
        }
    }

    /// What is known about the operation that failed with this temporary error.
    pub(super) fn outage(&self) -> Outage {
        match self {
            Self::Unconfirmed(_) => Outage::Unconfirmed,
            Self::Database(error) if error.code() == Some(&SqlState::QUERY_CANCELED) => {
                Outage::TooSlow
            }
            _ => Outage::NotDone,
        }
    }

    /// The error of an operation whose commit has been sent. Only if the database has refused it, it is known
    /// that it was not done.
    pub(super) fn of_commit(self) -> Self {
        match self.is_temporary() {
            true => Self::Unconfirmed(Box::new(self)),
            false => self,
        }
    }

    /// Whether the database has a row with the same key.
    pub(super) fn is_duplicate(&self) -> bool {
        let Self::Database(error) = self else { return false };
        error.code() == Some(&SqlState::UNIQUE_VIOLATION)
    }

    /// Whether another process holds a lock that is needed.
    pub(super) fn is_lock_held(&self) -> bool {
        let Self::Database(error) = self else { return false };
        let codes = [&SqlState::LOCK_NOT_AVAILABLE, &SqlState::T_R_DEADLOCK_DETECTED];
        error.code().is_some_and(|code| codes.contains(&code))
    }
}

impl From<PoolError<Self>> for QueryError {
    fn from(error: PoolError<Self>) -> Self {
        match error {
            PoolError::Backend(error @ Self::NoConnection(_)) => error,
            PoolError::Backend(error) => Self::NoConnection(error.to_string()),
            error => Self::NoConnection(error.to_string()),
        }
    }
}

/// The message of the database, or else the error with its causes. Neither contains the URL.
fn explain(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return error.to_string();
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
