//! The vault with secrets of users and their logins to servers. They are encrypted in the store; the
//! key is in the environment or in a file that only the owner of the gateway can read.

mod error;
mod key_file;
mod keys;
mod login_versions;
mod logins;
mod rotation;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use onecall_config::Directories;
use onecall_core::storage::{
    ReplacedVersion, StoredUserSecret, UserSecretKey, UserSecretKind, UserSecretStore, WriteOutcome,
};
use onecall_core::{Secret, Timestamp, UserName};

pub use error::VaultError;
pub use key_file::key_file_path;
use key_file::{KeyFile, KeyFileLock};
pub use keys::KEY_VARIABLE;
use keys::{EncryptionKey, KeyRing};
use login_versions::LoginVersions;
pub(crate) use login_versions::SealedVersion;
pub use rotation::{Rotation, UnreadableSecrets};

/// Is called with each value that is handed out, so that records and logs can leave it out.
pub type SecretObserver = Arc<dyn Fn(HandedOut, &Secret) + Send + Sync>;

/// What a value is that is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandedOut {
    /// A secret of a user. Its number is that of the stored secrets.
    Secret,
    /// A token of a login, which is replaced from time to time.
    Token,
    /// The secret part of a link to the login page, which is used for minutes.
    Link,
}

/// The vault of a gateway. Its methods block for a short time.
pub struct UserVault {
    store: Arc<dyn UserSecretStore>,
    /// The value of the environment variable with keys, if it is set.
    variable: Option<Secret>,
    /// The file with keys; `None` if the user has no state directory.
    key_file: Option<KeyFile>,
    /// Whether the logins of the local user are in the vault, too.
    keeps_local_logins: bool,
    login_versions: Arc<LoginVersions>,
    /// The keys that were read last.
    keys: Mutex<Arc<KeyRing>>,
    observer: OnceLock<SecretObserver>,
}

/// The name and date of a secret, without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretEntry {
    /// Identifies the secret.
    pub key: UserSecretKey,
    /// When the secret was last set.
    pub changed: Timestamp,
    /// Whether the key that it is encrypted with is known.
    pub is_readable: bool,
}

/// A value that was stored.
struct SealedWrite {
    /// Whether it replaces another value.
    is_replacement: bool,
    nonce: Vec<u8>,
}

/// Keys that stay in use until this is dropped.
struct SealingKeys {
    keys: Arc<KeyRing>,
    _lock: Option<KeyFileLock>,
}

impl UserVault {
    /// The vault in `store`. The key is the one in the environment of this process, or else in the file
    /// below the state directory.
    #[must_use]
    pub fn new(store: Arc<dyn UserSecretStore>, directories: &Directories) -> Self {
        let variable = std::env::var(KEY_VARIABLE).ok();
        Self::with_keys(store, variable.map(Secret::new), directories)
    }

    fn with_keys(
        store: Arc<dyn UserSecretStore>,
        variable: Option<Secret>,
        directories: &Directories,
    ) -> Self {
        let variable = variable.filter(|text| !text.reveal().trim().is_empty());
        let key_file = KeyFile::of(directories);
        let login_versions = LoginVersions::new(Arc::clone(&store));
        Self {
            store,
            variable,
            key_file,
            keeps_local_logins: false,
            login_versions,
            keys: Mutex::default(),
            observer: OnceLock::new(),
        }
    }

    /// Keeps the logins of the local user in the vault, too, where other machines find them. Otherwise they
    /// are in files.
    #[must_use]
    pub fn with_local_logins(self) -> Self {
        Self { keeps_local_logins: true, ..self }
    }

    /// Whether the logins of the local user are in the vault.
    pub(crate) fn keeps_local_logins(&self) -> bool {
        self.keeps_local_logins
    }

    /// Calls `observer` with each value that is handed out from now on. Only the first observer is kept.
    pub fn set_observer(&self, observer: SecretObserver) {
        // A second observer would be a mistake of the caller, and the first one still works.
        let _ = self.observer.set(observer);
    }

    /// The secret of a user with this name.
    ///
    /// # Errors
    /// If the secret exists and cannot be decrypted, or the store cannot be read.
    pub fn secret(&self, user: &UserName, name: &str) -> Result<Option<Secret>, VaultError> {
        let Some(stored) = self.store.user_secret(&secret_key(user, name))? else {
            return Ok(None);
        };
        let value = self.decrypt(&stored)?;
        self.observe(HandedOut::Secret, &value);
        Ok(Some(value))
    }

    /// Stores a secret of a user; returns whether it replaces an earlier one. The caller has checked
    /// name and value.
    ///
    /// # Errors
    /// If there is no usable key, or the store cannot be written.
    pub fn set_secret(
        &self,
        user: &UserName,
        name: &str,
        value: &Secret,
    ) -> Result<bool, VaultError> {
        Ok(self.seal(&secret_key(user, name), value, ReplacedVersion::Any)?.is_replacement)
    }

    /// Removes secrets of a user, all of them or none.
    ///
    /// # Errors
    /// If there is no secret with one of these names, or the store cannot be written.
    pub fn remove_secrets(&self, user: &UserName, names: &[String]) -> Result<(), VaultError> {
        let keys: Vec<UserSecretKey> = names.iter().map(|name| secret_key(user, name)).collect();
        match self.store.remove_user_secrets(&keys)? {
            None => Ok(()),
            Some(key) => Err(VaultError::Unknown { key }),
        }
    }

    /// Removes every secret and login of a user; returns how many there were.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn remove_user(&self, user: &UserName) -> Result<u64, VaultError> {
        Ok(self.store.remove_secrets_of_user(user)?)
    }

    /// The secrets and logins of a user, or of all users, without their values.
    ///
    /// # Errors
    /// If the store or a key cannot be read.
    pub fn entries(&self, user: Option<&UserName>) -> Result<Vec<SecretEntry>, VaultError> {
        let stored = self.store.user_secrets(user)?;
        if stored.is_empty() {
            return Ok(Vec::new());
        }
        let keys = self.read_keys()?;
        let entry = |stored: StoredUserSecret| SecretEntry {
            is_readable: keys.has(&stored.content.key_id),
            key: stored.key,
            changed: stored.changed,
        };
        Ok(stored.into_iter().map(entry).collect())
    }

    /// Encrypts a value and stores it.
    fn seal(
        &self,
        key: &UserSecretKey,
        value: &Secret,
        replaced: ReplacedVersion,
    ) -> Result<SealedWrite, VaultError> {
        let sealing = self.sealing_keys()?;
        let content = sealing.keys.seal(key, value.reveal().as_bytes())?;
        match self.store.put_user_secret(key, &content, replaced, Timestamp::now())? {
            WriteOutcome::Written { replaced: is_replacement } => {
                Ok(SealedWrite { is_replacement, nonce: content.nonce })
            }
            WriteOutcome::Conflict => Err(VaultError::Conflict { key: key.clone() }),
        }
    }

    /// A text that changes whenever one of these secrets is set or removed, but not when the key is
    /// replaced.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn secrets_version<'n>(
        &self,
        user: &UserName,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<String, VaultError> {
        let mut version = String::new();
        for name in names {
            if let Some(stored) = self.store.user_secret(&secret_key(user, name))? {
                version.push_str(&format!("{name}={}@{};", stored.version, stored.changed.0));
            }
        }
        Ok(version)
    }

    /// Calls the observer with a value that is handed out.
    pub fn observe(&self, what: HandedOut, value: &Secret) {
        if let Some(observer) = self.observer.get() {
            observer(what, value);
        }
    }

    fn decrypt(&self, stored: &StoredUserSecret) -> Result<Secret, VaultError> {
        let StoredUserSecret { key, content, .. } = stored;
        let mut keys = Arc::clone(&self.keys.lock().unwrap_or_else(PoisonError::into_inner));
        if !keys.has(&content.key_id) {
            // Another process may have made the key.
            keys = self.read_keys()?;
        }
        let value = keys.open(key, content)?;
        let value = String::from_utf8(value);
        value.map(Secret::new).map_err(|_| VaultError::Undecryptable { key: key.clone() })
    }

    /// Reads the keys: those of the environment first, then those of the file.
    fn read_keys(&self) -> Result<Arc<KeyRing>, VaultError> {
        let mut keys =
            self.variable.as_ref().map_or_else(|| Ok(Vec::new()), keys::parse_variable)?;
        if let Some(file) = &self.key_file {
            keys.extend(file.read()?);
        }
        Ok(self.keep(KeyRing::new(keys)))
    }

    fn keep(&self, keys: KeyRing) -> Arc<KeyRing> {
        let keys = Arc::new(keys);
        *self.keys.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&keys);
        keys
    }

    /// The keys to encrypt with. They are read again, because another process may have replaced them.
    fn sealing_keys(&self) -> Result<SealingKeys, VaultError> {
        let Some(file) = &self.key_file else {
            let keys = self.read_keys()?;
            keys.first().ok_or(VaultError::NoKeyFile)?;
            return Ok(SealingKeys { keys, _lock: None });
        };
        let lock = file.lock_shared()?;
        let keys = self.read_keys()?;
        if keys.first().is_some() {
            return Ok(SealingKeys { keys, _lock: Some(lock) });
        }
        drop(lock);
        self.create_key(file)?;
        // Between the two locks the key may have been replaced, but not removed.
        let lock = file.lock_shared()?;
        Ok(SealingKeys { keys: self.read_keys()?, _lock: Some(lock) })
    }

    /// Makes the first key. A key is not made if there are secrets already: they are encrypted with
    /// another one, which is missing.
    fn create_key(&self, file: &KeyFile) -> Result<(), VaultError> {
        let _lock = file.lock_exclusive()?;
        if !file.read()?.is_empty() {
            return Ok(());
        }
        let count = self.store.user_secrets(None)?.len();
        if count > 0 {
            return Err(VaultError::LostKey { path: file.path().to_owned(), count });
        }
        file.write([&EncryptionKey::generate()?])
    }
}

impl fmt::Debug for UserVault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("UserVault").finish_non_exhaustive()
    }
}

fn secret_key(user: &UserName, name: &str) -> UserSecretKey {
    UserSecretKey { user: user.clone(), kind: UserSecretKind::Secret, name: name.to_owned() }
}
