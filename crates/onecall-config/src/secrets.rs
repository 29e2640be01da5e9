//! The user's secrets: values for `${NAME}` in configurations, stored in a file of the state
//! directory that only its owner can read.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use onecall_core::Secret;

use crate::expand::is_name;
use crate::locate::{Directories, ProcessContext};
use crate::private_file::{open_lock_file, read_secret_file, replace_private_file};

/// The longest value that is accepted: the system cannot start a program with a longer variable.
pub const MAX_SECRET_BYTES: usize = 64 * 1024;

/// Why secrets cannot be read or changed. No message shows a value, nor an invalid name, which may
/// be a value in the wrong place.
#[derive(Debug, Error)]
pub enum SecretsError {
    /// The file cannot be read or written, or is not safe to use.
    #[error("cannot use the secrets in '{path}': {reason}", path = path.display())]
    Inaccessible {
        /// The file.
        path: PathBuf,
        /// The error of the system, or why the file is not private to the user.
        reason: io::Error,
    },
    /// The content of the file is invalid.
    #[error(
        "the file of secrets '{path}' is damaged; correct it, or delete it and set the secrets again",
        path = path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The text is not a valid name of a variable.
    #[error(
        "this name is not valid: use letters, digits and _, and no digit first, as in API_TOKEN"
    )]
    InvalidName,
    /// The value is empty, which would hide that a secret is missing.
    #[error("the value is empty, and nothing was changed")]
    Empty,
    /// The value contains a NUL character, which no variable can contain.
    #[error("the value holds a NUL character, which no variable can have; nothing was changed")]
    Nul,
    /// The value is too long.
    #[error("the value is longer than 64 KiB; nothing was changed")]
    TooLong,
    /// No secret has this name.
    #[error("there is no secret '{0}'; nothing was changed")]
    Unknown(String),
}

/// The values of secrets by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets {
    values: BTreeMap<String, Secret>,
}

impl Secrets {
    /// The secret with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Secret> {
        self.values.get(name)
    }

    /// The names of all secrets, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// The values of all secrets.
    pub fn values(&self) -> impl Iterator<Item = &Secret> {
        self.values.values()
    }

    /// Adds a secret, or replaces the value of an existing one.
    ///
    /// # Errors
    /// If the name or the value is not valid for a variable.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), SecretsError> {
        if !is_name(name) {
            return Err(SecretsError::InvalidName);
        }
        if value.is_empty() {
            return Err(SecretsError::Empty);
        }
        if value.contains('\0') {
            return Err(SecretsError::Nul);
        }
        if value.len() > MAX_SECRET_BYTES {
            return Err(SecretsError::TooLong);
        }
        self.values.insert(name.to_owned(), Secret::new(value));
        Ok(())
    }

    /// Removes the secret with this name.
    ///
    /// # Errors
    /// If there is no such secret.
    pub fn remove(&mut self, name: &str) -> Result<(), SecretsError> {
        if !is_name(name) {
            return Err(SecretsError::InvalidName);
        }
        let removed = self.values.remove(name);
        removed.map(|_| ()).ok_or_else(|| SecretsError::Unknown(name.to_owned()))
    }
}

/// The file that contains the user's secrets.
#[derive(Clone, Debug)]
pub struct SecretsFile {
    path: PathBuf,
}

impl Directories {
    /// The file of the user's secrets, whether or not it exists; `None` if the user has no state
    /// directory.
    #[must_use]
    pub fn secrets(&self) -> Option<SecretsFile> {
        let state = self.state.as_deref()?;
        Some(SecretsFile { path: state.join("onecall").join("secrets.json") })
    }
}

impl ProcessContext<'_> {
    /// The user's secrets; empty if there is no file.
    ///
    /// # Errors
    /// If the file cannot be used.
    pub fn secrets(&self) -> Result<Secrets, SecretsError> {
        self.directories.secrets().map_or_else(|| Ok(Secrets::default()), |file| file.read())
    }
}

impl SecretsFile {
    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the secrets in the file; empty if there is no file.
    ///
    /// # Errors
    /// If it cannot be read, others can read or change it, or it is damaged.
    pub fn read(&self) -> Result<Secrets, SecretsError> {
        let bytes = match read_secret_file(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Secrets::default()),
            Err(reason) => return Err(self.inaccessible(reason)),
        };
        let damaged = || SecretsError::Damaged { path: self.path.clone() };
        let values: BTreeMap<String, String> =
            serde_json::from_slice(&bytes).map_err(|_| damaged())?;
        let values = values.into_iter().map(|(name, value)| (name, Secret::new(value)));
        Ok(Secrets { values: values.collect() })
    }

    /// Changes the secrets in the file under a lock and writes them atomically. The file is deleted
    /// with its last secret, and stays unchanged if `change` fails.
    ///
    /// # Errors
    /// If the file cannot be read or written, or the error of `change`.
    pub fn change<T>(
        &self,
        change: impl FnOnce(&mut Secrets) -> Result<T, SecretsError>,
    ) -> Result<T, SecretsError> {
        let _lock = self.lock().map_err(|reason| self.inaccessible(reason))?;
        let mut secrets = self.read()?;
        let before = secrets.clone();
        let changed = change(&mut secrets)?;
        if secrets != before {
            self.write(&secrets).map_err(|reason| self.inaccessible(reason))?;
        }
        Ok(changed)
    }

    fn lock(&self) -> io::Result<File> {
        let lock = open_lock_file(&self.path.with_extension("lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    fn write(&self, secrets: &Secrets) -> io::Result<()> {
        if secrets.values.is_empty() {
            return fs::remove_file(&self.path);
        }
        let values = secrets.values.iter().map(|(name, value)| (name, value.reveal()));
        replace_private_file(&self.path, &values.collect::<BTreeMap<_, _>>())
    }

    fn inaccessible(&self, reason: io::Error) -> SecretsError {
        SecretsError::Inaccessible { path: self.path.clone(), reason }
    }
}
