//! What installing onecall has changed in whose files, so that it can be undone.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use onecall_config::{read_private_file, replace_private_file};
use onecall_core::Digest;
use serde::{Deserialize, Serialize};

use crate::edit::Trace;
use crate::spot::Spot;

/// What was changed in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The entry that was put in.
    #[serde(default)]
    pub entry: Option<Entered>,
    /// What was taken out for it.
    #[serde(default)]
    pub moved: Vec<Moved>,
    /// Whether there was no file before.
    #[serde(default)]
    pub created: bool,
    /// The SHA-256 of the file afterwards, in hexadecimal.
    #[serde(default)]
    pub after: String,
    /// A copy of the file as it was before.
    #[serde(default)]
    pub backup: Option<PathBuf>,
}

/// An entry that was put in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entered {
    /// Where.
    pub spot: Spot,
    /// What else that changed.
    pub trace: Trace,
}

/// An entry that was taken out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// From where.
    pub spot: Spot,
    /// Its name.
    pub name: String,
    /// As it was written.
    pub text: String,
}

/// Every file that was changed. What was taken out may hold secrets, so that the file
/// of this is for its owner alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Records {
    #[serde(default)]
    files: BTreeMap<PathBuf, Record>,
}

impl Records {
    /// Reads what is remembered under a state directory; what cannot be read counts as
    /// nothing, for an entry can be taken out without it.
    #[must_use]
    pub fn read(state: &Path) -> Self {
        let bytes = read_private_file(&file_in(state)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// What was changed in a file.
    #[must_use]
    pub fn of(&self, path: &Path) -> Option<&Record> {
        self.files.get(path)
    }

    /// Remembers what was changed in a file, or that nothing is any more.
    ///
    /// # Errors
    /// What the system says.
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
