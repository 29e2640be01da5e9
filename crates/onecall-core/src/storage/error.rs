//! Why something could not be stored or found.

use std::error::Error as StdError;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// What went wrong with a store. None of it concerns a program that runs.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The file or its directory cannot be used.
    #[error("the store '{}' cannot be used: {source}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file was written by a later onecall; it is left as it is.
    #[error("the store '{}' has version {found}, and this onecall supports versions up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The latest we know.
        known: i64,
    },
    /// It has been given up for this process; that was told when it happened.
    #[error("the store is not used: {reason}")]
    Disabled {
        /// Why.
        reason: String,
    },
    /// The file is damaged or no store, and still where it was.
    #[error("the store '{}' is damaged, or is not a store of onecall", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged or no store. It lies aside now, and the next call finds an empty one.
    #[error("the store '{}' was damaged, or not a store of onecall; it is kept as '{}', and an empty store replaces it", path.display(), aside.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where it is now.
        aside: PathBuf,
    },
    /// The database could not do what it was asked to; the store is as before.
    #[error("the store '{}': {source}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What the database says.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// What was to be stored is more than one entry may hold.
    #[error("{what} of {bytes} bytes is too large to be stored; at most {limit} are kept")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// Its size.
        bytes: usize,
        /// What is allowed.
        limit: usize,
    },
}

impl StoreError {
    /// The database in this file could not do what it was asked to.
    pub fn database(path: &Path, source: impl StdError + Send + Sync + 'static) -> Self {
        Self::Database { path: path.to_path_buf(), source: Box::new(source) }
    }

    /// This file or its directory cannot be used.
    #[must_use]
    pub fn unusable(path: &Path, source: io::Error) -> Self {
        Self::Unusable { path: path.to_path_buf(), source }
    }

    /// Whether the user has been told already.
    #[must_use]
    pub fn is_known(&self) -> bool {
        matches!(self, Self::Disabled { .. } | Self::Damaged { .. })
    }
}
