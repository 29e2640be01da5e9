//! The connections of a store: a pool that is filled when it is used, and the runtime that drives them.

use std::error::Error as StdError;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deadpool::managed::{Object, Pool};
use deadpool_postgres::ClientWrapper;
use onecall_core::Secret;
use onecall_core::storage::StoreError;
use tokio::runtime::{Builder, Handle, Runtime};

use super::address::Address;
use super::connector::Connector;
use super::error::QueryError;
use super::migrations;
use super::schema_state::SchemaState;
use super::tls::MakeTls;
use super::transaction::{self, Commit, Queries, TransactionKind};
use super::waiting::wait;

/// How many connections a process has at most, besides the one that listens for changes.
const MAX_CONNECTIONS: usize = 8;

/// How long nothing may happen while a call waits: longer than the database may work on a statement, so
/// that its own error comes first.
const PATIENCE: Duration = Duration::from_secs(7);

/// How long nothing may happen while the schema is migrated: a statement that rewrites a large table takes
/// long.
const MIGRATION_PATIENCE: Duration = Duration::from_secs(3_600);

/// When the database could not be reached, calls fail at once for this time. It doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The connections to one database.
pub(super) struct Connections {
    address: Address,
    connector: Connector,
    pool: Pool<Connector>,
    /// Drives the connections. It is an option only so that it can be ended without waiting.
    runtime: Option<Runtime>,
    /// How long nothing may happen while a call waits.
    patience: Duration,
    schema: SchemaState,
    failure: Mutex<Option<ConnectFailure>>,
}

/// The last call that did not reach the database, if no later one did.
struct ConnectFailure {
    reason: String,
    at: Instant,
    pause: Duration,
}

impl Connections {
    pub(super) fn new(url: &Secret) -> Result<Self, StoreError> {
        Self::with_patience(url, PATIENCE)
    }

    /// Connections to the database at `url`, whose calls fail if nothing happens for this time.
    pub(super) fn with_patience(url: &Secret, patience: Duration) -> Result<Self, StoreError> {
        let disabled = |error: &dyn StdError| StoreError::Disabled {
            reason: format!("the connections to the database cannot be prepared: {error}"),
        };
        let address = Address::parse(url)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("store")
            .enable_all()
            .build()
            .map_err(|error| disabled(&error))?;
        let connector = Connector::new(&address.config, MakeTls::default());
        let pool = Pool::builder(connector.clone())
            .max_size(MAX_CONNECTIONS)
            .build()
            .map_err(|error| disabled(&error))?;
        let (schema, failure) = (SchemaState::default(), Mutex::default());
        let runtime = Some(runtime);
        Ok(Self { address, connector, pool, runtime, patience, schema, failure })
    }

    /// The address of the database without its password.
    pub(super) fn shown(&self) -> &str {
        &self.address.shown
    }

    /// Makes connections that are not of the pool.
    pub(super) fn connector(&self) -> &Connector {
        &self.connector
    }

    /// The runtime that drives the connections.
    pub(super) fn runtime(&self) -> Option<&Handle> {
        self.runtime.as_ref().map(Runtime::handle)
    }

    pub(super) fn database_error(
        &self,
        cause: impl StdError + Send + Sync + 'static,
    ) -> StoreError {
        StoreError::Database { store: self.shown().to_owned(), cause: Box::new(cause) }
    }

    /// The error of a store for a query that failed.
    pub(super) fn store_error(&self, error: QueryError) -> StoreError {
        match error {
            QueryError::Newer { found, known } => {
                StoreError::Newer { store: self.shown().to_owned(), found, known }
            }
            error if error.is_temporary() => {
                let (store, outage) = (self.shown().to_owned(), error.outage());
                StoreError::Unreachable { store, outage, cause: Box::new(error) }
            }
            error if error.is_duplicate() => {
                let (store, cause) = (self.shown().to_owned(), Box::new(error));
                StoreError::AlreadyStored { store, cause }
            }
            error => self.database_error(error),
        }
    }

    /// Executes `work` on a connection, in a transaction of this kind, and sends the notification with
    /// its commit.
    pub(super) fn execute<T>(
        &self,
        kind: TransactionKind,
        notification: Option<String>,
        work: impl AsyncFnOnce(&Queries<'_>) -> Result<T, QueryError>,
    ) -> Result<T, StoreError> {
        self.schema.migrated(|| self.migrate()).map_err(|error| self.store_error(error))?;
        let commit = Commit { notification, ..Commit::default() };
        let done = self.wait_for(self.patience, async |client| {
            transaction::execute(client, kind, &commit, work).await
        });
        done.map_err(|error| match commit.is_sent.get() {
            true => self.store_error(error.of_commit()),
            false => self.store_error(error),
        })
    }

    /// Brings the schema up to date, unless it is.
    fn migrate(&self) -> Result<(), QueryError> {
        if self.wait_for(self.patience, async |client| migrations::is_current(client).await)? {
            return Ok(());
        }
        self.wait_for(MIGRATION_PATIENCE, async |client| migrations::migrate(client).await)
    }

    /// Executes `work`, which only reads, on a database that may have another schema than this program.
    pub(super) fn inspect<T>(
        &self,
        work: impl AsyncFnOnce(&Queries<'_>) -> Result<T, QueryError>,
    ) -> Result<T, StoreError> {
        let (none, commit) = (TransactionKind::None, Commit::default());
        let done = self.wait_for(self.patience, async |client| {
            transaction::execute(client, none, &commit, work).await
        });
        done.map_err(|error| self.store_error(error))
    }

    /// Executes `work` on a connection. It is given up if nothing happens for as long as `patience`.
    fn wait_for<T>(
        &self,
        patience: Duration,
        work: impl AsyncFnOnce(&ClientWrapper) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        // New connections need a runtime to be driven by, wherever this is called.
        let _context = self.runtime().map(Handle::enter);
        let done = wait(
            async {
                let mut client = PooledClient(Some(self.connect().await?));
                let Some(object) = &client.0 else { return Err(QueryError::NoAnswer) };
                let done = work(object).await;
                client.give_back();
                done
            },
            patience,
        );
        done.unwrap_or_else(|| {
            self.note_failure(QueryError::NoAnswer.to_string());
            // Other connections to a host that hangs would each be waited for as long.
            self.pool.retain(|_, _| false);
            Err(QueryError::NoAnswer)
        })
    }

    async fn connect(&self) -> Result<Object<Connector>, QueryError> {
        if let Some(failure) = &*self.failure()
            && failure.at.elapsed() < failure.pause
        {
            return Err(QueryError::NoConnection(failure.reason.clone()));
        }
        let connected = self.pool.get().await.map_err(QueryError::from);
        match &connected {
            Ok(_) => *self.failure() = None,
            Err(QueryError::NoConnection(reason)) => self.note_failure(reason.clone()),
            Err(error) => self.note_failure(error.to_string()),
        }
        connected
    }

    /// Notes that the database cannot be reached, so that the next calls do not wait for it.
    fn note_failure(&self, reason: String) {
        let mut failure = self.failure();
        let last = failure.as_ref().map(|failure| failure.pause * 2);
        let pause = last.map_or(FIRST_PAUSE, |pause| pause.min(LONGEST_PAUSE));
        *failure = Some(ConnectFailure { reason, at: Instant::now(), pause });
    }

    fn failure(&self) -> MutexGuard<'_, Option<ConnectFailure>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        // A runtime that waits for its tasks must not be dropped by another one's thread.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A client that goes back to the pool only if its work has ended. If the work was given up, the
/// connection may be in a transaction, and is closed.
struct PooledClient(Option<Object<Connector>>);

impl PooledClient {
    fn give_back(&mut self) {
        drop(self.0.take());
    }
}

impl Drop for PooledClient {
    fn drop(&mut self) {
        if let Some(client) = self.0.take() {
            drop(Object::take(client));
        }
    }
}
