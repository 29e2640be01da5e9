//! Logins in the vault, with their versions and locks.

use onecall_core::Secret;
use onecall_core::storage::{ReplacedVersion, SecretLock, UserSecretKey};

use super::{SealedVersion, UserVault, VaultError};

impl UserVault {
    /// The version of a login that was last seen; `None` if none was read yet. This never waits for the
    /// store.
    pub(crate) fn last_seen_login(&self, key: &UserSecretKey) -> Option<SealedVersion> {
        self.login_versions.last_seen(key)
    }

    /// Reads which version of a login is stored, and its number.
    pub(crate) fn stored_login(
        &self,
        key: &UserSecretKey,
    ) -> Result<(SealedVersion, Option<u64>), VaultError> {
        let stored = self.store.user_secret(key)?;
        let number = stored.as_ref().map(|stored| stored.version);
        let version = stored.map(|stored| SealedVersion::Nonce(stored.content.nonce));
        let version = version.unwrap_or(SealedVersion::Missing);
        self.login_versions.note(key, version.clone());
        Ok((version, number))
    }

    /// Decrypts a login, if there is one.
    pub(crate) fn open_login(
        &self,
        key: &UserSecretKey,
    ) -> Result<(SealedVersion, Option<Secret>), VaultError> {
        let Some(stored) = self.store.user_secret(key)? else {
            self.login_versions.note(key, SealedVersion::Missing);
            return Ok((SealedVersion::Missing, None));
        };
        let value = self.decrypt(&stored)?;
        let version = SealedVersion::Nonce(stored.content.nonce);
        self.login_versions.note(key, version.clone());
        Ok((version, Some(value)))
    }

    /// Encrypts a login and stores it, if the version that it replaces is the expected one.
    pub(crate) fn seal_login(
        &self,
        key: &UserSecretKey,
        value: &Secret,
        replaced: ReplacedVersion,
    ) -> Result<SealedVersion, VaultError> {
        let version = SealedVersion::Nonce(self.seal(key, value, replaced)?.nonce);
        self.login_versions.note(key, version.clone());
        Ok(version)
    }

    /// Removes a login, if there is one.
    pub(crate) fn remove_login(&self, key: &UserSecretKey) -> Result<(), VaultError> {
        self.store.remove_user_secrets(std::slice::from_ref(key))?;
        self.login_versions.note(key, SealedVersion::Missing);
        Ok(())
    }

    /// Locks a login, unless it is locked already.
    pub(crate) fn try_lock(
        &self,
        key: &UserSecretKey,
    ) -> Result<Option<Box<dyn SecretLock>>, VaultError> {
        Ok(self.store.try_lock_secret(key)?)
    }
}
