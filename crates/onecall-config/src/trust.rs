//! The trust store: the configuration files that the user has approved. A configuration can start
//! programs, so an approval applies to the exact bytes at one path, and a changed file is untrusted
//! again.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use onecall_core::Digest;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::private_file::{read_private_file, replace_private_file};

/// The errors of the trust store.
#[derive(Debug, Error)]
pub enum TrustError {
    /// The store cannot be read or written.
    #[error("cannot use the trust store '{path}': {reason}", path = path.display())]
    Inaccessible {
        /// The file of the store, or the directory in which it would be created.
        path: PathBuf,
        /// The error of the system.
        reason: io::Error,
    },
    /// The content of the store is invalid.
    #[error(
        "the trust store '{path}' is damaged and counts as empty; trust your files again with `onecall trust`",
        path = path.display()
    )]
    Damaged {
        /// The file of the store.
        path: PathBuf,
    },
    /// The file to trust does not exist.
    #[error("cannot find '{path}': {reason}", path = path.display())]
    NoSuchFile {
        /// The path as it was given.
        path: PathBuf,
        /// The error of the system.
        reason: io::Error,
    },
    /// The path is not valid Unicode, so it cannot be stored as JSON.
    #[error("the path '{path}' is not valid UTF-8; rename it to trust it", path = path.display())]
    PathNotText {
        /// The path.
        path: PathBuf,
    },
}

/// The files that a user trusts, stored in `onecall/trusted.json` in a state directory.
#[derive(Debug)]
pub struct TrustStore {
    file: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
struct TrustedFiles {
    /// Maps the canonical path to the SHA-256 digest of the content, in hexadecimal.
    trusted: BTreeMap<String, String>,
}

impl TrustStore {
    /// The store in this state directory. No file is accessed yet.
    #[must_use]
    pub fn at(state_directory: &Path) -> Self {
        Self { file: state_directory.join("onecall").join("trusted.json") }
    }

    /// The path of the store's file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Whether the user has approved exactly these bytes at this path.
    ///
    /// # Errors
    /// If the store is unreadable or damaged; then nothing is trusted.
    pub fn is_trusted(&self, path: &Path, bytes: &[u8]) -> Result<bool, TrustError> {
        Ok(self.approved_digest(path)?.is_some_and(|hash| hash == hash_of(bytes)))
    }

    /// Whether the user has ever approved this path, with any content.
    ///
    /// # Errors
    /// As for [`TrustStore::is_trusted`].
    pub fn has_approved(&self, path: &Path) -> Result<bool, TrustError> {
        Ok(self.approved_digest(path)?.is_some())
    }

    /// The canonical paths of all files that the user has ever approved.
    ///
    /// # Errors
    /// As for [`TrustStore::is_trusted`].
    pub fn approved_files(&self) -> Result<Vec<PathBuf>, TrustError> {
        Ok(self.read()?.trusted.into_keys().map(PathBuf::from).collect())
    }

    /// Stores the user's approval of these bytes at this path. A damaged store is replaced by one
    /// that contains only this approval.
    ///
    /// # Errors
    /// If the file does not exist or the store cannot be written.
    pub fn trust(&self, path: &Path, bytes: &[u8]) -> Result<(), TrustError> {
        let key = key_of(path)?;
        let mut contents = match self.read() {
            Err(TrustError::Damaged { .. }) => TrustedFiles::default(),
            result => result?,
        };
        contents.trusted.insert(key, hash_of(bytes));
        self.write(&contents)
    }

    /// Removes the approval of a path; returns whether there was one. For a file that no longer
    /// exists, its canonical path must be given.
    ///
    /// # Errors
    /// If the store cannot be read or written.
    pub fn revoke(&self, path: &Path) -> Result<bool, TrustError> {
        let key = match key_of(path) {
            Err(TrustError::NoSuchFile { .. }) => path.to_string_lossy().into_owned(),
            key => key?,
        };
        let mut contents = self.read()?;
        let was_approved = contents.trusted.remove(&key).is_some();
        if was_approved {
            self.write(&contents)?;
        }
        Ok(was_approved)
    }

    fn approved_digest(&self, path: &Path) -> Result<Option<String>, TrustError> {
        let mut contents = self.read()?;
        Ok(key_of(path).ok().and_then(|key| contents.trusted.remove(&key)))
    }

    fn read(&self) -> Result<TrustedFiles, TrustError> {
        match read_private_file(&self.file) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|_| TrustError::Damaged { path: self.file.clone() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(TrustedFiles::default()),
            Err(reason) => Err(TrustError::Inaccessible { path: self.file.clone(), reason }),
        }
    }

    fn write(&self, contents: &TrustedFiles) -> Result<(), TrustError> {
        replace_private_file(&self.file, contents)
            .map_err(|reason| TrustError::Inaccessible { path: self.file.clone(), reason })
    }
}

fn key_of(path: &Path) -> Result<String, TrustError> {
    let canonical = fs::canonicalize(path)
        .map_err(|reason| TrustError::NoSuchFile { path: path.to_path_buf(), reason })?;
    canonical
        .into_os_string()
        .into_string()
        .map_err(|path| TrustError::PathNotText { path: PathBuf::from(path) })
}

fn hash_of(bytes: &[u8]) -> String {
    Digest::of(bytes).to_string()
}
