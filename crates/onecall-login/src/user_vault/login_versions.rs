//! Which versions of logins are stored, as far as this process knows. A request asks for the version of
//! its login each time, so the answer comes from memory; it is read again in the background, and is at
//! most about a second old.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use onecall_core::storage::{StoreError, UserSecretKey, UserSecretStore};
use tokio::runtime::Handle;

/// How long a version is used without asking the store whether something has changed.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// How many versions are kept in memory.
const MAX_ENTRIES: usize = 10_000;

/// Identifies what is stored of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SealedVersion {
    /// There is no login.
    Missing,
    /// The nonce of the encryption, which no two versions share.
    Nonce(Vec<u8>),
}

/// The versions of logins that were last seen in a store.
pub(super) struct LoginVersions {
    store: Arc<dyn UserSecretStore>,
    known: Mutex<HashMap<UserSecretKey, KnownVersion>>,
}

/// A version that was seen.
#[derive(Clone, Debug, Default)]
struct KnownVersion {
    /// The version; `None` if it was not read yet.
    version: Option<SealedVersion>,
    /// The change number of the store when it was read; `None` if it has to be read again.
    number: Option<i64>,
    checked: Option<Instant>,
    is_being_checked: bool,
}

impl LoginVersions {
    pub(super) fn new(store: Arc<dyn UserSecretStore>) -> Arc<Self> {
        Arc::new(Self { store, known: Mutex::default() })
    }

    /// The version that was last seen; `None` if none was read yet. This does not wait for the store: if
    /// the version may be outdated, it is read in the background.
    pub(super) fn last_seen(self: &Arc<Self>, key: &UserSecretKey) -> Option<SealedVersion> {
        let mut known = self.lock();
        if known.len() >= MAX_ENTRIES && !known.contains_key(key) {
            known.clear();
        }
        let entry = known.entry(key.clone()).or_default();
        let is_recent = entry.checked.is_some_and(|at| at.elapsed() < CHECK_INTERVAL);
        if is_recent || entry.is_being_checked {
            return entry.version.clone();
        }
        let version = entry.version.clone();
        // A process without a runtime has nothing that a wait would hold up, and does not ask twice.
        if let Ok(runtime) = Handle::try_current() {
            entry.is_being_checked = true;
            drop(known);
            let (versions, key) = (Arc::clone(self), key.clone());
            runtime.spawn_blocking(move || versions.check(&key));
        }
        version
    }

    /// Notes a version that was just read or written.
    pub(super) fn note(&self, key: &UserSecretKey, version: SealedVersion) {
        let mut known = self.lock();
        let entry = known.entry(key.clone()).or_default();
        // It is not known to which change number it belongs.
        (entry.version, entry.number) = (Some(version), None);
    }

    /// Reads the version again if the store has changed.
    fn check(&self, key: &UserSecretKey) {
        let read = self.read_if_changed(key);
        let mut known = self.lock();
        let Some(entry) = known.get_mut(key) else { return };
        (entry.checked, entry.is_being_checked) = (Some(Instant::now()), false);
        match read {
            Ok(Some((number, version))) => {
                (entry.version, entry.number) = (Some(version), Some(number));
            }
            Ok(None) => {}
            Err(error) => tracing::debug!("the version of a login cannot be read: {error}"),
        }
    }

    fn read_if_changed(
        &self,
        key: &UserSecretKey,
    ) -> Result<Option<(i64, SealedVersion)>, StoreError> {
        // The number is read first, so that a change in the meantime is noticed the next time.
        let number = self.store.secrets_change_number()?;
        if self.lock().get(key).is_some_and(|entry| entry.number == Some(number)) {
            return Ok(None);
        }
        let stored = self.store.user_secret(key)?;
        let nonce = stored.map(|stored| SealedVersion::Nonce(stored.content.nonce));
        Ok(Some((number, nonce.unwrap_or(SealedVersion::Missing))))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<UserSecretKey, KnownVersion>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
