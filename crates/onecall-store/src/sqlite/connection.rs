//! Opens connections to the file of the store. The file and its directory must belong to the user
//! and are accessible to the user only.

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

use super::damaged_file;
use super::durable_marker::DurableMarker;
use super::migrations::{self, SchemaError};

/// How long to wait for another process that is writing.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause between two attempts where SQLite itself does not wait.
const RETRY_PAUSE: Duration = Duration::from_millis(5);

/// How many prepared statements a connection keeps: all that a run with a journal and a record needs.
const CACHED_STATEMENTS: usize = 48;

/// The permissions of new files and directories: only the owner has access.
const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// Identifies a file independently of its name.
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

/// When the writes of a connection are on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Synchronous {
    /// Some time after the commit: after a power failure the last writes may be lost, but the file
    /// stays intact.
    Normal,
    /// When the commit returns.
    Full,
}

/// A connection and the file that it has open.
pub(super) struct FileConnection {
    pub(super) connection: Connection,
    pub(super) file: FileId,
    /// A number that is unique among the connections of this process.
    pub(super) number: u64,
}

/// Why a connection could not be opened.
pub(super) enum OpenError {
    /// The file is not a store, or is damaged.
    Damaged(FileId),
    /// A permanent error: a retry would fail too.
    Permanent(StoreError),
    /// A temporary error: a retry may succeed.
    Temporary(rusqlite::Error),
}

impl FileConnection {
    /// Opens the file, and creates it if it does not exist.
    pub(super) fn open(path: &Path, synchronous: Synchronous) -> Result<Self, OpenError> {
        let unusable = |source| OpenError::Permanent(StoreError::unusable(path, source));
        create_if_missing(path).map_err(unusable)?;
        let file = FileId::at(path).map_err(unusable)?;
        let connection = connect_with_retries(path, synchronous).map_err(|error| match error {
            SchemaError::Foreign => OpenError::Damaged(file),
            SchemaError::Newer { found, known } => {
                let store = path.display().to_string();
                OpenError::Permanent(StoreError::Newer { store, found, known })
            }
            SchemaError::Sqlite(source) => open_error(path, file, source),
        })?;
        keep_private(path).map_err(unusable)?;
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Ok(Self { connection, file, number: COUNT.fetch_add(1, Ordering::Relaxed) })
    }

    /// Whether its file is still at this path.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        FileId::at(path).is_ok_and(|file| file == self.file)
    }
}

/// Opens and prepares a connection, with retries. While another process prepares the same file,
/// SQLite rejects some operations at once, without its usual wait.
fn connect_with_retries(path: &Path, synchronous: Synchronous) -> Result<Connection, SchemaError> {
    let begun = Instant::now();
    loop {
        match connect_and_migrate(path, synchronous) {
            Err(SchemaError::Sqlite(error))
                if is_busy(&error) && begun.elapsed() < BUSY_TIMEOUT =>
            {
                thread::sleep(RETRY_PAUSE);
            }
            outcome => return outcome,
        }
    }
}

fn connect_and_migrate(path: &Path, synchronous: Synchronous) -> Result<Connection, SchemaError> {
    let connection = connect(path)?;
    // Nothing is written to a file before it is known to be a store.
    if migrations::version(&connection)? == 0 {
        // An empty file on which runs depend was truncated. Another process may have prepared the
        // file since its version was read, and then added a run, so the version is read again.
        if DurableMarker::of(path).exists() && migrations::version(&connection)? == 0 {
            return Err(SchemaError::Foreign);
        }
        // Only a file without tables accepts this setting.
        connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL;")?;
    }
    configure_journal(&connection, synchronous)?;
    migrations::migrate(&connection)?;
    Ok(connection)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    use ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
}

/// Whether the error means that the file is damaged.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    use ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
}

fn open_error(path: &Path, file: FileId, source: rusqlite::Error) -> OpenError {
    use ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
    match source.sqlite_error_code() {
        _ if is_damage(&source) => OpenError::Damaged(file),
        Some(CannotOpen | PermissionDenied | ReadOnly) => {
            OpenError::Permanent(StoreError::database(path, source))
        }
        _ => OpenError::Temporary(source),
    }
}

/// Creates the directory and the file with access for the owner only.
fn create_if_missing(path: &Path) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(directory)?;
    }
    check_own(path)?;
    // An existing file is not opened here: closing it would release SQLite's locks on it.
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => Err(io::Error::other("it is not a file")),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let marker = DurableMarker::of(path);
            if marker.exists() {
                return replace_lost(path, &marker);
            }
            create(path)
        }
        Err(error) => Err(error),
    }
}

/// Creates a file in the place of one that the user has moved away although runs depended on it. The
/// marker goes first, and the lock keeps it from going when another process has created the file
/// and added a run.
fn replace_lost(path: &Path, marker: &DurableMarker) -> io::Result<()> {
    let _lock = damaged_file::lock(path)?;
    if path.try_exists()? {
        return Ok(());
    }
    tracing::warn!(
        "the store '{}' is gone, with runs that had not ended; an empty store replaces it",
        path.display()
    );
    marker.remove()?;
    create(path)
}

/// Rejects a store that another user has created or can change. If the path is a link, SQLite keeps
/// its other files beside the target of the link.
pub(super) fn check_own(path: &Path) -> io::Result<()> {
    let real = fs::canonicalize(path).ok();
    for path in [Some(path), real.as_deref()].into_iter().flatten() {
        path.parent().map_or(Ok(()), check_own_folder)?;
        check_own_file(path)?;
        for suffix in damaged_file::ALL_SUFFIXES {
            check_own_file(&damaged_file::with_suffix(path, suffix))?;
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

/// Creates the file, unless another process does so at this moment.
fn create(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created.map(drop),
    }
}

pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    Ok(connection)
}

/// Puts on disk what was committed without waiting for the disk. The folder is synced, too: where the
/// older journal is used, a commit removes a file from it.
pub(super) fn sync_log(path: &Path) -> io::Result<()> {
    let real = fs::canonicalize(path)?;
    // SQLite has no locks on this file that would end when it is closed here.
    match File::open(damaged_file::with_suffix(&real, "-wal")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        log => log?.sync_data()?,
    }
    real.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Sets the journal mode and how writes are synchronised.
fn configure_journal(connection: &Connection, synchronous: Synchronous) -> rusqlite::Result<()> {
    // Where the file system does not support WAL, the older journal is used.
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.execute_batch(match synchronous {
        Synchronous::Normal => "PRAGMA synchronous = NORMAL;",
        Synchronous::Full => "PRAGMA synchronous = FULL;",
    })
}
