//! The known keys of the identity provider. They stay in use while the provider cannot be reached, and
//! are fetched again from time to time, so that a key that the provider has withdrawn is forgotten.
//! A token with an unknown key has them fetched at once, but not again and again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use jsonwebtoken::Algorithm;
use onecall_core::BoxFuture;
use tokio::sync::watch;
use tokio::time::timeout;

use super::issuer::IssuerError;
use super::key_set::{KeySet, NoKey, PinnedKey};

/// How often keys are fetched.
#[derive(Clone, Copy, Debug)]
struct Intervals {
    /// The time between two fetches while the provider answers.
    refresh: Duration,
    /// The time from a failure to the next fetch.
    retry: Duration,
    /// The shortest time between two fetches because of unknown keys.
    on_demand: Duration,
}

impl Default for Intervals {
    fn default() -> Self {
        Self {
            refresh: Duration::from_secs(15 * 60),
            retry: Duration::from_secs(30),
            on_demand: Duration::from_secs(10),
        }
    }
}

/// How long a token waits for keys at most. A fetch has a shorter limit of its own.
const WAIT_TIMEOUT: Duration = Duration::from_secs(8);

/// Where keys come from.
pub(super) trait KeySource: Send + Sync {
    /// Fetches all keys.
    fn fetch(&self) -> BoxFuture<'_, Result<KeySet, IssuerError>>;

    /// The name of the issuer, for the log.
    fn name(&self) -> &str;
}

/// Why there is no key for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyError {
    /// The keys of the issuer do not fit the token.
    NoKey(NoKey),
    /// The key is not known, and the issuer could not be asked.
    Unavailable,
}

/// The known keys.
pub(super) struct KeyCache {
    source: Box<dyn KeySource>,
    intervals: Intervals,
    state: Mutex<CacheState>,
    /// Counts the fetches that have ended.
    fetches: watch::Sender<u64>,
}

#[derive(Default)]
struct CacheState {
    keys: Arc<KeySet>,
    is_fetching: bool,
    /// The error of the last fetch, if it failed.
    error: Option<String>,
    /// Whether a fetch has ended.
    has_fetched: bool,
    /// When an unknown key was last the reason for a fetch.
    last_on_demand: Option<Instant>,
}

impl KeyCache {
    /// Begins to fetch keys, now and from time to time. Must be called inside a tokio runtime.
    pub(super) fn start(source: Box<dyn KeySource>) -> Arc<Self> {
        Self::start_with(source, Intervals::default())
    }

    fn start_with(source: Box<dyn KeySource>, intervals: Intervals) -> Arc<Self> {
        let state = Mutex::new(CacheState { is_fetching: true, ..CacheState::default() });
        let cache = Arc::new(Self { source, intervals, state, fetches: watch::Sender::new(0) });
        tokio::spawn(Self::refresh(Arc::downgrade(&cache)));
        cache
    }

    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key for a token with this header. Waits for the issuer only if the key is not known.
    pub(super) async fn find(
        self: &Arc<Self>,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<PinnedKey, KeyError> {
        // A fetch that was under way may have begun before the issuer had the key.
        for _ in 0..2 {
            let mut fetches = self.fetches.subscribe();
            match self.find_known(id, algorithm) {
                Err(KeyError::NoKey(NoKey::Unknown) | KeyError::Unavailable) => {}
                found => return found,
            }
            if !self.fetch_on_demand() {
                break;
            }
            // In time or not: the keys that are known now decide.
            _ = timeout(WAIT_TIMEOUT, fetches.changed()).await;
        }
        self.find_known(id, algorithm)
    }

    fn find_known(&self, id: Option<&str>, algorithm: Algorithm) -> Result<PinnedKey, KeyError> {
        let state = self.lock();
        match state.keys.find(id, algorithm) {
            Ok(key) => Ok(key.clone()),
            Err(NoKey::Unknown) if state.error.is_some() || !state.has_fetched => {
                Err(KeyError::Unavailable)
            }
            Err(why) => Err(KeyError::NoKey(why)),
        }
    }

    /// Whether a fetch is under way: one that had begun before, or a new one because of an unknown key.
    fn fetch_on_demand(self: &Arc<Self>) -> bool {
        let mut state = self.lock();
        if state.is_fetching {
            return true;
        }
        if state.last_on_demand.is_some_and(|last| last.elapsed() < self.intervals.on_demand) {
            return false;
        }
        state.last_on_demand = Some(Instant::now());
        state.is_fetching = true;
        drop(state);
        let cache = Arc::clone(self);
        // A task of its own: a client that leaves ends its request, but not the fetch for others.
        tokio::spawn(async move { cache.fetch().await });
        true
    }

    /// Fetches keys, now and from time to time, for as long as the cache is used.
    async fn refresh(cache: Weak<Self>) {
        loop {
            let Some(current) = cache.upgrade() else { return };
            let pause = match current.fetch().await {
                true => current.intervals.refresh,
                false => current.intervals.retry,
            };
            drop(current);
            tokio::time::sleep(pause).await;
            let Some(current) = cache.upgrade() else { return };
            current.lock().is_fetching = true;
        }
    }

    /// Fetches keys and keeps them; false if that fails, and the keys that were known stay in use.
    async fn fetch(&self) -> bool {
        let fetched = self.source.fetch().await;
        let name = self.source.name();
        let is_fetched = fetched.is_ok();
        let mut state = self.lock();
        state.is_fetching = false;
        state.has_fetched = true;
        match fetched {
            Ok(keys) => {
                if keys.len() == 0 {
                    tracing::warn!("the identity provider '{name}' has no key that can be used");
                } else if state.error.is_some() {
                    tracing::info!("the identity provider '{name}' answers again");
                }
                state.keys = Arc::new(keys);
                state.error = None;
            }
            Err(error) => {
                let error = error.to_string();
                // An error that repeats is logged once.
                if state.error.as_ref() != Some(&error) {
                    tracing::warn!(
                        "the keys of the identity provider '{name}' cannot be fetched: {error}; {}",
                        match state.keys.len() {
                            0 => "nobody can log in with its tokens",
                            _ => "tokens with known keys are still accepted",
                        }
                    );
                }
                state.error = Some(error);
            }
        }
        drop(state);
        self.fetches.send_modify(|count| *count = count.wrapping_add(1));
        is_fetched
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::json;
    use tokio::sync::Semaphore;

    use super::*;

    /// An issuer with keys of these names, or without an answer.
    struct FakeIssuer {
        keys: Mutex<Option<Vec<&'static str>>>,
        fetches: AtomicUsize,
        /// Every answer takes a permit.
        answers: Semaphore,
    }

    impl FakeIssuer {
        fn new(keys: Option<Vec<&'static str>>, answers: usize) -> Arc<Self> {
            let answers = Semaphore::new(answers);
            Arc::new(Self { keys: Mutex::new(keys), fetches: AtomicUsize::new(0), answers })
        }

        fn set(&self, keys: Option<Vec<&'static str>>) {
            *self.keys.lock().unwrap() = keys;
        }

        fn fetches(&self) -> usize {
            self.fetches.load(Ordering::SeqCst)
        }
    }

    impl KeySource for Arc<FakeIssuer> {
        fn fetch(&self) -> BoxFuture<'_, Result<KeySet, IssuerError>> {
            Box::pin(async {
                self.fetches.fetch_add(1, Ordering::SeqCst);
                self.answers.acquire().await.unwrap().forget();
                let keys = self.keys.lock().unwrap().clone().ok_or(IssuerError::TimedOut)?;
                let x = URL_SAFE_NO_PAD.encode([7; 32]);
                let key = |id: &&str| json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "x": x });
                let keys: Vec<_> = keys.iter().map(key).collect();
                Ok(KeySet::parse(json!({ "keys": keys }).to_string().as_bytes()).unwrap())
            })
        }

        fn name(&self) -> &str {
            "https://idp.example"
        }
    }

    const MANY: usize = 100_000;

    const NEVER: Duration = Duration::from_secs(3_600);

    /// A cache that fetches keys at its start, and then only because of unknown keys.
    fn cache(issuer: &Arc<FakeIssuer>, on_demand: Duration) -> Arc<KeyCache> {
        let intervals = Intervals { refresh: NEVER, retry: NEVER, on_demand };
        KeyCache::start_with(Box::new(Arc::clone(issuer)), intervals)
    }

    async fn find(cache: &Arc<KeyCache>, id: &str) -> Result<(), KeyError> {
        cache.find(Some(id), Algorithm::EdDSA).await.map(drop)
    }

    const UNKNOWN: Result<(), KeyError> = Err(KeyError::NoKey(NoKey::Unknown));

    #[tokio::test]
    async fn a_new_key_is_fetched_at_once_but_not_again_and_again() {
        let issuer = FakeIssuer::new(Some(vec!["a"]), MANY);
        let cache = cache(&issuer, NEVER);
        assert_eq!(find(&cache, "a").await, Ok(()));
        assert_eq!(issuer.fetches(), 1);
        issuer.set(Some(vec!["a", "b"]));
        assert_eq!(find(&cache, "b").await, Ok(()));
        assert_eq!(issuer.fetches(), 2);
        for _ in 0..50 {
            assert_eq!(find(&cache, "../../etc/passwd").await, UNKNOWN);
        }
        assert_eq!(issuer.fetches(), 2);
    }

    #[tokio::test]
    async fn after_a_while_unknown_keys_are_fetched_again() {
        let issuer = FakeIssuer::new(Some(vec!["a"]), MANY);
        let cache = cache(&issuer, Duration::ZERO);
        assert_eq!(find(&cache, "a").await, Ok(()));
        assert_eq!(find(&cache, "b").await, UNKNOWN);
        issuer.set(Some(vec!["b"]));
        assert_eq!(find(&cache, "b").await, Ok(()));
        assert_eq!(find(&cache, "a").await, UNKNOWN);
    }

    #[tokio::test]
    async fn all_who_wait_share_one_fetch() {
        let issuer = FakeIssuer::new(Some(vec!["a"]), 0);
        let cache = cache(&issuer, NEVER);
        let waiting: Vec<_> = (0..20)
            .map(|_| {
                let cache = Arc::clone(&cache);
                tokio::spawn(async move { find(&cache, "a").await })
            })
            .collect();
        tokio::task::yield_now().await;
        issuer.answers.add_permits(1);
        for one in waiting {
            assert_eq!(one.await.unwrap(), Ok(()));
        }
        assert_eq!(issuer.fetches(), 1);
    }

    #[tokio::test]
    async fn a_client_that_leaves_does_not_end_the_fetch_for_others() {
        let issuer = FakeIssuer::new(Some(vec!["a"]), 1);
        let cache = cache(&issuer, NEVER);
        assert_eq!(find(&cache, "a").await, Ok(()));
        issuer.set(Some(vec!["b"]));
        let leaves = timeout(Duration::from_millis(1), find(&cache, "b")).await;
        assert!(leaves.is_err());
        issuer.answers.add_permits(1);
        assert_eq!(find(&cache, "b").await, Ok(()));
        assert_eq!(issuer.fetches(), 2);
    }

    #[tokio::test]
    async fn known_keys_stay_while_the_issuer_is_down() {
        let issuer = FakeIssuer::new(Some(vec!["a"]), MANY);
        let cache = cache(&issuer, Duration::ZERO);
        assert_eq!(find(&cache, "a").await, Ok(()));
        issuer.set(None);
        assert_eq!(find(&cache, "b").await, Err(KeyError::Unavailable));
        assert_eq!(find(&cache, "a").await, Ok(()));
    }

    #[tokio::test]
    async fn a_key_that_was_withdrawn_is_forgotten() {
        let issuer = FakeIssuer::new(Some(vec!["a"]), MANY);
        let step = Duration::from_millis(1);
        let intervals = Intervals { refresh: step, retry: step, on_demand: NEVER };
        let cache = KeyCache::start_with(Box::new(Arc::clone(&issuer)), intervals);
        assert_eq!(find(&cache, "a").await, Ok(()));
        issuer.set(None);
        let before = issuer.fetches();
        while issuer.fetches() < before + 3 {
            tokio::time::sleep(step).await;
        }
        assert_eq!(find(&cache, "a").await, Ok(()));
        issuer.set(Some(vec!["b"]));
        while cache.find_known(Some("a"), Algorithm::EdDSA).is_ok() {
            tokio::time::sleep(step).await;
        }
        assert_eq!(find(&cache, "b").await, Ok(()));
    }

    #[tokio::test]
    async fn nobody_comes_in_before_the_issuer_has_answered() {
        let issuer = FakeIssuer::new(None, MANY);
        let cache = cache(&issuer, Duration::ZERO);
        assert_eq!(find(&cache, "a").await, Err(KeyError::Unavailable));
        issuer.set(Some(vec!["a"]));
        assert_eq!(find(&cache, "a").await, Ok(()));
    }
}
