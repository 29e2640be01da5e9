//! The store in a SQLite file of the user, which several processes may share.
//!
//! The file is opened on first use. A file that is damaged or not a store is moved aside and
//! replaced by an empty one; one that cannot be used at all is reported once, and then the store is
//! disabled.

mod answers;
mod aside;
mod connection;
mod inspection;
mod listings;
mod migrations;
mod runs;
mod shapes;

pub use self::inspection::{Inspection, inspect};
pub use self::listings::read_listings;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use onecall_core::storage::{Store, StoreError};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use self::connection::{Link, Trouble};

/// Creates a store for the file at `path`. The file is not opened yet.
#[must_use]
pub fn open(path: PathBuf) -> Arc<dyn Store> {
    Arc::new(SqliteStore::new(path))
}

/// The store. It has several connections, so that reads never wait for writes.
struct SqliteStore {
    path: PathBuf,
    reading: Mutex<Option<Link>>,
    writing: Mutex<Option<Link>>,
    /// A connection that only detects whether something was written.
    watching: Mutex<Option<Link>>,
    /// Why the store is disabled.
    disabled: OnceLock<String>,
}

impl SqliteStore {
    fn new(path: PathBuf) -> Self {
        Self {
            path,
            reading: Mutex::default(),
            writing: Mutex::default(),
            watching: Mutex::default(),
            disabled: OnceLock::new(),
        }
    }

    fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.with(&self.reading, |link| work(&link.connection))
    }

    /// Executes `work` in a transaction.
    fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.with(&self.writing, |link| {
            // An immediate transaction waits for other writers at its beginning and nowhere else.
            let transaction =
                Transaction::new_unchecked(&link.connection, TransactionBehavior::Immediate)?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        })
    }

    fn with<T>(
        &self,
        place: &Mutex<Option<Link>>,
        work: impl FnOnce(&Link) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        if let Some(reason) = self.disabled.get() {
            return Err(StoreError::Disabled { reason: reason.clone() });
        }
        let mut link = place.lock().unwrap_or_else(PoisonError::into_inner);
        // The file may have been deleted or moved aside.
        if link.as_ref().is_some_and(|link| !link.is_at(&self.path)) {
            *link = None;
        }
        if link.is_none() {
            *link = Some(self.connect()?);
        }
        let Some(open) = link.as_ref() else {
            return Err(StoreError::Disabled { reason: "it is not open".to_owned() });
        };
        let (done, file) = (work(open), open.file);
        match done {
            Err(source) if connection::is_damage(&source) => {
                *link = None;
                Err(self.set_aside(file))
            }
            done => done.map_err(|source| StoreError::database(&self.path, source)),
        }
    }

    fn connect(&self) -> Result<Link, StoreError> {
        let trouble = match Link::open(&self.path) {
            Ok(link) => return Ok(link),
            Err(Trouble::Damaged(file)) => {
                self.set_aside(file);
                match Link::open(&self.path) {
                    Ok(link) => return Ok(link),
                    Err(trouble) => trouble,
                }
            }
            Err(trouble) => trouble,
        };
        match trouble {
            Trouble::Passing(source) => Err(StoreError::database(&self.path, source)),
            Trouble::Damaged(_) => {
                Err(self.disable("it is damaged and cannot be replaced".to_owned()))
            }
            Trouble::Lasting(error) => Err(self.disable(error.to_string())),
        }
    }

    /// Disables the store and logs the reason once.
    fn disable(&self, reason: String) -> StoreError {
        if self.disabled.set(reason.clone()).is_ok() {
            tracing::warn!("nothing is stored: {reason}");
        }
        StoreError::Disabled { reason }
    }

    /// Moves a damaged file aside and logs it.
    fn set_aside(&self, file: connection::FileId) -> StoreError {
        match aside::set_aside(&self.path, file) {
            Ok(Some(aside)) => {
                let error = StoreError::Damaged { path: self.path.clone(), aside };
                tracing::warn!("{error}");
                error
            }
            // Another process moved the file first and has logged it.
            Ok(None) => StoreError::Damaged { path: self.path.clone(), aside: self.path.clone() },
            Err(source) => self.disable(StoreError::unusable(&self.path, source).to_string()),
        }
    }
}

/// A count as SQLite stores it.
fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count as Rust code uses it.
fn count(whole: i64) -> u64 {
    u64::try_from(whole).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use onecall_core::storage::{ShapeKey, Shapes, StoredShape};

    use super::*;

    #[test]
    fn a_full_disk_fails_one_write_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::new(folder.path().join("onecall.db"));
        let put = |tool: &str, length: usize| {
            let key = ShapeKey { server: "s".into(), tool: tool.into(), schema: "k".into() };
            store.put_shape(&key, &StoredShape { samples: 1, shape: "x".repeat(length) })
        };
        let pages = |count: i64| {
            let limit = format!("PRAGMA max_page_count = {count}");
            store.with(&store.writing, |link| link.connection.execute_batch(&limit)).unwrap();
        };
        put("a", 1).unwrap();
        pages(1);
        let error = put("b", 1_000_000).unwrap_err();
        assert!(matches!(error, StoreError::Database { .. }), "{error}");
        pages(1_000_000);
        put("c", 1).unwrap();
        let tools: Vec<_> = store.shapes().unwrap().into_iter().map(|(key, _)| key.tool).collect();
        assert_eq!(tools, ["a", "c"]);
    }
}
