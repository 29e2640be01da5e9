//! A folder of generated files: finds the differences to the wanted content and applies them. Other
//! files are left alone, and no link is followed out of the folder.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use onecall_catalog::GeneratedFiles;
use onecall_core::Language;

use super::manifest::{MANIFEST, Manifest};

/// The folder, and what onecall wrote there last.
pub(super) struct GeneratedTree {
    folder: PathBuf,
    language: Language,
    manifest: Manifest,
    /// The bytes of the manifest in the folder.
    stored: Option<Vec<u8>>,
}

/// How a file differs from what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The file does not exist.
    Missing,
    /// The file is as onecall wrote it, but outdated.
    Outdated,
    /// The file was edited, or not written by onecall.
    Edited,
    /// The tool of the file does not exist any more.
    Gone,
    /// The tool of the file does not exist any more, but the file was edited.
    GoneEdited,
}

impl Change {
    pub(super) fn is_edited(self) -> bool {
        matches!(self, Self::Edited | Self::GoneEdited)
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Outdated | Self::Edited => "differs",
            Self::Gone | Self::GoneEdited => "gone",
        }
    }

    pub(super) fn why_kept(self) -> &'static str {
        match self {
            Self::GoneEdited => "its tool is gone, but the file was edited",
            _ => "it was not written by onecall, or was edited since",
        }
    }

    pub(super) fn force_effect(self) -> &'static str {
        if self == Self::GoneEdited { "removes it" } else { "overwrites it" }
    }
}

/// How many files were written, removed and kept.
#[derive(Debug, Default)]
pub(super) struct ApplyCounts {
    pub(super) written: usize,
    pub(super) removed: usize,
    pub(super) unchanged: usize,
}

impl GeneratedTree {
    /// Reads a folder, which need not exist.
    pub(super) fn open(folder: &Path, language: Language) -> anyhow::Result<Self> {
        if let Ok(metadata) = fs::metadata(folder) {
            ensure!(metadata.is_dir(), "'{}' is not a folder", folder.display());
        }
        let folder = folder.to_owned();
        let mut tree = Self { folder, language, manifest: Manifest::new(language), stored: None };
        tree.stored = tree.read(MANIFEST)?;
        if let Some(stored) = &tree.stored {
            let text = String::from_utf8_lossy(stored);
            tree.manifest = Manifest::parse(&text, language, &tree.folder)?;
        }
        Ok(tree)
    }

    /// The differences to `files`, by path.
    pub(super) fn compare(&self, files: &GeneratedFiles) -> anyhow::Result<Vec<(String, Change)>> {
        let mut changes = Vec::new();
        for (path, content) in files {
            let change = match self.read(path)? {
                None => Change::Missing,
                Some(found) if self.is_of_other_case(path, &found, files) => Change::Missing,
                Some(found) if found == content.as_bytes() => continue,
                Some(found) if self.manifest.wrote(path, &found) => Change::Outdated,
                Some(_) => Change::Edited,
            };
            changes.push((path.clone(), change));
        }
        for path in self.manifest.paths().filter(|path| !files.contains_key(*path)) {
            let change = match self.read(path)? {
                None => continue,
                Some(found) if self.manifest.wrote(path, &found) => Change::Gone,
                Some(_) => Change::GoneEdited,
            };
            changes.push((path.clone(), change));
        }
        changes.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(changes)
    }

    /// Whether a file is one that onecall wrote under a name that differs only in case and is
    /// removed now. On file systems that ignore case, both names refer to the same file.
    fn is_of_other_case(&self, path: &str, found: &[u8], files: &GeneratedFiles) -> bool {
        let is_removed = |earlier: &&String| {
            earlier.as_str() != path
                && earlier.eq_ignore_ascii_case(path)
                && !files.contains_key(*earlier)
        };
        let mut earlier = self.manifest.paths().filter(is_removed);
        earlier.any(|earlier| self.manifest.wrote(earlier, found))
            && !self.manifest.wrote(path, found)
    }

    /// Applies the changes; those to edited files only with `force`.
    pub(super) fn apply(
        &self,
        files: &GeneratedFiles,
        changes: &[(String, Change)],
        force: bool,
    ) -> anyhow::Result<ApplyCounts> {
        let mut manifest = Manifest::new(self.language);
        for (path, content) in files {
            manifest.add(path, content);
        }
        let mut counts = ApplyCounts::default();
        // On file systems that ignore case, the old name must be removed before the new file is
        // written.
        let is_written =
            |change: Change| matches!(change, Change::Missing | Change::Outdated | Change::Edited);
        let (written, removed): (Vec<_>, Vec<_>) =
            changes.iter().partition(|(_, change)| is_written(*change));
        for (path, change) in removed.into_iter().chain(written) {
            match change {
                Change::Edited | Change::GoneEdited if !force => {
                    // An edited file stays as it is.
                    manifest.keep(path, &self.manifest);
                }
                Change::Gone | Change::GoneEdited => {
                    self.remove(path)?;
                    counts.removed += 1;
                }
                Change::Missing | Change::Outdated | Change::Edited => {
                    let content = files.get(path).map(String::as_str).unwrap_or_default();
                    self.write(path, content.as_bytes())?;
                    counts.written += 1;
                }
            }
        }
        let changed = changes.iter().filter(|(path, _)| files.contains_key(path)).count();
        counts.unchanged = files.len() - changed;
        let text = manifest.text()?;
        if self.stored.as_deref() != Some(text.as_bytes()) {
            self.write(MANIFEST, text.as_bytes())?;
        }
        Ok(counts)
    }

    /// The path of a file; an error if a part of it is a link.
    fn full_path(&self, path: &str) -> anyhow::Result<PathBuf> {
        let mut full_path = self.folder.clone();
        for part in path.split('/') {
            full_path.push(part);
            let is_link =
                fs::symlink_metadata(&full_path).is_ok_and(|it| it.file_type().is_symlink());
            ensure!(
                !is_link,
                "'{}' is a link, which is not followed; remove it",
                full_path.display()
            );
        }
        Ok(full_path)
    }

    fn read(&self, path: &str) -> anyhow::Result<Option<Vec<u8>>> {
        let full_path = self.full_path(path)?;
        match fs::read(&full_path) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                Err(error).with_context(|| format!("cannot read '{}'", full_path.display()))
            }
        }
    }

    /// Writes a file by replacing it in one step, so that readers never see a partial one.
    fn write(&self, path: &str, content: &[u8]) -> anyhow::Result<()> {
        let full_path = self.full_path(path)?;
        let folder = full_path.parent().unwrap_or(&self.folder);
        let unfinished = folder.join(format!(".onecall-{}", std::process::id()));
        let written = fs::create_dir_all(folder)
            .and_then(|()| fs::File::create_new(&unfinished))
            .and_then(|mut file| file.write_all(content))
            .and_then(|()| fs::rename(&unfinished, &full_path));
        if written.is_err() {
            _ = fs::remove_file(&unfinished);
        }
        written.with_context(|| format!("cannot write '{}'", full_path.display()))
    }

    /// Removes a file, and the folders that become empty.
    fn remove(&self, path: &str) -> anyhow::Result<()> {
        let full_path = self.full_path(path)?;
        fs::remove_file(&full_path)
            .with_context(|| format!("cannot remove '{}'", full_path.display()))?;
        let above = full_path.ancestors().skip(1).take_while(|it| *it != self.folder);
        for folder in above {
            // Fails for a folder that is not empty.
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }
}
