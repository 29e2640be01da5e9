//! Inspects a store without creating, repairing or moving anything.

use std::path::{Path, PathBuf};
use std::{fs, io};

use onecall_core::storage::StoreError;

use super::connection::{check_own, connect, is_damage};
use super::durable_marker::DurableMarker;
use super::migrations::{self, SchemaError};

/// The state of a store's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// The version of its schema; 0 if it is empty.
    pub version: i64,
    /// The schema version that this program writes, to which an older one is migrated.
    pub newest: i64,
    /// The size of the store on disk, including the write-ahead log.
    pub bytes: u64,
    /// Whether the user can write to it.
    pub is_writable: bool,
}

/// Inspects the store at `path`; `None` if the file does not exist.
///
/// # Errors
/// If the store cannot be used in its present state.
pub fn inspect(path: &Path) -> Result<Option<Inspection>, StoreError> {
    let size = |path: &Path| fs::metadata(path).map(|metadata| metadata.len());
    let bytes = match size(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(StoreError::unusable(path, source)),
    };
    check_own(path).map_err(|source| StoreError::unusable(path, source))?;
    let mut journal = path.as_os_str().to_owned();
    journal.push("-wal");
    let journal = size(&PathBuf::from(journal)).unwrap_or(0);
    let read_version = || -> Result<_, SchemaError> {
        let connection = connect(path)?;
        Ok((migrations::version(&connection)?, !connection.is_readonly("main")?))
    };
    let marker = DurableMarker::of(path);
    let foreign = || match marker.exists() {
        true => StoreError::DamagedWithRuns { path: path.to_path_buf() },
        false => StoreError::NotAStore { path: path.to_path_buf() },
    };
    let (version, is_writable) = read_version().map_err(|error| match error {
        SchemaError::Foreign => foreign(),
        SchemaError::Newer { found, known } => {
            StoreError::Newer { store: path.display().to_string(), found, known }
        }
        SchemaError::Sqlite(source) if is_damage(&source) => foreign(),
        SchemaError::Sqlite(source) => StoreError::database(path, source),
    })?;
    if version == 0 && marker.exists() {
        return Err(foreign());
    }
    let newest = migrations::VERSION;
    Ok(Some(Inspection { version, newest, bytes: bytes + journal, is_writable }))
}
