//! Replaces the key: all secrets are encrypted again in one transaction. An interruption at any point
//! leaves the old key in its place together with the new one, so that every secret can still be
//! decrypted.

use std::path::PathBuf;
use std::sync::Arc;

use onecall_core::storage::{Reencryption, UserSecretKey};

use super::UserVault;
use super::error::VaultError;
use super::key_file::{KeyFile, KeyFileLock};
use super::keys::{EncryptionKey, KeyRing};

/// What becomes of secrets that cannot be decrypted when the key is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreadableSecrets {
    /// They are an error, and nothing is changed.
    Fail,
    /// They are removed.
    Remove,
}

/// The result of a replaced key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// The id of the key that encrypts now.
    pub key_id: String,
    /// The number of secrets and logins that are encrypted with it.
    pub reencrypted: usize,
    /// The secrets and logins that were removed because they could not be decrypted.
    pub removed: Vec<UserSecretKey>,
    /// The key file, if it is not needed any more because the key is in the environment.
    pub unneeded_file: Option<PathBuf>,
}

impl UserVault {
    /// Encrypts all secrets with another key: a new one in the key file, or the first one in the
    /// environment variable.
    ///
    /// # Errors
    /// If a secret cannot be decrypted and is not to be removed, or the store or the key file cannot be
    /// written. Nothing is lost then.
    pub fn rotate(&self, unreadable: UnreadableSecrets) -> Result<Rotation, VaultError> {
        let lock = self.key_file.as_ref().map(KeyFile::lock_exclusive).transpose()?;
        match (&self.variable, &self.key_file) {
            (Some(_), file) => {
                let keys = self.read_keys()?;
                let mut rotation = self.reencrypt(&keys, unreadable)?;
                let file = file.as_ref().map(|file| file.path().to_owned());
                rotation.unneeded_file = file.filter(|path| path.exists());
                Ok(rotation)
            }
            (None, Some(file)) => self.rotate_file(file, unreadable, lock),
            (None, None) => Err(VaultError::NoKeyFile),
        }
    }

    fn rotate_file(
        &self,
        file: &KeyFile,
        unreadable: UnreadableSecrets,
        _lock: Option<KeyFileLock>,
    ) -> Result<Rotation, VaultError> {
        let old = file.read()?;
        let is_first = old.is_empty();
        let keys: Vec<EncryptionKey> =
            [EncryptionKey::generate()?].into_iter().chain(old).collect();
        // The new key must be on disk before anything is encrypted with it.
        file.write(&keys)?;
        let keys = self.keep(KeyRing::new(keys));
        match self.reencrypt(&keys, unreadable) {
            Ok(rotation) => {
                file.write(keys.first())?;
                Ok(rotation)
            }
            Err(error) => {
                // Nothing is encrypted with the new key. If it cannot be removed, it does no harm.
                let _ = match is_first {
                    true => file.remove(),
                    false => file.write(keys.all_but_first()),
                };
                Err(error)
            }
        }
    }

    fn reencrypt(
        &self,
        keys: &Arc<KeyRing>,
        unreadable: UnreadableSecrets,
    ) -> Result<Rotation, VaultError> {
        let key_id = keys.first().ok_or(VaultError::NoKeyFile)?.id().to_owned();
        let (mut reencrypted, mut removed, mut failure) = (0, Vec::new(), None);
        self.store.reencrypt_user_secrets(&mut |stored| {
            let again = keys
                .open(&stored.key, &stored.content)
                .and_then(|value| keys.seal(&stored.key, &value));
            match again {
                Ok(content) => {
                    reencrypted += 1;
                    Reencryption::Replace(content)
                }
                Err(VaultError::UnknownKey { .. } | VaultError::Undecryptable { .. })
                    if unreadable == UnreadableSecrets::Remove =>
                {
                    removed.push(stored.key.clone());
                    Reencryption::Remove
                }
                Err(error) => {
                    failure = Some(error);
                    Reencryption::Abort
                }
            }
        })?;
        match failure {
            Some(error) => Err(error),
            None => Ok(Rotation { key_id, reencrypted, removed, unneeded_file: None }),
        }
    }
}
