//! The storage trait for secrets of users and their logins to servers. The store gets them encrypted,
//! and cannot read them.

use super::StoreError;
use crate::{Timestamp, UserName};

/// What a stored secret is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UserSecretKind {
    /// A value that a configuration refers to as `${user:NAME}`.
    Secret,
    /// The login of the user to a remote server.
    Login,
}

impl UserSecretKind {
    /// Every kind with its name in the store.
    const NAMES: [(&str, Self); 2] = [("secret", Self::Secret), ("login", Self::Login)];

    /// The name of the kind in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::Login => "login",
        }
    }

    /// The kind with this name in the store.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }
}

/// Identifies a stored secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserSecretKey {
    /// The user that the secret belongs to.
    pub user: UserName,
    /// What the secret is.
    pub kind: UserSecretKind,
    /// The name of the secret, or the digest of the server that the login is for.
    pub name: String,
}

/// An encrypted secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedSecret {
    /// The id of the encryption key.
    pub key_id: String,
    /// The nonce of the encryption, which no other secret has.
    pub nonce: Vec<u8>,
    /// The encrypted value.
    pub sealed: Vec<u8>,
}

/// A secret as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredUserSecret {
    /// Identifies the secret.
    pub key: UserSecretKey,
    /// The encrypted value.
    pub content: SealedSecret,
    /// Counts the changes of the secret.
    pub version: u64,
    /// When the secret was last set.
    pub changed: Timestamp,
}

/// Which stored secret a write may replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplacedVersion {
    /// Any version, or none.
    Any,
    /// Only this version; `None` means that there must be no such secret.
    Exactly(Option<u64>),
}

/// The outcome of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The secret was stored. Whether there was one before is in `replaced`.
    Written {
        /// Whether an earlier value was replaced.
        replaced: bool,
    },
    /// Another process has changed the secret in the meantime; nothing was written.
    Conflict,
}

/// What becomes of a secret when all of them are encrypted again.
pub enum Reencryption {
    /// The secret is replaced by this one.
    Replace(SealedSecret),
    /// The secret stays as it is.
    Keep,
    /// The secret is removed.
    Remove,
    /// Nothing is changed, neither this secret nor any other one.
    Abort,
}

/// The lock of a secret, which is released when this is dropped. If the process that has it ends, or
/// loses its connection to the store, the lock is released, too.
pub trait SecretLock: Send + Sync {}

/// Stores secrets of users. What a method writes is on disk when it returns.
pub trait UserSecretStore: Send + Sync {
    /// The secret with this key.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn user_secret(&self, key: &UserSecretKey) -> Result<Option<StoredUserSecret>, StoreError>;

    /// All secrets of a user, or of all users, in the order of their keys.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn user_secrets(&self, user: Option<&UserName>) -> Result<Vec<StoredUserSecret>, StoreError>;

    /// Stores a secret, if the version that it replaces is the expected one.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn put_user_secret(
        &self,
        key: &UserSecretKey,
        content: &SealedSecret,
        replaced: ReplacedVersion,
        now: Timestamp,
    ) -> Result<WriteOutcome, StoreError>;

    /// Removes these secrets if all of them exist. Returns the first one that does not exist; then
    /// nothing was removed.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn remove_user_secrets(
        &self,
        keys: &[UserSecretKey],
    ) -> Result<Option<UserSecretKey>, StoreError>;

    /// Removes every secret and login of a user, and returns how many there were.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn remove_secrets_of_user(&self, user: &UserName) -> Result<u64, StoreError>;

    /// Encrypts all secrets again, in one transaction. The versions and dates of the secrets stay the
    /// same.
    ///
    /// # Errors
    /// If the store cannot be written; nothing was changed then.
    fn reencrypt_user_secrets(
        &self,
        reencrypt: &mut dyn FnMut(&StoredUserSecret) -> Reencryption,
    ) -> Result<(), StoreError>;

    /// Locks a secret against changes by others who lock it, in this process or another one, and does not
    /// wait for them: the result is `None` if the secret is locked already. Only those who lock it are kept
    /// out; the other methods of this trait ignore the lock.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn try_lock_secret(
        &self,
        key: &UserSecretKey,
    ) -> Result<Option<Box<dyn SecretLock>>, StoreError>;

    /// A number that changes whenever a secret may have changed, by any process.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn secrets_change_number(&self) -> Result<i64, StoreError>;
}
