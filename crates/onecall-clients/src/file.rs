//! A file of another program, read once and replaced atomically: readers never see half of it, a
//! link stays a link, permissions and owner are kept, and a concurrent change is never lost.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use onecall_core::Timestamp;
use thiserror::Error;

/// The largest file that is read; some clients keep a history in their configuration.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Why a file was not read or not written. The file is unchanged in every case.
#[derive(Debug, Error)]
pub enum FileError {
    /// The system reported an error.
    #[error("cannot {operation} '{path}': {reason}", path = path.display())]
    System {
        /// The operation that failed.
        operation: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        reason: io::Error,
    },
    /// The path is a link to a file that does not exist.
    #[error("'{path}' is a link to something that does not exist; repair or remove the link", path = path.display())]
    DanglingLink {
        /// The link.
        path: PathBuf,
    },
    /// The path is not a file.
    #[error("'{path}' is not a file", path = path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file is too large to be a configuration.
    #[error("'{path}' is larger than 64 MiB; check that it is the right file", path = path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file is not valid UTF-8.
    #[error("'{path}' is not valid UTF-8 from line {line} on; save it as UTF-8", path = path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The line of the first invalid byte.
        line: usize,
    },
    /// The file has hard links, and replacing it would separate them.
    #[error("'{path}' has several names (hard links), which would no longer be one file after a change; edit it by hand", path = path.display())]
    HardLinked {
        /// The file.
        path: PathBuf,
    },
    /// Another process has changed the file since it was read.
    #[error("another program has just changed '{path}', so onecall did not change it; try again", path = path.display())]
    ChangedSinceRead {
        /// The file.
        path: PathBuf,
    },
}

/// Who may read a newly created file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadableBy {
    /// Only its owner.
    Owner,
    /// All users that the owner's umask permits.
    Everybody,
}

/// A file with the content it had when it was read.
#[derive(Debug)]
pub struct TextFile {
    /// The path as it was given.
    path: PathBuf,
    /// The path with links resolved.
    target: PathBuf,
    text: Option<String>,
}

impl TextFile {
    /// Reads a file, which need not exist.
    ///
    /// # Errors
    /// If the file exists and cannot be read.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let path = path.to_path_buf();
        let target = match fs::canonicalize(&path) {
            Ok(target) => target,
            Err(reason) if reason.kind() == io::ErrorKind::NotFound => {
                return match path.is_symlink() {
                    true => Err(FileError::DanglingLink { path }),
                    false => Ok(Self { target: path.clone(), path, text: None }),
                };
            }
            Err(reason) => return Err(FileError::System { operation: "read", path, reason }),
        };
        let bytes = read_bytes(&target).map_err(|error| error.with_path(&path))?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { path, target, text: Some(text) }),
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let line =
                    error.as_bytes().iter().take(valid).filter(|byte| **byte == b'\n').count() + 1;
                Err(FileError::NotText { path, line })
            }
        }
    }

    /// The path as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file exists.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.text.is_some()
    }

    /// The content of the file; empty if it does not exist.
    #[must_use]
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Whether other users of this machine can read the file.
    #[must_use]
    pub fn is_readable_by_others(&self) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::metadata(&self.target)
                .is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
        }
        #[cfg(not(unix))]
        false
    }

    /// Writes a copy beside the file and returns its path; `None` if the file does not exist.
    ///
    /// # Errors
    /// If the copy cannot be written.
    pub fn back_up(&self) -> Result<Option<PathBuf>, FileError> {
        let Some(text) = &self.text else { return Ok(None) };
        let stamp = Timestamp::now().for_file_name();
        for attempt in 0.. {
            let suffix = if attempt == 0 { String::new() } else { format!("-{attempt}") };
            let mut name = self.target.clone().into_os_string();
            name.push(format!(".onecall-backup-{stamp}{suffix}"));
            let backup = PathBuf::from(name);
            let written = create_private_file(&backup).and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                if let Ok(metadata) = fs::metadata(&self.target) {
                    file.set_permissions(metadata.permissions())?;
                }
                file.sync_all()
            });
            match written {
                Ok(()) => return Ok(Some(backup)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {}
                Err(reason) => {
                    return Err(FileError::System { operation: "write", path: backup, reason });
                }
            }
        }
        Ok(None)
    }

    /// Replaces the content. `readable_by` applies to a new file; existing permissions are kept.
    ///
    /// # Errors
    /// If the file cannot be written or has changed since it was read.
    pub fn replace(&self, text: &str, readable_by: ReadableBy) -> Result<(), FileError> {
        let failed = |operation: &'static str| {
            let path = self.path.clone();
            move |reason| FileError::System { operation, path, reason }
        };
        let folder = self.target.parent().unwrap_or(Path::new("."));
        let metadata = match self.text {
            Some(_) => Some(self.check_replaceable()?),
            None => {
                fs::create_dir_all(folder).map_err(failed("make the folder of"))?;
                None
            }
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".onecall-");
        #[cfg(unix)]
        if readable_by == ReadableBy::Everybody {
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        }
        let mut new = builder.tempfile_in(folder).map_err(failed("write beside"))?;
        new.write_all(text.as_bytes()).map_err(failed("write"))?;
        if let Some(metadata) = &metadata {
            keep_permissions_and_owner(new.as_file(), metadata)
                .map_err(failed("keep the rights and owner of"))?;
        }
        new.as_file().sync_all().map_err(failed("write"))?;
        self.check_unchanged()?;
        match metadata {
            Some(_) => new.persist(&self.target).map(drop).map_err(|error| error.error),
            None => new.persist_noclobber(&self.target).map(drop).map_err(|error| error.error),
        }
        .map_err(|reason| match reason.kind() {
            io::ErrorKind::AlreadyExists => FileError::ChangedSinceRead { path: self.path.clone() },
            _ => failed("replace")(reason),
        })
    }

    /// Removes the file.
    ///
    /// # Errors
    /// If the file cannot be removed or has changed since it was read.
    pub fn delete(&self) -> Result<(), FileError> {
        self.check_unchanged()?;
        fs::remove_file(&self.path).map_err(|reason| FileError::System {
            operation: "remove",
            path: self.path.clone(),
            reason,
        })
    }

    fn check_replaceable(&self) -> Result<Metadata, FileError> {
        let failed =
            |reason| FileError::System { operation: "write", path: self.path.clone(), reason };
        // A file that is not writable must not be replaced either.
        let file = OpenOptions::new().write(true).open(&self.target).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        #[cfg(unix)]
        if std::os::unix::fs::MetadataExt::nlink(&metadata) > 1 {
            return Err(FileError::HardLinked { path: self.path.clone() });
        }
        Ok(metadata)
    }

    fn check_unchanged(&self) -> Result<(), FileError> {
        let current = Self::read(&self.path)?;
        match current.text == self.text && current.target == self.target {
            true => Ok(()),
            false => Err(FileError::ChangedSinceRead { path: self.path.clone() }),
        }
    }
}

impl FileError {
    fn with_path(self, path: &Path) -> Self {
        let path = path.to_path_buf();
        match self {
            Self::System { operation, reason, .. } => Self::System { operation, path, reason },
            Self::TooLarge { .. } => Self::TooLarge { path },
            Self::NotAFile { .. } => Self::NotAFile { path },
            other => other,
        }
    }
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, FileError> {
    let failed = |reason| FileError::System { operation: "read", path: path.to_path_buf(), reason };
    // Opening a pipe would block until another process writes to it.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(FileError::NotAFile { path: path.to_path_buf() });
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= MAX_BYTES) {
        Ok(bytes)
    } else {
        Err(FileError::TooLarge { path: path.to_path_buf() })
    }
}

fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn keep_permissions_and_owner(file: &File, metadata: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let new = file.metadata()?;
        if (new.uid(), new.gid()) != (metadata.uid(), metadata.gid()) {
            std::os::unix::fs::fchown(file, Some(metadata.uid()), Some(metadata.gid()))?;
        }
    }
    file.set_permissions(metadata.permissions())
}
