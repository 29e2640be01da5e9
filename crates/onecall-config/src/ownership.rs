//! Checks that files of onecall belong to the user. A file or folder that another user owns, can
//! write to or has replaced by a link is neither trusted nor changed.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use onecall_core::text::shell_word;
use thiserror::Error;

/// Why a file or folder is rejected.
#[derive(Debug, Error)]
enum OwnershipError {
    #[error("'{}' belongs to another user (uid {owner}); onecall does not change it", path.display())]
    Owner { path: PathBuf, owner: u32 },
    #[error("other users can write to '{}' (mode {mode:o}); run `chmod go-w {}`", path.display(), shell_path(path))]
    Writable { path: PathBuf, mode: u32 },
    #[error(
        "other users can read it (mode {mode:o}); run `chmod 600 {}`, and replace the secrets that they \
         may have read",
        shell_path(path)
    )]
    Readable { path: PathBuf, mode: u32 },
    #[error("'{}' has other names that lead to the same file (hard links); onecall does not change it", path.display())]
    HardLink { path: PathBuf },
    #[error("'{}' is not a file", path.display())]
    NotAFile { path: PathBuf },
    #[error("'{}' is not a folder", path.display())]
    NotAFolder { path: PathBuf },
}

fn shell_path(path: &Path) -> String {
    shell_word(&path.to_string_lossy()).into_owned()
}

impl From<OwnershipError> for io::Error {
    fn from(reason: OwnershipError) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, reason)
    }
}

/// Rejects a file that other users can change. A file that does not exist is accepted, and so is a
/// link of this user to a file of this user. Nothing is modified.
///
/// # Errors
/// If it belongs to another user, others can write to it, or it has hard links.
pub fn check_own_file(path: &Path) -> io::Result<()> {
    let Some(metadata) = metadata_if_exists(path)? else { return Ok(()) };
    let path = path.to_owned();
    if metadata.is_symlink() {
        check_owner(&path, &metadata)?;
        return match fs::canonicalize(&path) {
            Ok(target) => check_own_file(&target),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        };
    }
    let user = user();
    if metadata.uid() != user {
        return Err(OwnershipError::Owner { path, owner: metadata.uid() }.into());
    }
    if !metadata.is_file() {
        return Err(OwnershipError::NotAFile { path }.into());
    }
    if metadata.nlink() > 1 {
        return Err(OwnershipError::HardLink { path }.into());
    }
    check_mode(&path, &metadata, user)
}

/// Rejects a folder in which another user can create files. A folder that does not exist is
/// accepted. Nothing is modified.
///
/// # Errors
/// If it belongs to a user other than this one or root, or others can write to it.
pub fn check_own_folder(path: &Path) -> io::Result<()> {
    let Some(metadata) = metadata_if_exists(path)? else { return Ok(()) };
    check_owner(path, &metadata)?;
    let metadata = fs::metadata(path)?;
    check_owner(path, &metadata)?;
    if !metadata.is_dir() {
        return Err(OwnershipError::NotAFolder { path: path.to_owned() }.into());
    }
    check_mode(path, &metadata, user())
}

/// Rejects an open file that its group or other users can read.
///
/// # Errors
/// If they can read it.
pub(crate) fn check_unreadable_by_others(path: &Path, metadata: &Metadata) -> io::Result<()> {
    let mode = metadata.mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    Err(OwnershipError::Readable { path: path.to_owned(), mode }.into())
}

/// The metadata of a path, without following a link; `None` if it does not exist.
fn metadata_if_exists(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Accepts this user and root as the owner. In a user namespace root may have another number; then
/// it is the owner of the root folder.
fn check_owner(path: &Path, metadata: &Metadata) -> io::Result<()> {
    let owner = metadata.uid();
    let owns_root = || fs::metadata("/").is_ok_and(|root| root.uid() == owner);
    if owner == user() || owner == 0 || owns_root() {
        return Ok(());
    }
    Err(OwnershipError::Owner { path: path.to_owned(), owner }.into())
}

fn check_mode(path: &Path, metadata: &Metadata, user: u32) -> io::Result<()> {
    // A private group of a user has the user's number and no other member.
    let own_group = metadata.gid() == user;
    let foreign = if own_group { 0o002 } else { 0o022 };
    let mode = metadata.mode() & 0o777;
    if mode & foreign == 0 {
        return Ok(());
    }
    Err(OwnershipError::Writable { path: path.to_owned(), mode }.into())
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}
