//! A look at a store that makes, repairs and moves nothing.

use std::path::{Path, PathBuf};
use std::{fs, io};

use onecall_core::storage::StoreError;

use super::connection::{check_own, connect, is_damage};
use super::migrations::{self, Refused};

/// What a store's file is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// The version of its schema; 0 if there is nothing in it yet.
    pub version: i64,
    /// The version that this program writes, which an older one is brought up to.
    pub newest: i64,
    /// What it takes on the disk, with what waits to be put into it.
    pub bytes: u64,
    /// Whether this user may write to it.
    pub is_writable: bool,
}

/// Looks at the store in the file at `path`; none if there is no such file.
///
/// # Errors
/// If it could not be used as it is.
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
