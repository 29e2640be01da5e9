//! The users and tokens of the store, as a running gateway looks them up. What was looked up is kept in
//! memory until any process writes to the store, so a user or token that was removed elsewhere is
//! refused within a moment.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use onecall_core::storage::{StoreError, StoredToken, StoredUser, UserLogin, Users};
use onecall_core::{Digest, Timestamp, UserName};

/// How long what is in memory is used without asking the store whether something has changed.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// The use of a token is noted only if the last one was noted longer ago than this.
const USE_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// How many users and tokens are kept in memory.
const MAX_ENTRIES: usize = 10_000;

/// Looks users and tokens up.
pub(super) struct UserDirectory {
    store: Arc<dyn Users>,
    cache: Mutex<DirectoryCache>,
}

#[derive(Default)]
struct DirectoryCache {
    /// The change number of the store when the entries were read, if it is known.
    number: Option<i64>,
    checked: Option<Instant>,
    tokens: HashMap<Digest, (StoredToken, StoredUser)>,
    users: HashMap<UserName, UserLogin>,
}

impl DirectoryCache {
    /// Forgets everything if the store has changed.
    fn set_number(&mut self, number: Option<i64>) {
        if number.is_none() || self.number != number {
            *self = Self { number, checked: self.checked, ..Self::default() };
        }
    }

    /// Whether an entry that was read while the store had this number may be kept.
    fn may_keep(&mut self, number: Option<i64>) -> bool {
        if self.tokens.len() + self.users.len() >= MAX_ENTRIES {
            self.tokens.clear();
            self.users.clear();
        }
        number.is_some() && self.number == number
    }
}

impl UserDirectory {
    pub(super) fn new(store: Arc<dyn Users>) -> Self {
        Self { store, cache: Mutex::default() }
    }

    /// The token with this digest and its user, if the token can be used.
    pub(super) async fn token(
        &self,
        digest: Digest,
        now: Timestamp,
    ) -> Result<Option<(StoredToken, StoredUser)>, StoreError> {
        let number = self.check_for_changes().await;
        let known = self.lock().tokens.get(&digest).cloned();
        let found = match known {
            Some(known) => Some(known),
            None => {
                let found = self.with_store(move |store| store.token(&digest)).await?;
                let mut cache = self.lock();
                if let Some(found) = &found
                    && cache.may_keep(number)
                {
                    cache.tokens.insert(digest, found.clone());
                }
                found
            }
        };
        let Some((token, user)) = found.filter(|(token, _)| token.expires > now) else {
            return Ok(None);
        };
        if token.last_used.is_none_or(|last| now.since(last) >= USE_INTERVAL) {
            self.note_use(&token, now);
        }
        Ok(Some((token, user)))
    }

    /// Registers a login through the identity provider.
    pub(super) async fn log_in(
        &self,
        name: &UserName,
        now: Timestamp,
    ) -> Result<UserLogin, StoreError> {
        let number = self.check_for_changes().await;
        if let Some(known) = self.lock().users.get(name) {
            return Ok(known.clone());
        }
        let user = name.clone();
        let login = self.with_store(move |store| store.log_in(&user, now)).await?;
        let mut cache = self.lock();
        if cache.may_keep(number) {
            cache.users.insert(name.clone(), login.clone());
        }
        Ok(login)
    }

    /// Whether a user has been removed. A user who is not known has not.
    pub(super) async fn is_removed(&self, name: &UserName) -> Result<bool, StoreError> {
        self.check_for_changes().await;
        if let Some(known) = self.lock().users.get(name) {
            return Ok(*known == UserLogin::Removed);
        }
        let name = name.clone();
        let user = self.with_store(move |store| store.user(&name)).await?;
        Ok(user.is_some_and(|user| user.removed.is_some()))
    }

    fn lock(&self) -> MutexGuard<'_, DirectoryCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what is in memory if the store has changed. Returns the number that entries which are
    /// read from now on belong to.
    async fn check_for_changes(&self) -> Option<i64> {
        {
            let mut cache = self.lock();
            if cache.checked.is_some_and(|at| at.elapsed() < CHECK_INTERVAL) {
                return cache.number;
            }
            cache.checked = Some(Instant::now());
        }
        // If it cannot be read, nothing is kept.
        let number = self.with_store(|store| store.users_change_number()).await.ok();
        self.lock().set_number(number);
        number
    }

    /// Notes the use of a token. The request does not wait for it.
    fn note_use(&self, token: &StoredToken, now: Timestamp) {
        if let Some((known, _)) = self.lock().tokens.get_mut(&token.digest) {
            known.last_used = Some(now);
        }
        let (store, id) = (Arc::clone(&self.store), token.id.clone());
        tokio::task::spawn_blocking(move || {
            if let Err(error) = store.note_token_use(&id, now) {
                tracing::debug!("the use of token {id} is not noted: {error}");
            }
        });
    }

    async fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Users) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = Arc::clone(&self.store);
        match tokio::task::spawn_blocking(move || work(store.as_ref())).await {
            Ok(result) => result,
            Err(_) => Err(StoreError::Disabled { reason: "onecall is ending".to_owned() }),
        }
    }
}
