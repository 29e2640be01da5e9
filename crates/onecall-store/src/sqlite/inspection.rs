//! Inspects a store without creating, repairing or moving anything.

use std::path::{Path, PathBuf};
use std::{fs, io};

use onecall_core::storage::StoreError;

use super::connection::{check_own, connect, is_damage};
use super::migrations::{self, Refused};

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
    let look = || -> Result<_, Refused> {
        let connection = connect(path)?;
        Ok((migrations::version(&connection)?, !connection.is_readonly("main")?))
    };
    let foreign = || StoreError::Foreign { path: path.to_path_buf() };
    let (version, is_writable) = look().map_err(|refused| match refused {
        Refused::Foreign => foreign(),
        Refused::Newer { found, known } => {
            StoreError::Newer { path: path.to_path_buf(), found, known }
        }
        Refused::Sqlite(source) if is_damage(&source) => foreign(),
        Refused::Sqlite(source) => StoreError::database(path, source),
    })?;
    let newest = migrations::VERSION;
    Ok(Some(Inspection { version, newest, bytes: bytes + journal, is_writable }))
}
