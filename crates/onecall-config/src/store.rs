//! What is remembered of the programs that ran, where, and for how long.

use std::path::PathBuf;
use std::time::Duration;

use crate::document::Node;
use crate::error::Report;
use crate::locate::Directories;
use crate::parse::MEBIBYTE;
use crate::path::PathReader;
use crate::reader::{self, Section};
use crate::schema::STORE;

/// How much of a run is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Records {
    /// Nothing.
    Off,
    /// What ran, when and how it ended; sizes and times of its calls. No arguments and no
    /// results.
    #[default]
    Metadata,
    /// Arguments and results as well, so that a run can be repeated without a server.
    Full,
}

impl Records {
    /// Every choice, as it is written.
    pub const NAMES: [(&str, Self); 3] =
        [("off", Self::Off), ("metadata", Self::Metadata), ("full", Self::Full)];
}

/// Whether what servers and the gateway say is kept in log files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Logs {
    /// In the user's state directory.
    #[default]
    On,
    /// Nothing is kept.
    Off,
}

impl Logs {
    /// Every choice, as it is written.
    pub const NAMES: [(&str, Self); 2] = [("on", Self::On), ("off", Self::Off)];
}

/// The file that outlives a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// Where it is, if not in the user's state directory.
    pub path: Option<PathBuf>,
    /// How long runs are kept.
    pub keep: Duration,
    /// What the runs may take; the oldest go first.
    pub max_bytes: u64,
}

impl StoreConfig {
    /// The file: the configured one, or that in the user's state directory, if there is one.
    #[must_use]
    pub fn file(&self, directories: &Directories) -> Option<PathBuf> {
        let usual = || directories.state.as_ref().map(|state| state.join("onecall/onecall.db"));
        self.path.clone().or_else(usual)
    }
}

const DAY: u64 = 86_400;

impl Default for StoreConfig {
    fn default() -> Self {
        Self { path: None, keep: Duration::from_secs(30 * DAY), max_bytes: 256 * MEBIBYTE }
    }
}

pub(crate) fn read_store(
    node: &Node,
    paths: &PathReader<'_>,
    report: &mut Report,
) -> Option<StoreConfig> {
    let section = Section::open(node, "store", STORE, report)?;
    let mut store = StoreConfig::default();
    if let Some(node) = section.get("path") {
        store.path = paths.absolute(node, "'path' in store", report);
    }
    let mut number = |key: &str, range| {
        let what = format!("'{key}' in store");
        section.get(key).and_then(|node| reader::whole_number(node, &what, range, report))
    };
    if let Some(days) = number("keep_days", 1..=36_500) {
        store.keep = Duration::from_secs(days * DAY);
    }
    if let Some(mebibytes) = number("max_mb", 1..=1_048_576) {
        store.max_bytes = mebibytes * MEBIBYTE;
    }
    Some(store)
}
