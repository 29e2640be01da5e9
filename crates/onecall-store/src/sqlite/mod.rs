//! The store in a SQLite file of the user, which several processes may share.
//!
//! The file is opened on first use. A file that is damaged or not a store is moved aside and
//! replaced by an empty one, unless runs that have not ended depend on it; one that cannot be used at
//! all is reported once, and then the store is disabled.

mod answers;
mod approvals;
mod audit;
mod audit_rows;
mod browser_sessions;
mod columns;
mod connection;
mod damaged_file;
mod durable_marker;
mod durable_runs;
mod durable_writes;
mod figures;
mod filtered;
mod gateways;
mod inspection;
mod journal_batches;
mod journal_values;
mod journals;
mod listings;
mod migrations;
mod questions;
mod record_journals;
mod run_pictures;
mod runs;
mod secret_locks;
mod shapes;
mod user_secrets;
mod users;

pub use self::inspection::{Inspection, inspect};
pub(crate) use self::listings::read_listings;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};

use onecall_core::storage::{Store, StoreError};
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use self::connection::{FileConnection, OpenError, Synchronous};
use self::durable_marker::DurableMarker;
use crate::encoding::{to_i64, to_u64};

/// How many megabytes all journals may take together, unless the configuration says otherwise.
pub const DEFAULT_JOURNAL_MB: u64 = 256;

/// Creates a store for the file at `path`. The file is not opened yet.
#[must_use]
pub fn open(path: PathBuf) -> Arc<dyn Store> {
    Arc::new(SqliteStore::new(path, DEFAULT_JOURNAL_MB))
}

/// Creates a store for the file at `path` that is used for journals and approvals, too. All journals
/// together take at most `journal_mb` megabytes. The file is not opened yet.
#[must_use]
pub fn open_durable(path: PathBuf, journal_mb: u64) -> Arc<SqliteStore> {
    Arc::new(SqliteStore::new(path, journal_mb))
}

/// Creates a store that cannot be used, for this reason: every method fails.
#[must_use]
pub fn unavailable(reason: impl Into<String>) -> Arc<SqliteStore> {
    let store = SqliteStore::new(PathBuf::new(), DEFAULT_JOURNAL_MB);
    // The store is new, so nothing has disabled it yet.
    _ = store.disabled.set(reason.into());
    Arc::new(store)
}

/// The store. It has several connections, so that reads never wait for writes.
pub struct SqliteStore {
    path: PathBuf,
    /// The size limit of all journals together.
    journal_mb: u64,
    reading_connection: ConnectionSlot,
    writing_connection: ConnectionSlot,
    /// A connection that only detects whether something was written.
    watching_connection: ConnectionSlot,
    /// A connection for reading journals, which can take long.
    durable_reading_connection: ConnectionSlot,
    /// A connection whose writes are on disk when they are committed.
    durable_writing_connection: ConnectionSlot,
    /// A connection for the audit trail, whose writes are on disk when they are committed.
    audit_connection: ConnectionSlot,
    /// Held while one of the connections writes: the others wait for it, where SQLite would try again
    /// after some milliseconds.
    write_turn: Mutex<()>,
    /// Why the store is disabled.
    disabled: OnceLock<String>,
    /// Set once it was logged that the file is damaged and was left where it is.
    damage_logged: Once,
}

/// A connection that is opened when it is first needed.
struct ConnectionSlot {
    synchronous: Synchronous,
    connection: Mutex<Option<FileConnection>>,
}

impl ConnectionSlot {
    fn new(synchronous: Synchronous) -> Self {
        Self { synchronous, connection: Mutex::default() }
    }
}

impl SqliteStore {
    fn new(path: PathBuf, journal_mb: u64) -> Self {
        Self {
            path,
            journal_mb,
            reading_connection: ConnectionSlot::new(Synchronous::Normal),
            writing_connection: ConnectionSlot::new(Synchronous::Normal),
            watching_connection: ConnectionSlot::new(Synchronous::Normal),
            durable_reading_connection: ConnectionSlot::new(Synchronous::Normal),
            durable_writing_connection: ConnectionSlot::new(Synchronous::Full),
            audit_connection: ConnectionSlot::new(Synchronous::Full),
            write_turn: Mutex::default(),
            disabled: OnceLock::new(),
            damage_logged: Once::new(),
        }
    }

    fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.with(&self.reading_connection, |file_connection| work(&file_connection.connection))
    }

    /// Executes `work` in a transaction.
    fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.write_with(&self.writing_connection, work)
    }

    /// Executes `work` in a transaction of this connection.
    fn write_with<T>(
        &self,
        slot: &ConnectionSlot,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.with(slot, |file_connection| {
            let _turn = self.write_turn.lock().unwrap_or_else(PoisonError::into_inner);
            in_transaction(&file_connection.connection, work)
        })
    }

    fn with<T>(
        &self,
        slot: &ConnectionSlot,
        work: impl FnOnce(&FileConnection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        if let Some(reason) = self.disabled.get() {
            return Err(StoreError::Disabled { reason: reason.clone() });
        }
        let mut file_connection = slot.connection.lock().unwrap_or_else(PoisonError::into_inner);
        // The file may have been deleted or moved aside.
        if file_connection
            .as_ref()
            .is_some_and(|file_connection| !file_connection.is_at(&self.path))
        {
            *file_connection = None;
        }
        if file_connection.is_none() {
            *file_connection = Some(self.connect(slot.synchronous)?);
        }
        let Some(open) = file_connection.as_ref() else {
            return Err(StoreError::Disabled { reason: "it is not open".to_owned() });
        };
        let (done, file) = (work(open), open.file);
        match done {
            Err(source) if connection::is_damage(&source) => {
                *file_connection = None;
                Err(self.handle_damage(file))
            }
            done => done.map_err(|source| self.database_error(source)),
        }
    }

    /// The error of an operation that leaves the store as it is.
    fn database_error(&self, source: rusqlite::Error) -> StoreError {
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => {
                StoreError::Full { store: self.path.display().to_string() }
            }
            _ => StoreError::database(&self.path, source),
        }
    }

    fn connect(&self, synchronous: Synchronous) -> Result<FileConnection, StoreError> {
        let open_error = match FileConnection::open(&self.path, synchronous) {
            Ok(file_connection) => return Ok(file_connection),
            Err(OpenError::Damaged(file)) => {
                let error = self.handle_damage(file);
                if matches!(error, StoreError::DamagedWithRuns { .. }) {
                    return Err(error);
                }
                match FileConnection::open(&self.path, synchronous) {
                    Ok(file_connection) => return Ok(file_connection),
                    Err(open_error) => open_error,
                }
            }
            Err(open_error) => open_error,
        };
        match open_error {
            OpenError::Temporary(source) => Err(self.database_error(source)),
            OpenError::Damaged(_) => {
                Err(self.disable("it is damaged and cannot be replaced".to_owned()))
            }
            OpenError::Permanent(error) => Err(self.disable(error.to_string())),
        }
    }

    /// Disables the store and logs the reason once.
    fn disable(&self, reason: String) -> StoreError {
        if self.disabled.set(reason.clone()).is_ok() {
            tracing::warn!("nothing is stored: {reason}");
        }
        StoreError::Disabled { reason }
    }

    /// Moves a damaged file aside, unless runs that have not ended depend on it. Such a file is not
    /// replaced, and the store is not disabled: other parts of the file may still be readable.
    fn handle_damage(&self, file: connection::FileId) -> StoreError {
        if !DurableMarker::of(&self.path).exists() {
            return self.move_aside(file);
        }
        let error = StoreError::DamagedWithRuns { path: self.path.clone() };
        self.damage_logged.call_once(|| tracing::warn!("{error}"));
        error
    }

    /// Moves a damaged file aside and logs it.
    fn move_aside(&self, file: connection::FileId) -> StoreError {
        match damaged_file::move_aside(&self.path, file) {
            Ok(Some(aside)) => {
                let error = StoreError::Replaced { path: self.path.clone(), aside };
                tracing::warn!("{error}");
                error
            }
            // Another process moved the file first and has logged it.
            Ok(None) => StoreError::Replaced { path: self.path.clone(), aside: self.path.clone() },
            Err(source) => self.disable(StoreError::unusable(&self.path, source).to_string()),
        }
    }
}

/// Executes `work` in a transaction.
fn in_transaction<T>(
    connection: &Connection,
    work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    // An immediate transaction waits for other writers at its beginning and nowhere else.
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let done = work(&transaction)?;
    transaction.commit()?;
    Ok(done)
}

#[cfg(test)]
mod tests;
