//! Whether files that onecall keeps are the user's own. In a file or folder that another
//! user owns, can write to or has put a link in the place of, nothing can be believed, and
//! it is not ours to change.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use onecall_core::text::shell_word;
use thiserror::Error;

/// Why a file or folder is not the user's own.
#[derive(Debug, Error)]
enum NotOwn {
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
    NoFile { path: PathBuf },
    #[error("'{}' is not a folder", path.display())]
    NoFolder { path: PathBuf },
}

fn shell_path(path: &Path) -> String {
    shell_word(&path.to_string_lossy()).into_owned()
}

impl From<NotOwn> for io::Error {
    fn from(reason: NotOwn) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, reason)
    }
}

/// Refuses a file that is not this user's alone, and changes nothing. A file that does not
/// exist is fine, and so is a link of this user to a file of this user.
///
/// # Errors
/// If it belongs to another user, others can write to it, or it has other names.
pub fn check_own_file(path: &Path) -> io::Result<()> {
    let Some(metadata) = existing(path)? else { return Ok(()) };
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
        return Err(NotOwn::Owner { path, owner: metadata.uid() }.into());
    }
    if !metadata.is_file() {
        return Err(NotOwn::NoFile { path }.into());
    }
    if metadata.nlink() > 1 {
        return Err(NotOwn::HardLink { path }.into());
    }
    check_mode(&path, &metadata, user)
}

/// Refuses a folder in which another user could put files, and changes nothing. A folder
/// that does not exist is fine.
///
/// # Errors
/// If it belongs to another user than this one or root, or others can write to it.
pub fn check_own_folder(path: &Path) -> io::Result<()> {
    let Some(metadata) = existing(path)? else { return Ok(()) };
    check_owner(path, &metadata)?;
    let metadata = fs::metadata(path)?;
    check_owner(path, &metadata)?;
    if !metadata.is_dir() {
        return Err(NotOwn::NoFolder { path: path.to_owned() }.into());
    }
    check_mode(path, &metadata, user())
}

/// Refuses an open file that its group or other users can read.
///
/// # Errors
/// If they can.
pub(crate) fn check_unreadable_by_others(path: &Path, metadata: &Metadata) -> io::Result<()> {
    let mode = metadata.mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    Err(NotOwn::Readable { path: path.to_owned(), mode }.into())
}

/// What is at a path, a link itself; none if there is nothing.
fn existing(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Besides this user, root may own what surrounds files; where root has no number of its
/// own, in a user namespace, it is the one that the root folder belongs to.
fn check_owner(path: &Path, metadata: &Metadata) -> io::Result<()> {
    let owner = metadata.uid();
    let owns_root = || fs::metadata("/").is_ok_and(|root| root.uid() == owner);
    if owner == user() || owner == 0 || owns_root() {
        return Ok(());
    }
    Err(NotOwn::Owner { path: path.to_owned(), owner }.into())
}

fn check_mode(path: &Path, metadata: &Metadata, user: u32) -> io::Result<()> {
    // Where every user has a group, it has the user's number and no other member.
    let own_group = metadata.gid() == user;
    let foreign = if own_group { 0o002 } else { 0o022 };
    let mode = metadata.mode() & 0o777;
    if mode & foreign == 0 {
        return Ok(());
    }
    Err(NotOwn::Writable { path: path.to_owned(), mode }.into())
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}
