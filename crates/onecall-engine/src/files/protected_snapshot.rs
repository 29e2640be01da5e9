//! Detects changes to protected files when programs open files themselves and cannot be stopped:
//! the protected files before and after a program are compared.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::protected::{is_protected, is_protected_name};

/// How many entries are checked. If there are more, the report says that it is incomplete.
const MAX_ENTRIES: usize = 100_000;

/// How many files a report names.
const MAX_REPORTED: usize = 10;

/// Folders of Git that contain many files, but none that is run.
const IGNORED: [&str; 2] = ["objects", "lfs"];

/// The protected files of a workspace at one moment.
#[derive(Debug, Default)]
pub(crate) struct ProtectedFilesSnapshot {
    files: BTreeMap<PathBuf, FileFingerprint>,
    is_complete: bool,
}

/// The properties of a file that differ after it was changed.
#[derive(Debug, PartialEq, Eq)]
struct FileFingerprint {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl ProtectedFilesSnapshot {
    /// Collects the protected files of the workspace.
    pub(crate) fn take(workspace: &Path) -> Self {
        let mut snapshot = Self { is_complete: true, ..Self::default() };
        let mut seen = 0;
        let mut rest = vec![PathBuf::new()];
        while let Some(folder) = rest.pop() {
            // A folder that was removed meanwhile is skipped.
            let Ok(entries) = fs::read_dir(workspace.join(&folder)) else { continue };
            let is_protected_folder = is_protected(&folder);
            for entry in entries.flatten() {
                seen += 1;
                if seen > MAX_ENTRIES {
                    snapshot.is_complete = false;
                    return snapshot;
                }
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let path = folder.join(entry.file_name());
                let Ok(metadata) = entry.metadata() else { continue };
                if metadata.is_dir() && !(is_protected_folder && IGNORED.contains(&&*name)) {
                    rest.push(path.clone());
                }
                if is_protected_folder || is_protected_name(&name) {
                    snapshot.files.insert(path, FileFingerprint::of(&metadata));
                }
            }
        }
        snapshot
    }

    /// Describes the changes since `self` was collected; `None` if there are none.
    pub(crate) fn compare(&self, now: &Self) -> Option<String> {
        // For a new directory, only its own name is reported.
        let is_new = |path: &Path| now.files.contains_key(path) && !self.files.contains_key(path);
        let mut changes: Vec<String> = Vec::new();
        for (path, fingerprint) in &now.files {
            match self.files.get(path) {
                Some(before) if before == fingerprint => {}
                Some(_) => changes.push(format!("{path:?} (changed)")),
                None if path.parent().is_some_and(is_new) => {}
                None => changes.push(format!("{path:?} (created)")),
            }
        }
        let gone = self.files.keys().filter(|path| !now.files.contains_key(*path));
        changes.extend(gone.map(|path| format!("{path:?} (removed)")));
        if changes.is_empty() {
            return None;
        }
        let more = changes.len().saturating_sub(MAX_REPORTED);
        changes.truncate(MAX_REPORTED);
        let mut text = format!(
            "Files in the workspace that other programs run were touched while this program \
             ran: {}",
            changes.join(", ")
        );
        if more > 0 {
            text.push_str(&format!(" and {more} more"));
        }
        text.push_str("; look at them before anything is run there");
        if !(self.is_complete && now.is_complete) {
            text.push_str(". There are too many files to look at all of them");
        }
        Some(text)
    }
}

impl FileFingerprint {
    /// A directory counts as unchanged while its inode is the same; its entries are compared
    /// themselves.
    fn of(metadata: &Metadata) -> Self {
        let inode = metadata.ino();
        if metadata.is_dir() {
            return Self { inode, size: 0, modified: (0, 0), changed: (0, 0) };
        }
        Self {
            inode,
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}
