//! Cached answers in the store, shared by all processes of the user.
//!
//! The store may be slow, damaged or full. A call waits for it only a short time; if the store
//! gives no answer, the server is asked.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use onecall_core::storage::{AnswerKey, Store, StoreError, StoredAnswer};
use onecall_core::{
    CacheSettings, Digest, ServerName, Timestamp, ToolPattern, ToolSpec, ToolValue,
};

use super::epochs::ServerEpochs;
use super::key::CacheKey;
use super::max_answer_bytes;
use super::storage::CallStart;
use super::store_copies::{CopiedAnswer, StoreCopies};
use crate::StoreWriter;

/// How long a call waits for the store.
const STORE_TIMEOUT: Duration = Duration::from_millis(500);

/// How many answers may have hits that are counted only in memory, before they are written to the
/// store.
const MAX_UNWRITTEN_HITS: usize = 64;

/// How long the mark of a change is kept: longer than any call takes.
const MARK_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// How far clocks may differ: a mark from further in the future is ignored.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(60 * 60);

/// The cache is checked for its size limit after this fraction of the limit has been written: one
/// part in so many.
const SIZE_CHECK_FRACTION: u64 = 16;

/// Identifies the last change that any process has seen a server make; empty if there was none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChangeMark(String);

/// The answers in the store, and what this process alone knows about them.
pub(super) struct Disk {
    writer: Arc<StoreWriter>,
    epochs: Arc<ServerEpochs>,
    max_bytes: u64,
    max_answer_bytes: u64,
    /// When a server last changed something, as seen by this process. Older answers are ignored,
    /// even if the change has not reached the store.
    changed: Mutex<HashMap<ServerName, SystemTime>>,
    copies: Mutex<StoreCopies>,
    unwritten_hits: Mutex<HashMap<AnswerKey, u64>>,
    unchecked_bytes: AtomicU64,
}

/// The tool name under which the mark of a change is stored among the answers; no tool has it.
const MARK_TOOL_NAME: &str = "";

impl Disk {
    pub(super) fn new(
        config: &CacheSettings,
        writer: Arc<StoreWriter>,
        epochs: Arc<ServerEpochs>,
    ) -> Self {
        Self {
            writer,
            epochs,
            max_bytes: config.max_bytes,
            max_answer_bytes: max_answer_bytes(config),
            changed: Mutex::default(),
            copies: Mutex::default(),
            unwritten_hits: Mutex::default(),
            // As if that much had been written: the first answer triggers a check of the old ones.
            unchecked_bytes: AtomicU64::new(config.max_bytes),
        }
    }

    /// The mark of a server's last change; `None` if the store does not answer in time.
    pub(super) async fn mark(&self, server: &ServerName, now: SystemTime) -> Option<ChangeMark> {
        let key = mark_key(server);
        self.with_store(move |store| read_mark(store, &key, now.into())).await
    }

    /// The answer from the copies in memory, if the store has not been written to since.
    pub(super) fn get_in_memory(
        &self,
        key: &CacheKey,
        spec: &Arc<ToolSpec>,
        now: SystemTime,
        ttl: Duration,
    ) -> Option<ToolValue> {
        let mut copies = self.copies();
        if !self.writer.store().is_unchanged_since(copies.version()?) {
            copies.clear();
            return None;
        }
        let CopiedAnswer { answer, hash, .. } = copies.get(key, spec)?;
        if !self.is_valid(key, answer, now.into(), ttl) {
            return None;
        }
        self.count_hit(*hash);
        Some(answer.value.clone())
    }

    pub(super) async fn get(
        &self,
        key: &Arc<CacheKey>,
        spec: &Arc<ToolSpec>,
        now: SystemTime,
        ttl: Duration,
    ) -> Option<ToolValue> {
        let hash = key.hash(spec);
        let found = self.with_store(move |store| {
            // The version is read first: a later write makes the copy invalid.
            let version = store.version().ok();
            Ok((version, store.answer(&hash, now.into())?))
        });
        let (version, answer) = found.await?;
        let answer = answer.filter(|answer| self.is_valid(key, answer, now.into(), ttl))?;
        self.count_hit(hash);
        let value = answer.value.clone();
        if let Some(version) = version {
            self.copies().insert(
                version,
                key,
                CopiedAnswer { spec: Arc::clone(spec), hash, answer },
            );
        }
        Some(value)
    }

    fn is_valid(
        &self,
        key: &CacheKey,
        answer: &StoredAnswer,
        now: Timestamp,
        ttl: Duration,
    ) -> bool {
        let changed = self.changed().get(key.server()).copied().map(Timestamp::from);
        let is_current = changed.is_none_or(|changed| answer.stored_at > changed);
        // The process that stored the answer may have a longer TTL configured.
        let is_young = answer.stored_at <= now && now.since(answer.stored_at) < ttl;
        is_current && is_young && now < answer.expires_at
    }

    pub(super) async fn insert(
        &self,
        key: &CacheKey,
        spec: &ToolSpec,
        value: ToolValue,
        call_start: CallStart,
        now: SystemTime,
        ttl: Duration,
    ) {
        let Some(mark) = call_start.mark else { return };
        let bytes = u64::try_from(value.size()).unwrap_or(u64::MAX);
        let is_late = call_start.changes != self.epochs.of(key.server()).changes;
        if bytes > self.max_answer_bytes || is_late {
            return;
        }
        let since = Timestamp::from(call_start.since);
        let answer = StoredAnswer { value, stored_at: since, expires_at: since.after(ttl) };
        let (hash, mark_key) = (key.hash(spec), mark_key(key.server()));
        let (server, name) = (key.server().to_string(), spec.callable.to_string());
        self.with_store(move |store| {
            store.put_answer(&hash, &server, &name, &answer)?;
            // A change first writes its mark and then removes the answers. So either this check
            // sees the new mark, or the removal finds the answer.
            if read_mark(store, &mark_key, now.into())? != mark {
                store.put_answer(&hash, &server, &name, &expired(since))?;
            }
            Ok(())
        })
        .await;
        let unchecked = self.unchecked_bytes.fetch_add(bytes, Ordering::Relaxed);
        if unchecked >= self.max_bytes / SIZE_CHECK_FRACTION {
            self.unchecked_bytes.store(0, Ordering::Relaxed);
            let max_bytes = self.max_bytes;
            self.writer.submit(0, move |store| store.evict_answers(max_bytes, since).map(drop));
        }
    }

    pub(super) async fn forget(&self, key: &CacheKey, spec: &ToolSpec, now: SystemTime) {
        let (hash, server) = (key.hash(spec), key.server().to_string());
        let name = spec.callable.to_string();
        self.with_store(move |store| store.put_answer(&hash, &server, &name, &expired(now.into())))
            .await;
    }

    pub(super) async fn forget_server(&self, server: &ServerName, now: SystemTime) {
        self.changed().insert(server.clone(), now);
        self.with_store(mark_change(server, now)).await;
    }

    pub(super) fn forget_server_soon(&self, server: &ServerName, now: SystemTime) {
        self.changed().insert(server.clone(), now);
        self.writer.submit(0, mark_change(server, now));
    }

    pub(super) async fn clear(&self, pattern: &ToolPattern) -> u64 {
        let pattern = pattern.clone();
        let fits = move |_: &str, name: &str| name != MARK_TOOL_NAME && pattern.matches(name);
        self.with_store(move |store| store.forget_answers(&fits)).await.unwrap_or_default()
    }

    pub(super) async fn size(&self, now: SystemTime) -> (u64, u64) {
        let sizes = self.with_store(move |store| store.answer_sizes(now.into())).await;
        let sizes = sizes.unwrap_or_default();
        let answers = sizes.iter().filter(|size| size.tool != MARK_TOOL_NAME);
        answers.fold((0, 0), |(entries, bytes), size| (entries + size.entries, bytes + size.bytes))
    }

    fn count_hit(&self, key: AnswerKey) {
        let mut hits = self.unwritten_hits.lock().unwrap_or_else(PoisonError::into_inner);
        *hits.entry(key).or_default() += 1;
        let is_enough = hits.len() >= MAX_UNWRITTEN_HITS;
        drop(hits);
        if is_enough {
            self.write_hits();
        }
    }

    /// Writes the number of hits of each answer to the store.
    pub(super) fn write_hits(&self) {
        let mut hits = self.unwritten_hits.lock().unwrap_or_else(PoisonError::into_inner);
        let hits = std::mem::take(&mut *hits);
        if !hits.is_empty() {
            self.writer.submit(0, move |store| {
                hits.iter().try_for_each(|(key, hits)| store.count_hits(key, *hits))
            });
        }
    }

    fn copies(&self) -> MutexGuard<'_, StoreCopies> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) -> MutexGuard<'_, HashMap<ServerName, SystemTime>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` on the store; `None` if it fails or takes too long.
    async fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Option<T> {
        let store = Arc::clone(self.writer.store());
        let asked = tokio::task::spawn_blocking(move || work(store.as_ref()));
        match tokio::time::timeout(STORE_TIMEOUT, asked).await {
            Ok(Ok(Ok(answer))) => Some(answer),
            Ok(Ok(Err(error))) => {
                tracing::debug!("the store cannot read or write a cached answer: {error}");
                None
            }
            Ok(Err(_)) | Err(_) => {
                tracing::debug!(
                    "the store did not respond in time; the cache is not used for this call"
                );
                None
            }
        }
    }
}

/// Marks a change of a server for all processes, and removes its answers.
fn mark_change(
    server: &ServerName,
    now: SystemTime,
) -> impl Fn(&dyn Store) -> Result<(), StoreError> + Send + 'static {
    let (key, server) = (mark_key(server), server.to_string());
    move |store| {
        let since = Timestamp::from(now);
        let value = ToolValue::Text(unique_text());
        let mark = StoredAnswer { value, stored_at: since, expires_at: since.after(MARK_TTL) };
        store.put_answer(&key, &server, MARK_TOOL_NAME, &mark)?;
        store.forget_answers(&|of, tool| of == server && tool != MARK_TOOL_NAME).map(drop)
    }
}

fn read_mark(store: &dyn Store, key: &AnswerKey, now: Timestamp) -> Result<ChangeMark, StoreError> {
    // Another process may have written a mark after `now` was taken, so later marks count as well.
    Ok(match store.answer(key, now.after(MAX_CLOCK_DIFFERENCE))? {
        Some(StoredAnswer { value: ToolValue::Text(mark), .. }) => ChangeMark(mark),
        _ => ChangeMark(String::new()),
    })
}

fn mark_key(server: &ServerName) -> AnswerKey {
    Digest::of(format!("change {server}")).into_bytes()
}

/// A text that is different for each call, in every process.
fn unique_text() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{} {count} {}", std::process::id(), since.as_nanos())
}

/// A placeholder that has expired: it replaces an answer that must not be used.
fn expired(now: Timestamp) -> StoredAnswer {
    StoredAnswer { value: ToolValue::Nothing, stored_at: now, expires_at: now }
}
