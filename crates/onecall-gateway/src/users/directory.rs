//! The users and tokens of the store, as a running gateway looks them up. What was looked up is kept in
//! memory until any process writes to the store, so a user or token that was removed elsewhere is
//! refused within a moment.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use onecall_core::storage::{StoreError, StoredToken, StoredUser, UserLogin, Users};
use onecall_core::{Digest, Timestamp, UserName};

use super::earlier_entries::EarlierEntries;

/// How long what is in memory is used without asking the store whether something has changed.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// The use of a token is noted only if the last one was noted longer ago than this.
const USE_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// How many users and tokens are kept in memory.
const MAX_ENTRIES: usize = 10_000;

/// How long users and tokens are accepted that were known when the store was last reached, while it cannot be
/// reached: a user who is removed meanwhile is refused after this time at the latest.
const GRACE: Duration = Duration::from_secs(2 * 60);

/// How often it is looked whether the store has changed, even if no request comes: what is known is only as old
/// as that when the store cannot be reached any more.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// Looks users and tokens up.
pub(super) struct UserDirectory {
    store: Arc<dyn Users>,
    cache: Mutex<DirectoryCache>,
    /// How long what is known is used while the store cannot be reached.
    grace: Duration,
}

#[derive(Default)]
struct DirectoryCache {
    /// The change number of the store when the entries were read, if it is known.
    number: Option<i64>,
    checked: Option<Instant>,
    tokens: HashMap<Digest, (StoredToken, StoredUser)>,
    users: HashMap<UserName, UserLogin>,
    /// What the store has about these users; `None` if it does not know the user.
    found: HashMap<UserName, Option<StoredUser>>,
    /// When the entries were known to be what the store has.
    confirmed: Option<Instant>,
    /// Entries of before the last changes, for as long as the store cannot be reached.
    earlier: EarlierEntries,
}

impl DirectoryCache {
    /// Forgets everything if the store has changed. What was known is kept aside for `grace`.
    fn set_number(&mut self, number: Option<i64>, grace: Duration) {
        if number.is_none() || self.number != number {
            if let Some(at) = self.confirmed.take() {
                let earlier = &mut self.earlier;
                earlier.trim(grace, 2 * MAX_ENTRIES);
                earlier.tokens.extend(self.tokens.drain().map(|(key, it)| (key, (at, it))));
                earlier.users.extend(self.users.drain().map(|(key, it)| (key, (at, it))));
                earlier.found.extend(self.found.drain().map(|(key, it)| (key, (at, it))));
            }
            let earlier = std::mem::take(&mut self.earlier);
            *self = Self { number, checked: self.checked, earlier, ..Self::default() };
        }
        self.confirmed = number.map(|_| Instant::now());
    }

    /// Whether an entry may be kept that was read while the store had this number.
    fn may_keep(&mut self, number: Option<i64>, is_current: IsCurrent) -> bool {
        if self.tokens.len() + self.users.len() + self.found.len() >= MAX_ENTRIES {
            (self.tokens, self.users, self.found) = Default::default();
        }
        is_current.0 && number.is_some() && self.number == number
    }
}

impl UserDirectory {
    pub(super) fn new(store: Arc<dyn Users>) -> Self {
        Self::with_grace(store, GRACE)
    }

    fn with_grace(store: Arc<dyn Users>, grace: Duration) -> Self {
        Self { store, cache: Mutex::default(), grace }
    }

    /// Looks whether the store has changed, for as long as the directory is used.
    pub(super) async fn watch(directory: Weak<Self>) {
        loop {
            tokio::time::sleep(WATCH_INTERVAL).await;
            let Some(directory) = directory.upgrade() else { return };
            directory.check_for_changes().await;
        }
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
                let found = self.with_store(move |store| store.token(&digest)).await;
                let (found, is_current) = self.or_earlier(
                    found,
                    |it| it.tokens.remove(&digest).map(some),
                    |it, at, found| {
                        it.tokens.extend(found.map(|found| (digest, (at, found))));
                    },
                )?;
                let mut cache = self.lock();
                if let Some(found) = &found
                    && cache.may_keep(number, is_current)
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

    /// Registers a login through the identity provider, which gives the user these groups.
    pub(super) async fn log_in(
        &self,
        name: &UserName,
        groups: &BTreeSet<String>,
        now: Timestamp,
    ) -> Result<UserLogin, StoreError> {
        let number = self.check_for_changes().await;
        if let Some(known) = self.lock().users.get(name).filter(|it| has_groups(it, groups)) {
            return Ok(known.clone());
        }
        let (user, of_user) = (name.clone(), groups.clone());
        let login = self.with_store(move |store| store.log_in(&user, &of_user, now)).await;
        let (login, is_current) = self.or_earlier(
            login,
            |it| it.users.remove(name).filter(|(_, login)| has_groups(login, groups)),
            |it, at, login| _ = it.users.insert(name.clone(), (at, login)),
        )?;
        let mut cache = self.lock();
        if cache.may_keep(number, is_current) {
            cache.users.insert(name.clone(), login.clone());
        }
        Ok(login)
    }

    /// Whether a user has been removed. A user who is not known has not.
    pub(super) async fn is_removed(&self, name: &UserName) -> Result<bool, StoreError> {
        Ok(self.user(name).await?.is_some_and(|user| user.removed.is_some()))
    }

    /// The user with this name, removed or not, if the user is known.
    pub(super) async fn user(&self, name: &UserName) -> Result<Option<StoredUser>, StoreError> {
        let number = self.check_for_changes().await;
        if let Some(known) = self.lock().found.get(name) {
            return Ok(known.clone());
        }
        let user = name.clone();
        let user = self.with_store(move |store| store.user(&user)).await;
        let (user, is_current) = self.or_earlier(
            user,
            |it| it.found.remove(name),
            |it, at, user| _ = it.found.insert(name.clone(), (at, user)),
        )?;
        let mut cache = self.lock();
        if cache.may_keep(number, is_current) {
            cache.found.insert(name.clone(), user.clone());
        }
        Ok(user)
    }

    /// What was read, which replaces what was known before, or else that, if the store cannot be reached.
    fn or_earlier<T>(
        &self,
        read: Result<T, StoreError>,
        take: impl FnOnce(&mut EarlierEntries) -> Option<(Instant, T)>,
        put_back: impl FnOnce(&mut EarlierEntries, Instant, T),
    ) -> Result<(T, IsCurrent), StoreError>
    where
        T: Clone,
    {
        let mut cache = self.lock();
        match read {
            Ok(read) => {
                take(&mut cache.earlier);
                Ok((read, IsCurrent(true)))
            }
            Err(error) if error.is_temporary() => {
                let known = take(&mut cache.earlier).filter(|(at, _)| at.elapsed() < self.grace);
                let (at, known) = known.ok_or(error)?;
                put_back(&mut cache.earlier, at, known.clone());
                Ok((known, IsCurrent(false)))
            }
            Err(error) => Err(error),
        }
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
        self.lock().set_number(number, self.grace);
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

/// Whether something is what the store has now. If it is not, it must not be taken for confirmed later.
#[derive(Clone, Copy)]
struct IsCurrent(bool);

/// A token that the store has.
fn some<T>((at, found): (Instant, T)) -> (Instant, Option<T>) {
    (at, Some(found))
}

/// Whether a login need not be stored, because the groups of the user are known.
fn has_groups(login: &UserLogin, groups: &BTreeSet<String>) -> bool {
    match login {
        UserLogin::Accepted(user) => user.provider_groups == *groups,
        UserLogin::Removed | UserLogin::SimilarName(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering::SeqCst};

    use onecall_core::storage::{Outage, TokenAddition, UserAddition, UserRemoval, UserSource};

    use super::*;

    /// A store with one user, who has one token and may be removed.
    #[derive(Default)]
    struct FakeStore {
        number: AtomicI64,
        reads: AtomicUsize,
        uses: AtomicUsize,
        is_removed: Mutex<bool>,
        /// Whether the store cannot be reached.
        is_down: AtomicBool,
    }

    impl FakeStore {
        fn remove(&self) {
            *self.is_removed.lock().unwrap() = true;
            self.number.fetch_add(1, SeqCst);
        }

        /// The error while the store cannot be reached.
        fn check(&self) -> Result<(), StoreError> {
            let (store, cause) = (String::new(), "no connection".into());
            match self.is_down.load(SeqCst) {
                true => Err(StoreError::Unreachable { store, outage: Outage::NotDone, cause }),
                false => Ok(()),
            }
        }

        fn read(&self) -> StoredUser {
            self.reads.fetch_add(1, SeqCst);
            StoredUser {
                name: anna(),
                source: UserSource::Added,
                groups: BTreeSet::new(),
                provider_groups: BTreeSet::new(),
                created: Timestamp(1),
                last_seen: None,
                removed: self.is_removed.lock().unwrap().then_some(Timestamp(2)),
            }
        }
    }

    impl Users for FakeStore {
        fn add_user(
            &self,
            _: &UserName,
            _: &BTreeSet<String>,
            _: Timestamp,
        ) -> Result<UserAddition, StoreError> {
            Ok(UserAddition::Updated)
        }

        fn log_in(
            &self,
            _: &UserName,
            _: &BTreeSet<String>,
            _: Timestamp,
        ) -> Result<UserLogin, StoreError> {
            self.check()?;
            let user = self.read();
            Ok(match user.removed {
                Some(_) => UserLogin::Removed,
                None => UserLogin::Accepted(user),
            })
        }

        fn remove_user(&self, _: &UserName, _: Timestamp) -> Result<UserRemoval, StoreError> {
            Ok(UserRemoval::Unknown)
        }

        fn user(&self, _: &UserName) -> Result<Option<StoredUser>, StoreError> {
            self.check()?;
            Ok(Some(self.read()))
        }

        fn users(&self) -> Result<Vec<StoredUser>, StoreError> {
            Ok(vec![self.read()])
        }

        fn add_token(&self, _: &StoredToken) -> Result<TokenAddition, StoreError> {
            Ok(TokenAddition::UnknownUser)
        }

        fn token(&self, digest: &Digest) -> Result<Option<(StoredToken, StoredUser)>, StoreError> {
            self.check()?;
            let user = self.read();
            let token = StoredToken {
                id: "id".to_owned(),
                user: anna(),
                digest: *digest,
                label: String::new(),
                created: Timestamp(1),
                expires: Timestamp(1_000),
                last_used: None,
            };
            Ok((user.removed.is_none() && *digest == Digest::of("token")).then_some((token, user)))
        }

        fn tokens(&self, _: Option<&UserName>) -> Result<Vec<StoredToken>, StoreError> {
            Ok(Vec::new())
        }

        fn revoke_token(&self, _: &str) -> Result<bool, StoreError> {
            Ok(false)
        }

        fn note_token_use(&self, _: &str, _: Timestamp) -> Result<(), StoreError> {
            self.uses.fetch_add(1, SeqCst);
            Ok(())
        }

        fn users_change_number(&self) -> Result<i64, StoreError> {
            // Without notifications, everything may have changed.
            let change = i64::from(self.is_down.load(SeqCst));
            Ok(self.number.fetch_add(change, SeqCst) + change)
        }
    }

    fn anna() -> UserName {
        UserName::parse("anna").unwrap()
    }

    #[tokio::test]
    async fn the_store_is_read_once_until_it_changes() {
        let store = Arc::new(FakeStore::default());
        let directory = UserDirectory::new(store.clone());
        let now = Timestamp(500);
        for _ in 0..100 {
            assert!(directory.token(Digest::of("token"), now).await.unwrap().is_some());
            assert!(matches!(
                directory.log_in(&anna(), &BTreeSet::new(), now).await.unwrap(),
                UserLogin::Accepted(_)
            ));
            assert!(!directory.is_removed(&anna()).await.unwrap());
        }
        assert_eq!(store.reads.load(SeqCst), 3);
        store.remove();
        while directory.token(Digest::of("token"), now).await.unwrap().is_some() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(
            directory.log_in(&anna(), &BTreeSet::new(), now).await.unwrap(),
            UserLogin::Removed
        );
        assert!(directory.is_removed(&anna()).await.unwrap());
    }

    /// A token, a login and a user of before are accepted while the store cannot be reached, for a time.
    #[tokio::test]
    async fn what_was_known_is_used_for_a_time_while_the_store_cannot_be_reached() {
        let (grace, now) = (Duration::from_millis(700), Timestamp(500));
        let store = Arc::new(FakeStore::default());
        let directory = UserDirectory::with_grace(store.clone(), grace);
        let lookups = async || {
            let token = directory.token(Digest::of("token"), now).await.map(|it| it.is_some());
            let login = directory.log_in(&anna(), &BTreeSet::new(), now).await;
            let user = directory.is_removed(&anna()).await;
            (token.ok(), login.is_ok(), user.ok())
        };
        let known = (Some(true), true, Some(false));
        assert_eq!(lookups().await, known);
        let begun = Instant::now();
        store.is_down.store(true, SeqCst);
        // The removal cannot be noticed.
        store.remove();
        assert_eq!(lookups().await, known);
        let mut answer = known;
        while answer != (None, false, None) {
            assert!(begun.elapsed() < 20 * grace, "{answer:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
            answer = lookups().await;
        }
        assert!(begun.elapsed() >= grace);
        // A token that was not known is not accepted, and neither are other groups.
        assert!(directory.token(Digest::of("other"), now).await.is_err());
        store.is_down.store(false, SeqCst);
        tokio::time::sleep(CHECK_INTERVAL).await;
        assert_eq!(lookups().await, (Some(false), true, Some(true)));
    }

    #[tokio::test]
    async fn an_expired_token_is_refused_although_it_is_in_memory() {
        let directory = UserDirectory::new(Arc::new(FakeStore::default()));
        let found = async |digest: Digest, now: i64| {
            directory.token(digest, Timestamp(now)).await.unwrap().is_some()
        };
        assert!(found(Digest::of("token"), 999).await);
        assert!(!found(Digest::of("token"), 1_000).await);
        assert!(!found(Digest::of("other"), 1).await);
    }

    #[tokio::test]
    async fn the_use_of_a_token_is_noted_once() {
        let store = Arc::new(FakeStore::default());
        let directory = UserDirectory::new(store.clone());
        for now in 500..510 {
            directory.token(Digest::of("token"), Timestamp(now)).await.unwrap();
        }
        while store.uses.load(SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(store.uses.load(SeqCst), 1);
    }

    #[test]
    fn what_was_read_before_a_change_is_not_kept() {
        let mut cache = DirectoryCache::default();
        assert!(!cache.may_keep(None, IsCurrent(true)));
        cache.set_number(Some(1), GRACE);
        assert!(cache.may_keep(Some(1), IsCurrent(true)));
        cache.found.insert(anna(), None);
        cache.set_number(Some(2), GRACE);
        assert!(!cache.may_keep(Some(1), IsCurrent(true)));
        assert!(cache.found.is_empty());
        // Without a number, changes could not be noticed.
        cache.set_number(None, GRACE);
        assert!(!cache.may_keep(None, IsCurrent(true)));
    }
}
