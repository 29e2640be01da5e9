//! Where the pins of servers are kept: in a file for each server, or in a store that several gateways
//! share. Pins of a store are kept in memory, so that deciding about tools never waits for it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onecall_catalog::ToolDefinition;
use onecall_core::storage::{FleetStore, PinStore, ReplacedVersion, StoreError, WriteOutcome};
use onecall_core::{ServerName, Timestamp};

use crate::supervision::pins::{PinError, Pins};

/// Where pins are kept.
#[derive(Clone, Default)]
pub enum PinStorage {
    /// In a file for each server.
    #[default]
    Files,
    /// In a store that several gateways share.
    Shared(Arc<SharedPins>),
}

/// The pins in a store, as far as they have been read.
pub struct SharedPins {
    store: Arc<dyn FleetStore>,
    state: Mutex<SharedState>,
}

#[derive(Default)]
struct SharedState {
    known: HashMap<String, KnownPins>,
    /// The change number of the store when the pins were read.
    number: Option<i64>,
}

/// What is known of the pins of a server.
#[derive(Clone)]
enum KnownPins {
    /// The server was never pinned.
    Missing,
    Pinned(VersionedPins),
    /// The pins could not be read, for this reason.
    Unreadable(String),
}

/// Pins as they were read. They can be replaced unless another process has replaced them since.
#[derive(Clone, Debug)]
pub struct VersionedPins {
    /// The pins.
    pub pins: Arc<Pins>,
    /// The version in the store; `None` for a file, and for a server without pins.
    version: Option<u64>,
}

impl PinStorage {
    /// Reads the pins of the server whose file this is; `None` if it was never pinned. Waits for the store,
    /// unless the pins are in memory.
    ///
    /// # Errors
    /// If the pins cannot be used.
    pub fn read(&self, file: &Path) -> Result<Option<VersionedPins>, PinError> {
        match (self, self.known(file)) {
            (Self::Shared(shared), Err(_) | Ok(None)) => shared.read(&key(file)),
            (_, known) => known,
        }
    }

    /// The pins of the server whose file this is, as far as they are known; `None` if it was never pinned.
    /// Never waits for a store.
    ///
    /// # Errors
    /// If the pins cannot be used, or were not read from the store yet.
    pub fn known(&self, file: &Path) -> Result<Option<VersionedPins>, PinError> {
        match self {
            Self::Files => {
                let pins = Pins::read(file)?;
                Ok(pins.map(|pins| VersionedPins { pins: Arc::new(pins), version: None }))
            }
            Self::Shared(shared) => match shared.known(file) {
                Some(KnownPins::Pinned(pins)) => Ok(Some(pins)),
                Some(KnownPins::Missing) => Ok(None),
                Some(KnownPins::Unreadable(reason)) => Err(PinError::NotRead { reason }),
                None => {
                    let reason = "its pins were not read from the store yet".to_owned();
                    Err(PinError::NotRead { reason })
                }
            },
        }
    }

    /// Replaces pins that were read before, or those of a server that had none. Waits for the store.
    ///
    /// # Errors
    /// If the pins cannot be written, or another process has changed them since.
    pub fn replace(
        &self,
        file: &Path,
        before: Option<&VersionedPins>,
        pins: &Pins,
    ) -> Result<(), PinError> {
        match self {
            Self::Files => pins.write(file),
            Self::Shared(shared) => {
                let version = before.and_then(|before| before.version);
                match shared.put(&key(file), pins, version)? {
                    Some(_) => Ok(()),
                    None => Err(PinError::Outdated),
                }
            }
        }
    }

    /// Reads the pins of a server into memory, if they are in a store and not known yet. On the first
    /// contact of any gateway with the server, its tools are pinned: as this machine's file has them, which
    /// earlier versions and other stores use, or else as they are now.
    pub(crate) async fn prepare(&self, server: &ServerName, file: &Path, tools: &[ToolDefinition]) {
        let Self::Shared(shared) = self else { return };
        if matches!(shared.known(file), Some(KnownPins::Pinned(_))) {
            return;
        }
        let (shared, server, file) = (Arc::clone(shared), server.clone(), file.to_owned());
        let tools = tools.to_vec();
        let load = move || shared.load_or_pin(&server, &file, &tools);
        // It fails only if the process is ending.
        _ = tokio::task::spawn_blocking(load).await;
    }
}

impl SharedPins {
    /// The pins in `store`. None of them are read yet.
    #[must_use]
    pub fn new(store: Arc<dyn FleetStore>) -> Self {
        Self { store, state: Mutex::default() }
    }

    /// Reads the pins again that another process may have changed, and those that could not be read.
    /// Returns whether any of them have changed. Waits for the store.
    pub fn refresh(&self) -> bool {
        let Ok(number) = self.pin_store().and_then(|store| Ok(store.pins_change_number()?)) else {
            return false;
        };
        let keys: Vec<String> = {
            let mut state = self.lock();
            let is_changed = state.number.replace(number) != Some(number);
            let is_due =
                |known: &KnownPins| is_changed || matches!(known, KnownPins::Unreadable(_));
            let due = state.known.iter().filter(|(_, known)| is_due(known));
            due.map(|(key, _)| key.clone()).collect()
        };
        let mut has_changed = false;
        for key in keys {
            let before = self.lock().known.get(&key).cloned();
            match self.read(&key) {
                Ok(_) => {
                    let now = self.lock().known.get(&key).cloned();
                    has_changed |= before.map(|it| it.version()) != now.map(|it| it.version());
                }
                // What is known stays in force.
                Err(error) => {
                    tracing::debug!("the pins of a server cannot be read again: {error}");
                    self.lock().number = None;
                }
            }
        }
        has_changed
    }

    /// Reads the pins of a server, and notes them.
    fn read(&self, key: &str) -> Result<Option<VersionedPins>, PinError> {
        let Some(stored) = self.pin_store()?.pins(key)? else {
            self.note(key, KnownPins::Missing);
            return Ok(None);
        };
        let pins: Pins = serde_json::from_str(&stored.content)
            .map_err(|_| PinError::DamagedInStore { key: key.to_owned() })?;
        let pins = VersionedPins { pins: Arc::new(pins), version: Some(stored.version) };
        self.note(key, KnownPins::Pinned(pins.clone()));
        Ok(Some(pins))
    }

    /// Writes pins in the place of this version, and notes them; `None` if there is another version.
    fn put(
        &self,
        key: &str,
        pins: &Pins,
        version: Option<u64>,
    ) -> Result<Option<VersionedPins>, PinError> {
        let content = serde_json::to_string(pins)
            .map_err(|_| PinError::DamagedInStore { key: key.to_owned() })?;
        let (replaced, now) = (ReplacedVersion::Exactly(version), Timestamp::now());
        match self.pin_store()?.put_pins(key, &content, replaced, now)? {
            WriteOutcome::Conflict => Ok(None),
            WriteOutcome::Written { .. } => {
                let version = Some(version.unwrap_or(0).saturating_add(1));
                let pins = VersionedPins { pins: Arc::new(pins.clone()), version };
                self.note(key, KnownPins::Pinned(pins.clone()));
                Ok(Some(pins))
            }
        }
    }

    fn load_or_pin(&self, server: &ServerName, file: &Path, tools: &[ToolDefinition]) {
        let key = key(file);
        if let Err(error) = self.try_load_or_pin(&key, server, file, tools) {
            // Pins that are known stay in force.
            let mut state = self.lock();
            let known = state.known.entry(key).or_insert(KnownPins::Missing);
            if !matches!(known, KnownPins::Pinned(_)) {
                *known = KnownPins::Unreadable(error.to_string());
            }
        }
    }

    fn try_load_or_pin(
        &self,
        key: &str,
        server: &ServerName,
        file: &Path,
        tools: &[ToolDefinition],
    ) -> Result<(), PinError> {
        // The first connection with any tools is the one that pins them.
        if self.read(key)?.is_some() || tools.is_empty() {
            return Ok(());
        }
        let first = match Pins::read(file)? {
            Some(pins) => pins,
            None => Pins::of(server, tools),
        };
        match self.put(key, &first, None)? {
            Some(_) => tracing::info!(%server, "the server's tools are pinned in the store"),
            // Another gateway was faster: its pins are those of all.
            None => drop(self.read(key)?),
        }
        Ok(())
    }

    fn pin_store(&self) -> Result<&dyn PinStore, PinError> {
        let reason = || "the store cannot have pins".to_owned();
        Ok(self.store.shared_pins().ok_or_else(|| StoreError::Disabled { reason: reason() })?)
    }

    fn known(&self, file: &Path) -> Option<KnownPins> {
        self.lock().known.get(&key(file)).cloned()
    }

    fn note(&self, key: &str, known: KnownPins) {
        self.lock().known.insert(key.to_owned(), known);
    }

    fn lock(&self) -> MutexGuard<'_, SharedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownPins {
    /// Differs between any two states that decide differently about tools.
    fn version(&self) -> Option<u64> {
        match self {
            Self::Pinned(pins) => pins.version,
            Self::Missing => Some(0),
            Self::Unreadable(_) => None,
        }
    }
}

/// The key of a server's pins in a store: the name of its file, which is a digest.
fn key(file: &Path) -> String {
    file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
