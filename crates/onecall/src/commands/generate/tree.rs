//! A folder of generated files: what differs from what it should be, and making it so.
//! Files of others are left alone, and no link is followed out of the folder.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use onecall_catalog::Files;
use onecall_core::Language;

use super::manifest::{MANIFEST, Manifest};

/// The folder, and what we wrote there last.
pub(super) struct Tree {
    folder: PathBuf,
    language: Language,
    manifest: Manifest,
    /// The manifest as it is there.
    stored: Option<Vec<u8>>,
}

/// What is to become of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It is not there.
    Missing,
    /// It is as we wrote it, which is not as it should be.
    Outdated,
    /// It is not as we wrote it, or we did not write it.
    Edited,
    /// Its tool is gone.
    Gone,
    /// Its tool is gone, but somebody has edited it.
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

    pub(super) fn forced(self) -> &'static str {
        if self == Self::GoneEdited { "removes it" } else { "overwrites it" }
    }
}

/// How many files were treated how.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) written: usize,
    pub(super) removed: usize,
    pub(super) unchanged: usize,
}

impl Tree {
    /// Looks into a folder, which need not be there.
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

    /// What differs from `files`, by path.
    pub(super) fn compare(&self, files: &Files) -> anyhow::Result<Vec<(String, Change)>> {
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

    /// Whether a file is the one that we wrote under a name that differs only in case, which
    /// is removed: so it is on systems that do not tell the two names apart.
    fn is_of_other_case(&self, path: &str, found: &[u8], files: &Files) -> bool {
        let is_removed = |earlier: &&String| {
            earlier.as_str() != path
                && earlier.eq_ignore_ascii_case(path)
                && !files.contains_key(*earlier)
        };
        let mut earlier = self.manifest.paths().filter(is_removed);
        earlier.any(|earlier| self.manifest.wrote(earlier, found))
            && !self.manifest.wrote(path, found)
    }

    /// Makes the changes; those to edited files only by `force`.
    pub(super) fn apply(
        &self,
        files: &Files,
        changes: &[(String, Change)],
        force: bool,
    ) -> anyhow::Result<Done> {
        let mut manifest = Manifest::new(self.language);
        for (path, content) in files {
            manifest.add(path, content);
        }
        let mut done = Done::default();
        // Where names that differ only in case are one file, it goes before it is written.
        let is_written =
            |change: Change| matches!(change, Change::Missing | Change::Outdated | Change::Edited);
        let (written, removed): (Vec<_>, Vec<_>) =
            changes.iter().partition(|(_, change)| is_written(*change));
        for (path, change) in removed.into_iter().chain(written) {
            match change {
                Change::Edited | Change::GoneEdited if !force => {
                    // Nobody's but theirs: it stays as it is remembered.
                    manifest.keep(path, &self.manifest);
                }
                Change::Gone | Change::GoneEdited => {
                    self.remove(path)?;
                    done.removed += 1;
                }
                Change::Missing | Change::Outdated | Change::Edited => {
                    let content = files.get(path).map(String::as_str).unwrap_or_default();
                    self.write(path, content.as_bytes())?;
                    done.written += 1;
                }
            }
        }
        let changed = changes.iter().filter(|(path, _)| files.contains_key(path)).count();
        done.unchanged = files.len() - changed;
        let text = manifest.text()?;
        if self.stored.as_deref() != Some(text.as_bytes()) {
            self.write(MANIFEST, text.as_bytes())?;
        }
        Ok(done)
    }

    /// Where a file is; an error if a link is on the way.
    fn place(&self, path: &str) -> anyhow::Result<PathBuf> {
        let mut place = self.folder.clone();
        for part in path.split('/') {
            place.push(part);
            let is_link = fs::symlink_metadata(&place).is_ok_and(|it| it.file_type().is_symlink());
            ensure!(!is_link, "'{}' is a link, which is not followed; remove it", place.display());
        }
        Ok(place)
    }

    fn read(&self, path: &str) -> anyhow::Result<Option<Vec<u8>>> {
        let place = self.place(path)?;
        match fs::read(&place) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read '{}'", place.display())),
        }
    }

    /// Writes a new file that takes the place of the old one, so that nobody reads half of it.
    fn write(&self, path: &str, content: &[u8]) -> anyhow::Result<()> {
        let place = self.place(path)?;
        let folder = place.parent().unwrap_or(&self.folder);
        let unfinished = folder.join(format!(".onecall-{}", std::process::id()));
        let written = fs::create_dir_all(folder)
            .and_then(|()| fs::File::create_new(&unfinished))
            .and_then(|mut file| file.write_all(content))
            .and_then(|()| fs::rename(&unfinished, &place));
        if written.is_err() {
            _ = fs::remove_file(&unfinished);
        }
        written.with_context(|| format!("cannot write '{}'", place.display()))
    }

    /// Removes a file, and the folders that are empty without it.
    fn remove(&self, path: &str) -> anyhow::Result<()> {
        let place = self.place(path)?;
        fs::remove_file(&place).with_context(|| format!("cannot remove '{}'", place.display()))?;
        let above = place.ancestors().skip(1).take_while(|it| *it != self.folder);
        for folder in above {
            // One that is not empty is not removed.
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }
}
