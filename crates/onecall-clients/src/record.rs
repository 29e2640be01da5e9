//! Records of what installing onecall has changed in clients' files, so that it can be undone.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use onecall_config::{read_private_file, replace_private_file};
use onecall_core::Digest;
use serde::{Deserialize, Serialize};

use crate::edit::InsertionTrace;
use crate::section::ServerSection;

/// The changes in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallRecord {
    /// The entry that was inserted.
    #[serde(default)]
    pub entry: Option<InsertedEntry>,
    /// The entries that were removed for it.
    #[serde(default)]
    pub moved: Vec<RemovedEntry>,
    /// Whether the file did not exist before.
    #[serde(default)]
    pub created: bool,
    /// The SHA-256 digest of the changed file, in hexadecimal.
    #[serde(default)]
    pub after: String,
    /// The path of a backup of the original file.
    #[serde(default)]
    pub backup: Option<PathBuf>,
}

/// An entry that was inserted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsertedEntry {
    /// The section of the entry.
    pub spot: ServerSection,
    /// What else the insertion changed.
    pub trace: InsertionTrace,
}

/// An entry that was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedEntry {
    /// The section of the entry.
    pub spot: ServerSection,
    /// The name of the entry.
    pub name: String,
    /// The text of the entry as it was written.
    pub text: String,
}

/// The records of all changed files. Removed entries may contain secrets, so only the owner can
/// read the file with the records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallRecords {
    #[serde(default)]
    files: BTreeMap<PathBuf, InstallRecord>,
}

impl InstallRecords {
    /// Reads the records in a state directory. A damaged file counts as empty, because an entry can
    /// be removed without its record.
    #[must_use]
    pub fn read(state: &Path) -> Self {
        let bytes = read_private_file(&records_file(state)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// The record of a file.
    #[must_use]
    pub fn get(&self, path: &Path) -> Option<&InstallRecord> {
        self.files.get(path)
    }

    /// Stores the record of a file, or removes it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(state: &Path, path: &Path, record: Option<InstallRecord>) -> io::Result<()> {
        let mut records = Self::read(state);
        match record {
            Some(record) => _ = records.files.insert(path.to_path_buf(), record),
            None => _ = records.files.remove(path),
        }
        replace_private_file(&records_file(state), &records)
    }
}

impl InstallRecord {
    /// Whether the file is unchanged since onecall wrote it.
    #[must_use]
    pub fn matches_text(&self, text: &str) -> bool {
        self.after == hash(text)
    }
}

pub(crate) fn hash(text: &str) -> String {
    Digest::of(text).to_string()
}

fn records_file(state: &Path) -> PathBuf {
    state.join("onecall").join("installed.json")
}
