//! Appends to log files, which several processes may write to and whose size is limited.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::process::{Resource, getrlimit};

use super::folder::{LogFolder, rotated_path};

/// The largest size of a log file, which is rotated before it grows larger. With the older file, a
/// server takes twice as much.
const MAX_BYTES: u64 = 1024 * 1024;

/// Appends complete lines to a log file in one write, so that lines of other processes do not mix
/// with them. The file is rotated first if they do not fit.
pub(super) fn append(path: &Path, lines: &[u8], folder: &LogFolder) -> io::Result<()> {
    folder.create()?;
    let (mut file, mut metadata) = open_for_appending(path)?;
    let room = MAX_BYTES.saturating_sub(u64::try_from(lines.len()).unwrap_or(u64::MAX));
    if metadata.len() > 0 && metadata.len() > room {
        rotate(path, &metadata, folder)?;
        (file, metadata) = open_for_appending(path)?;
    }
    let mut bytes = Vec::new();
    if is_torn(&file, metadata.len())? {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(lines);
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    check_size_limit(metadata.len().saturating_add(length))?;
    file.write_all(&bytes)
}

/// Renames a full file to its older name, unless another process does that.
fn rotate(path: &Path, full: &Metadata, folder: &LogFolder) -> io::Result<()> {
    let (lock, _) = open_for_appending(&folder.lock())?;
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(());
    }
    match fs::symlink_metadata(path) {
        Ok(named) if named.ino() == full.ino() => fs::rename(path, rotated_path(path)),
        _ => Ok(()),
    }
}

/// Opens a file that only this user can access, and creates it if necessary; links are not
/// followed.
fn open_for_appending(path: &Path) -> io::Result<(File, Metadata)> {
    let flags = OFlags::RDWR
        | OFlags::APPEND
        | OFlags::CREATE
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::RUSR | Mode::WUSR)?);
    let metadata = file.metadata()?;
    match metadata.is_file() {
        true => Ok((file, metadata)),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// Whether the last write ended in the middle of a line, for example on a full disk.
fn is_torn(file: &File, size: u64) -> io::Result<bool> {
    let Some(last) = size.checked_sub(1) else { return Ok(false) };
    let mut byte = [b'\n'];
    file.read_at(&mut byte, last)?;
    Ok(byte != [b'\n'])
}

/// Fails if the size is beyond the limit of this process (`ulimit -f`): such a write would leave half
/// of a line.
fn check_size_limit(size: u64) -> io::Result<()> {
    match getrlimit(Resource::Fsize).current {
        Some(limit) if size > limit => Err(io::ErrorKind::FileTooLarge.into()),
        _ => Ok(()),
    }
}
