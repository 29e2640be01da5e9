//! Remembers which configuration files the user has agreed to. A configuration starts
//! programs, so agreement is to the exact bytes at one path: a file that changes is
//! untrusted again.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use onecall_core::Digest;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::private_file::{read_private_file, replace_private_file};

/// What can go wrong with the trust store itself.
#[derive(Debug, Error)]
pub enum TrustError {
    /// The store cannot be read or written.
    #[error("cannot use the trust store '{path}': {reason}", path = path.display())]
    Inaccessible {
        /// The store's file, or the directory it is to be made in.
        path: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// The store is not what we once wrote.
    #[error(
        "the trust store '{path}' is damaged and counts as empty; trust your files again with `onecall trust`",
        path = path.display()
    )]
    Damaged {
        /// The store's file.
        path: PathBuf,
    },
    /// The file to trust cannot be found.
    #[error("cannot find '{path}': {reason}", path = path.display())]
    NoSuchFile {
        /// The path as it was given.
        path: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// The store is JSON and can only name paths that are text.
    #[error("the path '{path}' is not valid UTF-8; rename it to trust it", path = path.display())]
    PathNotText {
        /// The path.
        path: PathBuf,
    },
}

/// The files a user trusts, kept in `onecall/trusted.json` under a state directory.
#[derive(Debug)]
pub struct TrustStore {
    file: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
struct Contents {
    /// Canonical path to SHA-256 of the contents, in hexadecimal.
    trusted: BTreeMap<String, String>,
}

impl TrustStore {
    /// The store under this state directory. Nothing is read or made yet.
    #[must_use]
    pub fn at(state_directory: &Path) -> Self {
        Self { file: state_directory.join("onecall").join("trusted.json") }
    }

    /// The file that the store is kept in.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Whether the user has agreed to exactly these bytes at this path.
    ///
    /// # Errors
    /// If the store is unreadable or damaged, which means that nothing is trusted.
    pub fn is_trusted(&self, path: &Path, bytes: &[u8]) -> Result<bool, TrustError> {
        Ok(self.remembered(path)?.is_some_and(|hash| hash == hash_of(bytes)))
    }

    /// Whether the user has agreed to this path at some time, whatever it holds now.
    ///
    /// # Errors
    /// As for [`TrustStore::is_trusted`].
    pub fn is_known(&self, path: &Path) -> Result<bool, TrustError> {
        Ok(self.remembered(path)?.is_some())
    }

    /// The files that the user has agreed to at some time, by their canonical paths.
    ///
    /// # Errors
    /// As for [`TrustStore::is_trusted`].
    pub fn known_files(&self) -> Result<Vec<PathBuf>, TrustError> {
        Ok(self.read()?.trusted.into_keys().map(PathBuf::from).collect())
    }

    /// Remembers that the user agrees to these bytes at this path. A damaged store is
    /// replaced by one that holds only this.
    ///
    /// # Errors
    /// If the file does not exist or the store cannot be written.
    pub fn trust(&self, path: &Path, bytes: &[u8]) -> Result<(), TrustError> {
        let key = key_of(path)?;
        let mut contents = match self.read() {
            Err(TrustError::Damaged { .. }) => Contents::default(),
            result => result?,
        };
        contents.trusted.insert(key, hash_of(bytes));
        self.write(&contents)
    }

    /// Forgets the path; says whether it was remembered. Works for a file that is gone
    /// if its canonical path is given.
    ///
    /// # Errors
    /// If the store cannot be read or written.
    pub fn revoke(&self, path: &Path) -> Result<bool, TrustError> {
        let key = match key_of(path) {
            Err(TrustError::NoSuchFile { .. }) => path.to_string_lossy().into_owned(),
            key => key?,
        };
        let mut contents = self.read()?;
        let was_remembered = contents.trusted.remove(&key).is_some();
        if was_remembered {
            self.write(&contents)?;
        }
        Ok(was_remembered)
    }

    fn remembered(&self, path: &Path) -> Result<Option<String>, TrustError> {
        let mut contents = self.read()?;
        Ok(key_of(path).ok().and_then(|key| contents.trusted.remove(&key)))
    }

    fn read(&self) -> Result<Contents, TrustError> {
        match read_private_file(&self.file) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|_| TrustError::Damaged { path: self.file.clone() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Contents::default()),
            Err(reason) => Err(TrustError::Inaccessible { path: self.file.clone(), reason }),
        }
    }

    fn write(&self, contents: &Contents) -> Result<(), TrustError> {
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
