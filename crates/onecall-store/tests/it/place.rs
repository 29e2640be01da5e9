//! The stores that every test of the storage traits runs with: a file, and a database of PostgreSQL.

use std::env;
use std::ffi::OsString;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use onecall_config::StoreLocation;
use onecall_core::Secret;
use onecall_core::storage::CompleteStore;
use onecall_store::{DEFAULT_JOURNAL_MB, open_configured};
use rusqlite::Connection;
use testkit::postgres::PostgresServer;

use crate::sqlite::StoreFolder;

/// Where a store is.
pub(crate) enum Place {
    File(StoreFolder),
    /// The URL of a database.
    Database(String),
}

/// Makes a test of each of these functions for a file, and one for a database.
macro_rules! on_every_store {
    ($($test:ident),+ $(,)?) => {
        mod on_file {
            $(#[test]
            fn $test() {
                super::$test(&crate::place::Place::file());
            })+
        }

        mod on_postgres {
            $(#[test]
            fn $test() {
                if let Some(place) = crate::place::Place::database() {
                    super::$test(&place);
                }
            })+
        }
    };
}

pub(crate) use on_every_store;

/// The server of all tests, each of which has a database of its own. It ends with this process.
fn server() -> Option<&'static PostgresServer> {
    static SERVER: OnceLock<Option<PostgresServer>> = OnceLock::new();
    SERVER.get_or_init(PostgresServer::start_new).as_ref()
}

impl Place {
    pub(crate) fn file() -> Self {
        Self::File(StoreFolder::new())
    }

    /// An empty database; `None` if PostgreSQL is not installed.
    pub(crate) fn database() -> Option<Self> {
        server().map(|server| Self::Database(server.create_database()))
    }

    /// Another empty place of the same kind.
    pub(crate) fn another(&self) -> Self {
        match self {
            Self::File(_) => Self::file(),
            Self::Database(_) => Self::database().unwrap(),
        }
    }

    /// A store with connections of its own, as another process would have.
    pub(crate) fn open(&self) -> Arc<dyn CompleteStore> {
        self.open_with(DEFAULT_JOURNAL_MB)
    }

    pub(crate) fn open_with(&self, journal_mb: u64) -> Arc<dyn CompleteStore> {
        open_configured(&self.location(), journal_mb)
    }

    pub(crate) fn location(&self) -> StoreLocation {
        match self {
            Self::File(folder) => StoreLocation::File(folder.file()),
            Self::Database(url) => StoreLocation::Database(Secret::new(url.as_str())),
        }
    }

    /// What another process needs to open the store with [`given_store`].
    pub(crate) fn address(&self) -> OsString {
        match self {
            Self::File(folder) => folder.file().into(),
            Self::Database(url) => url.into(),
        }
    }

    /// Executes statements that both databases understand, but for `x'00'` in the place of bytes.
    pub(crate) fn execute(&self, statements: &str) {
        match self {
            Self::File(folder) => {
                Connection::open(folder.file()).unwrap().execute_batch(statements).unwrap();
            }
            Self::Database(url) => {
                let statements = statements.replace(" x'", " '\\x");
                server().unwrap().execute(url, &format!("SET search_path = onecall; {statements}"));
            }
        }
    }

    /// How many rows a table has.
    pub(crate) fn count(&self, table: &str) -> i64 {
        match self {
            Self::File(folder) => {
                let count = format!("SELECT count(*) FROM {table}");
                let reader = Connection::open(folder.file()).unwrap();
                reader.query_row(&count, [], |row| row.get(0)).unwrap()
            }
            Self::Database(url) => {
                let count = format!("SELECT count(*) FROM onecall.{table}");
                server().unwrap().execute(url, &count).parse().unwrap()
            }
        }
    }
}

/// The store whose address the variable has; `None` if the test was started by hand.
pub(crate) fn given_store(variable: &str) -> Option<Arc<dyn CompleteStore>> {
    let address = env::var_os(variable)?;
    let location = match address.to_str() {
        Some(url) if url.starts_with("postgres:") => StoreLocation::Database(Secret::new(url)),
        _ => StoreLocation::File(address.into()),
    };
    Some(open_configured(&location, 1_000))
}

/// Waits until a condition holds: a change of another process is noticed within a second.
pub(crate) fn soon(mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(1);
    while !condition() {
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
    true
}
