//! Learned result types: for tools whose servers declare no output schema, the shape of real
//! results. Kept in the store, or in memory if there is no store.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use onecall_catalog::{ObservedOutput, Shape, content_digest};
use onecall_core::storage::{ShapeKey, Store, StoreError, StoredShape};
use onecall_core::{CallableName, ServerName, ToolSpec, ToolValue};

use crate::StoreWriter;

/// The first results of a tool are all inspected, after that one in every `INSPECT_EVERY`.
const ALWAYS_INSPECTED: u64 = 20;
const INSPECT_EVERY: u64 = 64;

/// Larger results are not inspected.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// How many tools are counted; results of further ones are not inspected.
const MAX_TOOLS: usize = 100_000;

/// Hex digits of a digest that distinguish servers and schemas.
const DIGITS: usize = 32;

/// The learned shapes of results, by tool.
pub struct LearnedTypes {
    store: Option<Arc<StoreWriter>>,
    /// A text per server that distinguishes it from another server of the same name.
    origins: RwLock<HashMap<ServerName, String>>,
    /// Servers whose results are not inspected: what one user gets is not shown to another.
    private: RwLock<HashSet<ServerName>>,
    /// How many results each tool has returned.
    results: Mutex<HashMap<CallableName, u64>>,
    shapes: Arc<Mutex<HashMap<ShapeKey, LearnedShape>>>,
    /// How many times a shape has been updated.
    revision: Arc<AtomicU64>,
    /// How far the store has been read.
    reading: Arc<StoreReading>,
}

/// How long a caller waits for the store to be read for the first time. A store that takes longer does not hold
/// up the requests of others.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The pause before a store that could not be read is read again.
const REREAD_PAUSE: Duration = Duration::from_secs(5);

/// How far the shapes in the store have been read.
#[derive(Default)]
struct StoreReading {
    state: Mutex<ReadState>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ReadState {
    #[default]
    NotBegun,
    UnderWay {
        /// Whether callers have waited as long as they may.
        is_late: bool,
    },
    Failed(Instant),
    Done,
}

impl StoreReading {
    fn lock(&self) -> MutexGuard<'_, ReadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, state: ReadState) {
        *self.lock() = state;
        self.changed.notify_all();
    }
}

#[derive(Clone, Debug, Default)]
struct LearnedShape {
    shape: Shape,
    samples: u64,
}

impl LearnedShape {
    fn read(stored: &StoredShape) -> Option<Self> {
        Some(Self { shape: Shape::from_json(&stored.shape)?, samples: stored.samples })
    }

    fn add(&mut self, shape: Shape) {
        self.shape.merge(shape);
        self.samples = self.samples.saturating_add(1);
    }
}

impl LearnedTypes {
    /// Creates an empty collection; shapes are read from and written to `store` if there is one.
    #[must_use]
    pub fn new(store: Option<Arc<StoreWriter>>) -> Self {
        Self {
            store,
            origins: RwLock::default(),
            private: RwLock::default(),
            results: Mutex::default(),
            shapes: Arc::default(),
            revision: Arc::default(),
            reading: Arc::default(),
        }
    }

    /// Sets a text for each server that distinguishes it from another server of the same name.
    pub fn set_origins(&self, origins: HashMap<ServerName, String>) {
        *self.origins.write().unwrap_or_else(PoisonError::into_inner) = origins;
    }

    /// Sets the servers whose results are not inspected, because they belong to single users.
    pub fn set_private(&self, servers: HashSet<ServerName>) {
        *self.private.write().unwrap_or_else(PoisonError::into_inner) = servers;
    }

    /// Counts a result of a tool; returns whether it should be inspected.
    pub(crate) fn should_inspect(&self, name: &CallableName) -> bool {
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        if results.len() >= MAX_TOOLS && !results.contains_key(name) {
            return false;
        }
        let count = results.entry(name.clone()).or_default();
        *count += 1;
        *count <= ALWAYS_INSPECTED || count.is_multiple_of(INSPECT_EVERY)
    }

    /// Inspects a result later, on another thread. Must be called inside a tokio runtime.
    pub(crate) fn learn(self: &Arc<Self>, spec: &ToolSpec, value: &ToolValue) {
        let size = value.size();
        let private = self.private.read().unwrap_or_else(PoisonError::into_inner);
        if spec.output_schema.is_some() || size > MAX_BYTES || private.contains(&spec.server) {
            return;
        }
        drop(private);
        let (learned, key, value) = (Arc::clone(self), self.key(spec), value.clone());
        match &self.store {
            Some(store) => store.submit(size, move |store| {
                let Some(shape) = shape_of(&value) else { return Ok(()) };
                let mut known = None;
                let updated = store.update_shape(&key, &mut |stored| {
                    // Another process may have learned from other results; both are merged.
                    let mut merged =
                        stored.as_ref().and_then(LearnedShape::read).unwrap_or_default();
                    merged.add(shape.clone());
                    let (samples, json) = (merged.samples, merged.shape.to_json());
                    known = Some(merged);
                    Some(StoredShape { samples, shape: json })
                });
                match known.filter(|_| updated.is_ok()) {
                    Some(known) => _ = learned.shapes().insert(key.clone(), known),
                    None => learned.shapes().entry(key.clone()).or_default().add(shape),
                }
                learned.revision.fetch_add(1, Ordering::Release);
                match updated {
                    // This process has learned from the result, and must not do so again.
                    Err(StoreError::Unreachable { .. }) => Ok(()),
                    updated => updated,
                }
            }),
            None => {
                tokio::task::spawn_blocking(move || {
                    if let Some(shape) = shape_of(&value) {
                        learned.shapes().entry(key).or_default().add(shape);
                        learned.revision.fetch_add(1, Ordering::Release);
                    }
                });
            }
        }
    }

    /// How many times a shape has been updated. While this number is unchanged, so is every
    /// observed type.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    /// The learned result type of a tool, if its server does not declare one.
    #[must_use]
    pub fn observed(&self, spec: &ToolSpec) -> Option<ObservedOutput> {
        let private = self.private.read().unwrap_or_else(PoisonError::into_inner);
        if spec.output_schema.is_some() || private.contains(&spec.server) {
            return None;
        }
        drop(private);
        self.read_store();
        let shapes = self.shapes();
        let known = shapes.get(&self.key(spec))?;
        Some(ObservedOutput::new(&known.shape, known.samples))
    }

    /// Reads the store on another thread, unless that was done, and waits a moment for it.
    fn read_store(&self) {
        let Some(writer) = &self.store else { return };
        let mut state = self.reading.lock();
        let begins = match *state {
            ReadState::Done | ReadState::UnderWay { is_late: true } => return,
            ReadState::UnderWay { is_late: false } => false,
            ReadState::Failed(at) if at.elapsed() < REREAD_PAUSE => return,
            ReadState::NotBegun | ReadState::Failed(_) => true,
        };
        if begins {
            // Callers wait for the first attempt only.
            *state = ReadState::UnderWay { is_late: *state != ReadState::NotBegun };
            let (store, shapes) = (Arc::clone(writer.store()), Arc::clone(&self.shapes));
            let (reading, revision) = (Arc::clone(&self.reading), Arc::clone(&self.revision));
            let read = move || {
                let is_read = read_shapes(store.as_ref(), &shapes);
                revision.fetch_add(u64::from(is_read), Ordering::Release);
                let failed = || ReadState::Failed(Instant::now());
                reading.end(if is_read { ReadState::Done } else { failed() });
            };
            if std::thread::Builder::new().name("types".to_owned()).spawn(read).is_err() {
                *state = ReadState::Failed(Instant::now());
                return;
            }
        }
        let is_awaited = |state: &mut ReadState| *state == ReadState::UnderWay { is_late: false };
        let waited = self.reading.changed.wait_timeout_while(state, LONGEST_WAIT, is_awaited);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        if is_awaited(&mut state) {
            *state = ReadState::UnderWay { is_late: true };
        }
    }

    fn shapes(&self) -> MutexGuard<'_, HashMap<ShapeKey, LearnedShape>> {
        self.shapes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(&self, spec: &ToolSpec) -> ShapeKey {
        let origins = self.origins.read().unwrap_or_else(PoisonError::into_inner);
        let origin = origins.get(&spec.server).map(String::as_str).unwrap_or_default();
        let what = format!("{origin}\n{}", spec.input_schema.text());
        let schema = content_digest(what.as_bytes()).chars().take(DIGITS).collect();
        let (server, tool) = (spec.server.to_string(), spec.tool.to_string());
        ShapeKey { server, tool, schema }
    }
}

/// Adds the shapes of the store to those in memory; returns whether that was possible, or never will be.
fn read_shapes(store: &dyn Store, shapes: &Mutex<HashMap<ShapeKey, LearnedShape>>) -> bool {
    match store.shapes() {
        Ok(stored) => {
            let mut shapes = shapes.lock().unwrap_or_else(PoisonError::into_inner);
            for (key, stored) in stored {
                if let Some(known) = LearnedShape::read(&stored) {
                    // A shape in memory is newer than the stored one.
                    shapes.entry(key).or_insert(known);
                }
            }
            true
        }
        Err(error) if error.was_reported() => true,
        Err(error) => {
            tracing::warn!("{error}");
            !error.is_temporary()
        }
    }
}

fn shape_of(value: &ToolValue) -> Option<Shape> {
    match value {
        ToolValue::WithContent { value, .. } => shape_of(value),
        ToolValue::Nothing => Some(Shape::null()),
        ToolValue::Json(json) => Shape::of_json(json.get()),
        ToolValue::Text(text) => Some(Shape::of_text(text)),
    }
}
