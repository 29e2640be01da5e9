//! Moves a damaged file aside, where the user can still examine it. Only one process at a time does
//! so.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use onecall_core::Timestamp;

use super::connection::FileId;
use super::durable_marker;

/// How long to wait for another process that is moving the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// The suffixes of the files that SQLite keeps beside the store. They are moved
/// first: SQLite would apply a journal that it finds beside another file.
const MOVED_SUFFIXES: [&str; 2] = ["-wal", "-shm"];

/// The suffixes of all files that can exist beside the store.
pub(super) const ALL_SUFFIXES: [&str; 5] =
    ["-wal", "-shm", "-journal", LOCK, durable_marker::SUFFIX];

/// The suffix of the lock file, which is locked while a damaged or lost file is replaced.
const LOCK: &str = ".lock";

/// The beginning of the suffix of a file that was moved aside.
const DAMAGED: &str = ".damaged-";

/// Waits until no other process replaces the file. The lock ends when the result is dropped.
pub(super) fn lock(path: &Path) -> io::Result<File> {
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(with_suffix(path, LOCK))?;
    let deadline = Instant::now() + LOCK_TIMEOUT;
    while let Err(error) = lock.try_lock() {
        if Instant::now() > deadline {
            return Err(error.into());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(lock)
}

/// Renames `damaged`, if it is still the file at `path`, and returns its new path.
pub(super) fn move_aside(path: &Path, damaged: FileId) -> io::Result<Option<PathBuf>> {
    let _lock = lock(path)?;
    if FileId::at(path).ok() != Some(damaged) {
        return Ok(None);
    }
    let aside = free_name(path);
    for suffix in MOVED_SUFFIXES {
        match fs::rename(with_suffix(path, suffix), with_suffix(&aside, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::rename(path, &aside)?;
    Ok(Some(aside))
}

/// The damaged files that were moved aside and are still there, oldest first.
pub(super) fn set_aside(path: &Path) -> Vec<PathBuf> {
    let beginning = with_suffix(path, DAMAGED);
    let Some(folder) = path.parent().and_then(|folder| fs::read_dir(folder).ok()) else {
        return Vec::new();
    };
    let is_damaged = |found: &PathBuf| {
        let (name, beginning) = (found.as_os_str().as_bytes(), beginning.as_os_str().as_bytes());
        let is_beside = MOVED_SUFFIXES.iter().any(|suffix| name.ends_with(suffix.as_bytes()));
        name.starts_with(beginning) && !is_beside
    };
    let found = folder.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found: Vec<PathBuf> = found.filter(is_damaged).collect();
    // The names have the moments.
    found.sort();
    found
}

fn free_name(path: &Path) -> PathBuf {
    let moment = Timestamp::now().to_string().replace([':', '-'], "");
    let name = |number: u32| match number {
        0 => with_suffix(path, &format!("{DAMAGED}{moment}")),
        _ => with_suffix(path, &format!("{DAMAGED}{moment}-{number}")),
    };
    (0..1000).map(name).find(|name| !name.exists()).unwrap_or_else(|| name(1000))
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
