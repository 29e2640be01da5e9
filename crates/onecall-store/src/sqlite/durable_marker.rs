//! A small file beside the store that exists while the store holds something that nobody can make
//! again: runs that have not ended, users, their secrets, an audit trail. A damaged store cannot be
//! asked what it holds; this file says whether it may be replaced.
//!
//! The marker is created and removed inside of write transactions, which only one process at a time
//! has.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::damaged_file::with_suffix;

/// The suffix of the file.
pub(super) const SUFFIX: &str = ".durable";

/// For a user who opens the file.
const TEXT: &str = "The store beside this file holds users, their secrets, an audit trail, or runs \
    that have not ended. onecall removes this file when there is nothing of that left.\n";

/// The file for the store at one path.
pub(super) struct DurableMarker(PathBuf);

impl DurableMarker {
    /// The marker of the store at `path`. If the path is a link, it is beside the target of the link.
    pub(super) fn of(path: &Path) -> Self {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        Self(with_suffix(&real, SUFFIX))
    }

    /// Whether the store must not be replaced. If that cannot be found out, it must not.
    pub(super) fn exists(&self) -> bool {
        self.0.try_exists().unwrap_or(true)
    }

    /// Creates the file. It is on disk when this returns.
    pub(super) fn create(&self) -> io::Result<()> {
        if self.exists() {
            return Ok(());
        }
        let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.0);
        let mut file = match created {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            created => created?,
        };
        file.write_all(TEXT.as_bytes())?;
        file.sync_all()?;
        self.0.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }

    /// Removes the file, if it exists.
    pub(super) fn remove(&self) -> io::Result<()> {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}
