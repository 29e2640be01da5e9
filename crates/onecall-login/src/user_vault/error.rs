//! The errors of the vault. No message shows a value or a key.

use std::io;
use std::path::PathBuf;

use onecall_core::storage::{StoreError, UserSecretKey, UserSecretKind};
use onecall_core::text::shell_word;
use thiserror::Error;

use super::keys::KEY_VARIABLE;

/// Why secrets of users cannot be read or changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VaultError {
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is neither a key in the environment nor a place for a key file.
    #[error(
        "onecall cannot find your state directory, where the key for secrets of users is stored: set \
         HOME or XDG_STATE_HOME, or give a key in {KEY_VARIABLE}"
    )]
    NoKeyFile,
    /// A key in the environment is invalid.
    #[error(
        "key {position} in {KEY_VARIABLE} is not valid: a key is the base64 text of 32 bytes, as \
         `openssl rand -base64 32` prints it; several keys are separated by commas"
    )]
    InvalidVariable {
        /// Which of the keys in the variable, from 1.
        position: usize,
    },
    /// The key file cannot be read or written, or is not safe to use.
    #[error("cannot use the key for secrets of users in '{}': {reason}", path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// The error of the system, or why the file is not private to the user.
        reason: io::Error,
    },
    /// The content of the key file is invalid.
    #[error(
        "the key file '{}' is damaged; restore it from a backup, because secrets of users cannot be \
         decrypted without it", path.display()
    )]
    DamagedKeyFile {
        /// The file.
        path: PathBuf,
    },
    /// Encrypted secrets exist, but no key does.
    #[error(
        "the key for secrets of users is missing, and {count} of them are encrypted with it: restore \
         '{}' from a backup or give the key in {KEY_VARIABLE}; if the key is lost, \
         `onecall secrets rotate --remove-unreadable` removes them and makes a new key",
        path.display()
    )]
    LostKey {
        /// The key file that is missing.
        path: PathBuf,
        /// The number of secrets and logins in the store.
        count: usize,
    },
    /// A secret is encrypted with a key that this process does not have.
    #[error(
        "{} is encrypted with the key {key_id}, which onecall does not have: add that key to \
         {KEY_VARIABLE} after a comma, or restore the key file; if the key is lost, {}",
        described(key),
        replacement(key)
    )]
    UnknownKey {
        /// The secret.
        key: UserSecretKey,
        /// The id of its key.
        key_id: String,
    },
    /// A secret cannot be decrypted although its key is known.
    #[error(
        "{} cannot be decrypted: it was changed in the store, or belongs to another user or name; {}",
        described(key),
        replacement(key)
    )]
    Undecryptable {
        /// The secret.
        key: UserSecretKey,
    },
    /// Another process changed the secret at the same time.
    #[error("another process has changed {} in the meantime; try again", described(key))]
    Conflict {
        /// The secret.
        key: UserSecretKey,
    },
    /// There is no such secret.
    #[error("there is no secret '{}' of user '{}'; nothing was changed", key.name, key.user)]
    Unknown {
        /// The secret.
        key: UserSecretKey,
    },
    /// The system provides no random numbers.
    #[error("the system provides no random numbers, which encryption needs")]
    NoRandomness,
}

/// The name of a secret in messages.
fn described(key: &UserSecretKey) -> String {
    let UserSecretKey { user, kind, name } = key;
    match kind {
        UserSecretKind::Secret => format!("the secret {name} of user '{user}'"),
        UserSecretKind::Login if user.is_local() => "a login to a shared server".to_owned(),
        UserSecretKind::Login => format!("a login of user '{user}'"),
    }
}

/// How a secret that cannot be read is replaced.
fn replacement(key: &UserSecretKey) -> String {
    let user = shell_word(key.user.as_str());
    match key.kind {
        UserSecretKind::Secret => {
            format!("store it again with `onecall secrets set {} --user {user}`", key.name)
        }
        UserSecretKind::Login => {
            "`onecall secrets rotate --remove-unreadable` removes it, and a new login replaces it"
                .to_owned()
        }
    }
}
