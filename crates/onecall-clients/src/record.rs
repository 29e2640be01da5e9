//! Records of what installing onecall has changed in clients' files, so that it can be undone.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use onecall_config::{read_private_file, replace_private_file};
use onecall_core::Digest;
use serde::{Deserialize, Serialize};

use crate::edit::Trace;
use crate::spot::Spot;

/// The changes in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The entry that was inserted.
    #[serde(default)]
    pub entry: Option<Entered>,
    /// The entries that were removed for it.
    #[serde(default)]
    pub moved: Vec<Moved>,
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
pub struct Entered {
    /// The spot of the entry.
    pub spot: Spot,
    /// What else the insertion changed.
    pub trace: Trace,
}

/// An entry that was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// The spot of the entry.
    pub spot: Spot,
    /// The name of the entry.
    pub name: String,
    /// The text of the entry as it was written.
    pub text: String,
}

/// The records of all changed files. Removed entries may contain secrets, so only the owner can
/// read the file with the records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Records {
    #[serde(default)]
    files: BTreeMap<PathBuf, Record>,
}

impl Records {
    /// Reads the records in a state directory. A damaged file counts as empty, because an entry can
    /// be removed without its record.
    #[must_use]
    pub fn read(state: &Path) -> Self {
        let bytes = read_private_file(&file_in(state)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// The record of a file.
    #[must_use]
    pub fn of(&self, path: &Path) -> Option<&Record> {
        self.files.get(path)
    }

    /// Stores the record of a file, or removes it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(state: &Path, path: &Path, record: Option<Record>) -> io::Result<()> {
        let mut records = Self::read(state);
        match record {
            Some(record) => _ = records.files.insert(path.to_path_buf(), record),
            None => _ = records.files.remove(path),
        }
        replace_private_file(&file_in(state), &records)
    }
}

impl Record {
    /// Whether the file is unchanged since onecall wrote it.
    #[must_use]
    pub fn is_of(&self, text: &str) -> bool {
        self.after == hash(text)
    }
}

pub(crate) fn hash(text: &str) -> String {
    Digest::of(text).to_string()
}

fn file_in(state: &Path) -> PathBuf {
    state.join("onecall").join("installed.json")
}
