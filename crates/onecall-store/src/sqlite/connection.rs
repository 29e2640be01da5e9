//! One connection to the file, ready to be used.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use onecall_config::{check_own_file, check_own_folder};
use onecall_core::storage::StoreError;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::aside;
use super::migrations::{self, Refused};

/// How long to wait for another process that writes.
const BUSY: Duration = Duration::from_secs(5);

/// Between two tries where SQLite itself does not wait.
const PAUSE: Duration = Duration::from_millis(5);

/// Nobody but its owner.
const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// A file, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self { device: metadata.dev(), inode: metadata.ino() })
    }
}

/// A connection, and the file it leads to.
pub(super) struct Link {
    pub(super) connection: Connection,
    pub(super) file: FileId,
    /// No other one of this process has it.
    pub(super) number: u64,
}

/// Why there is no connection.
pub(super) enum Trouble {
    /// The file is no store of ours, or not any more.
    Damaged(FileId),
    /// It will not be different the next time.
    Lasting(StoreError),
    /// It may.
    Passing(rusqlite::Error),
}

impl Link {
    /// Opens the file, which is made if need be.
    pub(super) fn open(path: &Path) -> Result<Self, Trouble> {
        let unusable = |source| Trouble::Lasting(StoreError::unusable(path, source));
        prepare(path).map_err(unusable)?;
        let file = FileId::at(path).map_err(unusable)?;
        let connection = ready(path).map_err(|refused| match refused {
            Refused::Foreign => Trouble::Damaged(file),
            Refused::Newer { found, known } => {
                let path = path.to_path_buf();
                Trouble::Lasting(StoreError::Newer { path, found, known })
            }
            Refused::Sqlite(source) => trouble(path, file, source),
        })?;
        keep_private(path).map_err(unusable)?;
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Ok(Self { connection, file, number: COUNT.fetch_add(1, Ordering::Relaxed) })
    }

    /// Whether its file is still where it was.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        FileId::at(path).is_ok_and(|file| file == self.file)
    }
}

/// A connection that can be used. Another process may be about to prepare the same file,
/// and some of what it does has SQLite refuse everybody else at once, without patience.
fn ready(path: &Path) -> Result<Connection, Refused> {
    let begun = Instant::now();
    loop {
        match prepared(path) {
            Err(Refused::Sqlite(error)) if is_busy(&error) && begun.elapsed() < BUSY => {
                thread::sleep(PAUSE);
            }
            outcome => return outcome,
        }
    }
}

fn prepared(path: &Path) -> Result<Connection, Refused> {
    let connection = connect(path)?;
    // Nothing is done to a file before it is known to be ours.
    if migrations::version(&connection)? == 0 {
        // Only a file without tables takes it; any other would be written for nothing.
        connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL;")?;
    }
    settle(&connection)?;
    migrations::migrate(&connection)?;
    Ok(connection)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    use ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
}

/// Whether the file itself is the trouble.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    use ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
}

fn trouble(path: &Path, file: FileId, source: rusqlite::Error) -> Trouble {
    use ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
    match source.sqlite_error_code() {
        _ if is_damage(&source) => Trouble::Damaged(file),
        Some(CannotOpen | PermissionDenied | ReadOnly) => {
            Trouble::Lasting(StoreError::database(path, source))
        }
        _ => Trouble::Passing(source),
    }
}

/// Makes the directory and the file, for their owner alone.
fn prepare(path: &Path) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(directory)?;
    }
    check_own(path)?;
    // A file that is there is not opened here: closing it would end SQLite's locks on it.
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => Err(io::Error::other("it is no file")),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            created => created.map(drop),
        },
        Err(error) => Err(error),
    }
}

/// Refuses a store that another user has made or can change. Where its path is a link,
/// SQLite keeps its other files beside the file that it leads to.
pub(super) fn check_own(path: &Path) -> io::Result<()> {
    let real = fs::canonicalize(path).ok();
    for path in [Some(path), real.as_deref()].into_iter().flatten() {
        path.parent().map_or(Ok(()), check_own_folder)?;
        check_own_file(path)?;
        for companion in aside::ALL_COMPANIONS {
            check_own_file(&aside::with_suffix(path, companion))?;
        }
    }
    Ok(())
}

fn keep_private(path: &Path) -> io::Result<()> {
    match fs::metadata(path)?.mode() & 0o777 {
        FILE_MODE => Ok(()),
        _ => fs::set_permissions(path, PermissionsExt::from_mode(FILE_MODE)),
    }
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)
}

pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")?;
    Ok(connection)
}

/// What lasts in the file, and how it is written.
fn settle(connection: &Connection) -> rusqlite::Result<()> {
    // Where the file system cannot do it, the older journal serves as well.
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    // The last runs may be lost when the power fails, and nothing else.
    connection.execute_batch("PRAGMA synchronous = NORMAL;")
}
