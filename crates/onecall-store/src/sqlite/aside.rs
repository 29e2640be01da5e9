//! Moves a damaged file out of the way, where somebody may still look into it.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use onecall_core::Timestamp;

use super::connection::FileId;

/// How long to wait for another process that does the same.
const PATIENCE: Duration = Duration::from_secs(2);

/// What SQLite keeps beside the file. These go first: a journal that is found beside
/// another file would be played into it.
const COMPANIONS: [&str; 2] = ["-wal", "-shm"];

/// Every file that there may be beside the store.
pub(super) const ALL_COMPANIONS: [&str; 4] = ["-wal", "-shm", "-journal", LOCK];

/// Held by the process that moves a damaged file.
const LOCK: &str = ".lock";

/// Renames `damaged`, if it is still the file at `path`, and says what it is called now.
pub(super) fn set_aside(path: &Path, damaged: FileId) -> io::Result<Option<PathBuf>> {
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(with_suffix(path, LOCK))?;
    let deadline = Instant::now() + PATIENCE;
    while let Err(error) = lock.try_lock() {
        if Instant::now() > deadline {
            return Err(error.into());
        }
        thread::sleep(Duration::from_millis(5));
    }
    if FileId::at(path).ok() != Some(damaged) {
        return Ok(None);
    }
    let aside = free_name(path);
    for companion in COMPANIONS {
        match fs::rename(with_suffix(path, companion), with_suffix(&aside, companion)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::rename(path, &aside)?;
    Ok(Some(aside))
}

fn free_name(path: &Path) -> PathBuf {
    let moment = Timestamp::now().to_string().replace([':', '-'], "");
    let name = |number: u32| match number {
        0 => with_suffix(path, &format!(".damaged-{moment}")),
        _ => with_suffix(path, &format!(".damaged-{moment}-{number}")),
    };
    (0..1000).map(name).find(|name| !name.exists()).unwrap_or_else(|| name(1000))
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
