//! Locks of secrets for processes on one machine: files beside the store that are locked.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use onecall_config::{check_own_file, check_own_folder};
use onecall_core::DigestBuilder;
use onecall_core::storage::{SecretLock, UserSecretKey};

/// The folder of lock files, beside the store.
const FOLDER: &str = "logins";

/// The permissions of new files and folders: only the owner has access.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// A locked file. The lock is released when the file is closed.
struct LockedFile(#[expect(dead_code, reason = "only keeps the file open")] File);

impl SecretLock for LockedFile {}

/// Locks the file of a secret in the store at `store`; `None` if it is locked already.
pub(super) fn try_lock(
    store: &Path,
    key: &UserSecretKey,
) -> io::Result<Option<Box<dyn SecretLock>>> {
    let mut digest = DigestBuilder::default();
    [key.user.as_str(), key.kind.name(), &key.name].iter().for_each(|it| digest.add_part(it));
    let folder = store.parent().unwrap_or(Path::new(".")).join(FOLDER);
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(&folder)?;
    check_own_folder(&folder)?;
    if fs::metadata(&folder)?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(&folder, fs::Permissions::from_mode(FOLDER_MODE))?;
    }
    let path = folder.join(format!("user-{}.lock", digest.finish()));
    check_own_file(&path)?;
    let file = OpenOptions::new().create(true).append(true).mode(FILE_MODE).open(&path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Box::new(LockedFile(file)))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
