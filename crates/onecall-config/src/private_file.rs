//! Reads and writes state files that only the user can access.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::Serialize;

use crate::ownership::{check_own_file, check_own_folder, check_unreadable_by_others};

/// Reads a file that only this user can have written.
///
/// # Errors
/// If the system reports an error, or the file does not belong to this user.
pub fn read_private_file(path: &Path) -> io::Result<Vec<u8>> {
    path.parent().map_or(Ok(()), check_own_folder)?;
    check_own_file(path)?;
    fs::read(path)
}

/// Reads a file that only this user can read and change.
///
/// # Errors
/// If the system reports an error, others can read the file, or it does not belong to this user.
pub fn read_secret_file(path: &Path) -> io::Result<Vec<u8>> {
    path.parent().map_or(Ok(()), check_own_folder)?;
    check_own_file(path)?;
    let mut file = File::open(path)?;
    check_unreadable_by_others(path, &file.metadata()?)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a file that processes lock while they change a private file beside it. Creates it and its
/// folder if they do not exist.
///
/// # Errors
/// If the system reports an error, or the file or its folder does not belong to this user.
pub fn open_lock_file(path: &Path) -> io::Result<File> {
    let directory = path.parent().unwrap_or(Path::new("."));
    create_private_directory(directory)?;
    check_own_folder(directory)?;
    check_own_file(path)?;
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// Writes `contents` as JSON to a file that only its owner can read. It is replaced atomically, so
/// that a reader sees the old or the new content.
///
/// # Errors
/// If the system reports an error, or the folder does not belong to this user.
pub fn replace_private_file(path: &Path, contents: &impl Serialize) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    create_private_directory(directory)?;
    check_own_folder(directory)?;
    // The temporary file is created with access for the owner only.
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    serde_json::to_writer_pretty(&mut file, contents)?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn create_private_directory(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}
