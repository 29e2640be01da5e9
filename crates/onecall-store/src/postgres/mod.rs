//! The store in a PostgreSQL database, which gateways on several machines share.
//!
//! Methods wait on the calling thread; a small runtime of the store drives the connections. A database
//! that does not answer gives an error within seconds, and the next call tries again.

mod address;
mod answers;
mod approvals;
mod audit;
mod audit_rows;
mod browser_sessions;
mod changes;
mod columns;
mod connections;
mod connector;
mod durable_runs;
mod error;
mod figures;
mod filtered;
mod gateways;
mod inspection;
mod journal_batches;
mod journals;
mod listings;
mod migrations;
mod pins;
mod questions;
mod record_journals;
mod run_pictures;
mod runs;
mod schema_state;
mod secret_locks;
mod shapes;
mod tls;
mod transaction;
mod user_secrets;
mod users;
mod waiting;

pub use self::inspection::{DatabaseInspection, inspect_database};
pub(crate) use self::listings::read_listings;

use std::sync::{Arc, Mutex};

use onecall_core::Secret;
use onecall_core::storage::StoreError;

use self::audit::UnconfirmedRows;
use self::changes::{Changes, Topic};
use self::connections::Connections;
use self::error::QueryError;
use self::secret_locks::SecretLocks;
use self::transaction::{Queries, TransactionKind};
use crate::encoding::{to_i64, to_u64};

/// The store.
pub struct PostgresStore {
    connections: Arc<Connections>,
    changes: Changes,
    secret_locks: SecretLocks,
    unconfirmed_rows: Mutex<UnconfirmedRows>,
    /// The size limit of all journals together.
    journal_mb: u64,
}

impl PostgresStore {
    /// Creates a store for the database at `url`. All journals together take at most `journal_mb`
    /// megabytes. The database is not connected yet.
    ///
    /// # Errors
    /// If the URL is not one of PostgreSQL, or no thread can be started.
    pub fn new(url: &Secret, journal_mb: u64) -> Result<Self, StoreError> {
        let connections = Arc::new(Connections::new(url)?);
        let changes = Changes::new(Arc::clone(&connections));
        let secret_locks = SecretLocks::new(Arc::clone(&connections));
        let unconfirmed_rows = Mutex::default();
        Ok(Self { connections, changes, secret_locks, unconfirmed_rows, journal_mb })
    }

    /// Executes `work` without a transaction: each query sees what is committed by then.
    fn read<T>(
        &self,
        work: impl AsyncFnOnce(&Queries<'_>) -> Result<T, QueryError>,
    ) -> Result<T, StoreError> {
        self.connections.execute(TransactionKind::None, None, work)
    }

    /// Executes `work` in a transaction in which all queries see the same moment.
    fn read_snapshot<T>(
        &self,
        work: impl AsyncFnOnce(&Queries<'_>) -> Result<T, QueryError>,
    ) -> Result<T, StoreError> {
        self.connections.execute(TransactionKind::Snapshot, None, work)
    }

    /// Executes `work` in a transaction that is on disk some time after this returns, at the latest
    /// with the next one that is on disk at once.
    fn write<T>(
        &self,
        topic: Option<Topic>,
        work: impl AsyncFnOnce(&Queries<'_>) -> Result<T, QueryError>,
    ) -> Result<T, StoreError> {
        self.change(TransactionKind::Write, topic, work)
    }

    /// Executes `work` in a transaction that is on disk when this returns.
    fn write_durably<T>(
        &self,
        topic: Option<Topic>,
        work: impl AsyncFnOnce(&Queries<'_>) -> Result<T, QueryError>,
    ) -> Result<T, StoreError> {
        self.change(TransactionKind::DurableWrite, topic, work)
    }

    fn change<T>(
        &self,
        kind: TransactionKind,
        topic: Option<Topic>,
        work: impl AsyncFnOnce(&Queries<'_>) -> Result<T, QueryError>,
    ) -> Result<T, StoreError> {
        let notification = topic.map(|topic| self.changes.notification(topic));
        let done = self.connections.execute(kind, notification, work);
        // Even a failed commit may have been written.
        topic.iter().for_each(|topic| self.changes.note(*topic));
        done
    }

    /// The error for a value that cannot be encoded, or a random key that cannot be made.
    fn error(&self, cause: impl std::error::Error + Send + Sync + 'static) -> StoreError {
        self.connections.database_error(cause)
    }
}
