//! The file with the keys, in the user's state directory. It is made when the first secret is stored.
//! A process that encrypts holds a shared lock until the secret is stored, and a process that changes
//! the keys holds an exclusive one, so that no secret is stored with a key that is about to be removed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use onecall_config::{Directories, open_lock_file, read_secret_file, replace_private_file};
use serde::{Deserialize, Serialize};

use super::error::VaultError;
use super::keys::EncryptionKey;

/// The file with the keys.
#[derive(Clone, Debug)]
pub(super) struct KeyFile {
    path: PathBuf,
}

/// A lock on the key file, which is released when this is dropped.
pub(super) struct KeyFileLock(#[expect(dead_code, reason = "dropping it releases the lock")] File);

/// The content of the file.
#[derive(Serialize, Deserialize)]
struct StoredKeys {
    /// For a person who opens the file.
    about: String,
    /// The keys in base64; the first one encrypts.
    keys: Vec<String>,
}

const ABOUT: &str = "The keys for secrets and logins of users, which onecall encrypts in its store. \
    Keep a copy of this file: without it they cannot be decrypted.";

/// The path of the file with the keys for secrets of users, whether or not it exists; `None` if the user
/// has no state directory.
#[must_use]
pub fn key_file_path(directories: &Directories) -> Option<PathBuf> {
    KeyFile::of(directories).map(|file| file.path)
}

impl KeyFile {
    /// The file of the user; `None` if the user has no state directory.
    pub(super) fn of(directories: &Directories) -> Option<Self> {
        let state = directories.state.as_deref()?;
        Some(Self { path: state.join("onecall").join("user-secrets.key") })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until no process changes the keys, and keeps them from being changed.
    pub(super) fn lock_shared(&self) -> Result<KeyFileLock, VaultError> {
        let lock = || {
            let file = open_lock_file(&self.path.with_extension("lock"))?;
            file.lock_shared()?;
            Ok(KeyFileLock(file))
        };
        lock().map_err(|reason| self.unusable(reason))
    }

    /// Waits until no other process encrypts or changes the keys.
    pub(super) fn lock_exclusive(&self) -> Result<KeyFileLock, VaultError> {
        let lock = || {
            let file = open_lock_file(&self.path.with_extension("lock"))?;
            file.lock()?;
            Ok(KeyFileLock(file))
        };
        lock().map_err(|reason| self.unusable(reason))
    }

    /// The keys in the file; empty if there is no file.
    pub(super) fn read(&self) -> Result<Vec<EncryptionKey>, VaultError> {
        let bytes = match read_secret_file(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(reason) => return Err(self.unusable(reason)),
        };
        let damaged = || VaultError::DamagedKeyFile { path: self.path.clone() };
        let stored: StoredKeys = serde_json::from_slice(&bytes).map_err(|_| damaged())?;
        let keys = stored.keys.iter().map(|text| EncryptionKey::parse(text).ok_or_else(damaged));
        let keys: Vec<EncryptionKey> = keys.collect::<Result<_, _>>()?;
        if keys.is_empty() { Err(damaged()) } else { Ok(keys) }
    }

    /// Replaces the file atomically. It is on disk when this returns.
    pub(super) fn write<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k EncryptionKey>,
    ) -> Result<(), VaultError> {
        let keys = keys.into_iter().map(|key| key.text().reveal().to_owned());
        let stored = StoredKeys { about: ABOUT.to_owned(), keys: keys.collect() };
        let write = || {
            replace_private_file(&self.path, &stored)?;
            let folder = self.path.parent().unwrap_or(Path::new("."));
            // Otherwise the old file could be back after a power failure.
            File::open(folder)?.sync_all()
        };
        write().map_err(|reason| self.unusable(reason))
    }

    /// Removes the file.
    pub(super) fn remove(&self) -> Result<(), VaultError> {
        std::fs::remove_file(&self.path).map_err(|reason| self.unusable(reason))
    }

    fn unusable(&self, reason: io::Error) -> VaultError {
        VaultError::KeyFile { path: self.path.clone(), reason }
    }
}
