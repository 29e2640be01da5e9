//! The settings of the store: what is recorded of runs, where, and for how long.

use std::path::PathBuf;
use std::time::Duration;

use crate::document::Node;
use crate::error::Report;
use crate::locate::Directories;
use crate::parse::MEBIBYTE;
use crate::path::PathReader;
use crate::reader::{self, Section};
use crate::schema::STORE;

/// How much of a run is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordLevel {
    /// Nothing is recorded.
    Off,
    /// What ran, when and how it ended, and the sizes and times of its calls, without arguments and
    /// results.
    #[default]
    Metadata,
    /// Arguments and results as well, so that a run can be replayed without servers.
    Full,
}

impl RecordLevel {
    /// Every choice with its name in the configuration.
    pub const NAMES: [(&str, Self); 3] =
        [("off", Self::Off), ("metadata", Self::Metadata), ("full", Self::Full)];
}

/// Whether the output of servers and the gateway is written to log files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFiles {
    /// Logs are written to the user's state directory.
    #[default]
    On,
    /// No logs are written.
    Off,
}

impl LogFiles {
    /// Every choice with its name in the configuration.
    pub const NAMES: [(&str, Self); 2] = [("on", Self::On), ("off", Self::Off)];
}

/// The settings of the file that stores persistent data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// The path of the file; if absent, a file in the user's state directory.
    pub path: Option<PathBuf>,
    /// How long runs are kept.
    pub max_age: Duration,
    /// The size limit of all runs; the oldest are removed first.
    pub max_bytes: u64,
    /// The size limit of the journals of all runs that have not ended, in mebibytes.
    pub journal_mb: u64,
}

impl StoreConfig {
    /// The path of the file: the configured one, or else the one in the user's state directory.
    #[must_use]
    pub fn file(&self, directories: &Directories) -> Option<PathBuf> {
        let usual = || directories.state.as_ref().map(|state| state.join("onecall/onecall.db"));
        self.path.clone().or_else(usual)
    }
}

const DAY: u64 = 86_400;

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            path: None,
            max_age: Duration::from_secs(30 * DAY),
            max_bytes: 256 * MEBIBYTE,
            journal_mb: 256,
        }
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
        store.max_age = Duration::from_secs(days * DAY);
    }
    if let Some(mebibytes) = number("max_mb", 1..=1_048_576) {
        store.max_bytes = mebibytes * MEBIBYTE;
    }
    if let Some(mebibytes) = number("journal_mb", 1..=1_048_576) {
        store.journal_mb = mebibytes;
    }
    Some(store)
}
