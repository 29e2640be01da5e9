//! The manifest of generated files: which files in a folder onecall has written, so that no others
//! are touched.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use anyhow::{Context, bail, ensure};
use onecall_catalog::content_digest;
use onecall_core::Language;
use serde::{Deserialize, Serialize};

/// The name of the manifest in the folder.
pub(super) const MANIFEST: &str = ".onecall-generated.json";

/// The written files by path, each with a digest of its content.
#[derive(Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    language: String,
    files: BTreeMap<String, String>,
}

impl Manifest {
    /// The manifest of a folder to which nothing was written yet.
    pub(super) fn new(language: Language) -> Self {
        Self { language: language.name().to_owned(), files: BTreeMap::new() }
    }

    /// Parses a manifest. A folder contains files of one `language` only.
    pub(super) fn parse(text: &str, language: Language, folder: &Path) -> anyhow::Result<Self> {
        let found: Self = serde_json::from_str(text).with_context(|| {
            format!(
                "{} is damaged; remove it, and generate with --force",
                folder.join(MANIFEST).display()
            )
        })?;
        let wanted = Self::new(language);
        ensure!(
            found.language == wanted.language,
            "'{}' has files in {}; write those in {} to another folder",
            folder.display(),
            found.language,
            wanted.language
        );
        // The manifest decides which files are removed, and it may have been edited, so paths are
        // checked.
        let is_inside = |path: &str| {
            !path.is_empty()
                && !path.contains('\\')
                && Path::new(path).components().all(|it| matches!(it, Component::Normal(_)))
        };
        if let Some(outside) = found.files.keys().find(|path| !is_inside(path)) {
            bail!(
                "{} names a file outside of its folder: '{outside}'",
                folder.join(MANIFEST).display()
            );
        }
        Ok(found)
    }

    /// The manifest as it is stored.
    pub(super) fn text(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Whether onecall wrote exactly this content there.
    pub(super) fn wrote(&self, path: &str, content: &[u8]) -> bool {
        self.files.get(path).is_some_and(|digest| *digest == content_digest(content))
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &String> {
        self.files.keys()
    }

    pub(super) fn add(&mut self, path: &str, content: &str) {
        self.files.insert(path.to_owned(), content_digest(content.as_bytes()));
    }

    /// Takes over the entry of `earlier` for a file; a file without one is not onecall's.
    pub(super) fn keep(&mut self, path: &str, earlier: &Self) {
        match earlier.files.get(path) {
            Some(digest) => _ = self.files.insert(path.to_owned(), digest.clone()),
            None => _ = self.files.remove(path),
        }
    }
}
