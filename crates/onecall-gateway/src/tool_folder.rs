//! The folder in which programs can explore tools: a file for each tool that they may call.
//!
//! On the host only its owner can read it; workers see it as `/tools` and cannot write to it. It is
//! empty until a program runs that seems to read it, and is kept up to date from then on, so that
//! it costs nothing if it is not used.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use onecall_catalog::{ObservedOutput, ToolFile, tool_file_location};
use onecall_core::{Program, ToolSpec};
use onecall_runtime::Directory;
use tokio::sync::{Mutex, watch};

use crate::{Gateway, ToolTree};

/// The prefix of the folder's name on the host.
const PREFIX: &str = "onecall-tools-";

/// How many names are tried for a new folder.
const MAX_ATTEMPTS: u32 = 100;

/// How long a program waits for servers whose tools it might look for.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The shortest time between two updates of the folder.
const MIN_UPDATE_INTERVAL: Duration = Duration::from_millis(500);

/// Limits for what servers can write to the disk.
const MAX_FILES: usize = 20_000;
const MAX_FILE_BYTES: usize = 32 * 1024;
/// File systems allow 255 bytes.
const MAX_NAME_BYTES: usize = 240;

/// A folder on the host. It is removed when this is dropped.
#[derive(Debug)]
pub struct ToolFolder {
    path: PathBuf,
    /// A lock that shows other processes that the folder is in use, as long as this process lives.
    _lock: File,
    /// The present content of the folder; `None` as long as it is empty.
    content: Mutex<Option<FolderContent>>,
}

/// The content of the folder.
#[derive(Debug)]
struct FolderContent {
    /// The tools that it was written from.
    tree: ToolTree,
    /// The counter of learned types at that time.
    types_revision: u64,
    files: Files,
}

/// The tools in the folder, by the path of their file.
type Files = HashMap<PathBuf, (Arc<ToolSpec>, Option<ObservedOutput>)>;

impl ToolFolder {
    /// Creates an empty folder below `parent`.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn create_in(parent: &Path) -> io::Result<Self> {
        let mut last = io::Error::other("all names are taken");
        for number in 0..MAX_ATTEMPTS {
            let path = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            match lock_folder(&path) {
                Ok(lock) => return Ok(Self { path, _lock: lock, content: Mutex::default() }),
                // Another process has removed the folder while it cleaned up.
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Removes the folders below `parent` that killed processes have left behind.
    pub fn remove_abandoned(parent: &Path) {
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(PREFIX) {
                // A folder that cannot be removed belongs to another user, or is in use.
                _ = remove_if_abandoned(&entry.path());
            }
        }
    }

    /// The path of the folder on the host.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Updates the folder to these tools. A file that cannot be written is missing.
    async fn update(self: &Arc<Self>, tree: ToolTree) {
        let mut content = self.content.lock().await;
        let types_revision = tree.rules.directory.types_revision();
        let before = match content.take() {
            Some(before)
                if before.tree.is_same(&tree) && before.types_revision == types_revision =>
            {
                *content = Some(before);
                return;
            }
            Some(before) => before.files,
            None => Files::new(),
        };
        let (folder, shown) = (self.path.clone(), tree.clone());
        let files = tokio::task::spawn_blocking(move || write_changes(&folder, before, &shown));
        *content =
            Some(FolderContent { tree, types_revision, files: files.await.unwrap_or_default() });
    }

    async fn is_in_use(&self) -> bool {
        self.content.lock().await.is_some()
    }

    /// Removes the folder and its content.
    pub(crate) fn remove(&self) {
        if let Err(error) = fs::remove_dir_all(&self.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::debug!("'{}' cannot be removed: {error}", self.path.display());
        }
    }
}

impl Drop for ToolFolder {
    fn drop(&mut self) {
        self.remove();
    }
}

impl Gateway {
    /// Fills the folder for a program that may read it.
    pub(crate) async fn fill_tool_folder(&self, program: &Program) {
        let Some(folder) = &self.tool_folder else { return };
        if !mentions_tool_folder(&program.code) {
            return;
        }
        folder
            .update(ToolTree { catalog: self.catalog_within(MAX_WAIT).await, rules: self.rules() })
            .await;
    }

    /// Keeps the folder up to date after it was first used; ends with the gateway.
    pub(crate) async fn update_tool_folder_on_change(
        gateway: Weak<Self>,
        mut changes: watch::Receiver<u64>,
    ) {
        while changes.changed().await.is_ok() {
            let Some(gateway) = gateway.upgrade() else { break };
            if let Some(folder) = &gateway.tool_folder
                && folder.is_in_use().await
            {
                let catalog = gateway.bridge.known_catalog();
                folder.update(ToolTree { catalog, rules: gateway.rules() }).await;
            }
            drop(gateway);
            tokio::time::sleep(MIN_UPDATE_INTERVAL).await;
        }
    }
}

/// Whether a program's source mentions the folder, however it builds the path.
fn mentions_tool_folder(code: &str) -> bool {
    ["/tools", "\"tools", "'tools"].iter().any(|way| code.contains(way))
}

/// Locks a folder, if it exists and no other process has locked it.
fn lock_folder(path: &Path) -> io::Result<File> {
    let folder = File::open(path)?;
    folder.try_lock()?;
    fs::symlink_metadata(path)?;
    Ok(folder)
}

/// Removes a folder of this user that no process has locked.
fn remove_if_abandoned(path: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_dir() || metadata.uid() != rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    let _lock = lock_folder(path)?;
    fs::remove_dir_all(path)
}

/// Writes new and changed files, and removes those of tools that are gone.
fn write_changes(folder: &Path, mut before: Files, tree: &ToolTree) -> Files {
    let mut written = Files::new();
    'tools: for spec in tree.tools().take(MAX_FILES) {
        let Some((server, stem)) = tool_file_location(spec) else { continue };
        if server.len() > MAX_NAME_BYTES || stem.len() > MAX_NAME_BYTES {
            continue;
        }
        let current = (Arc::clone(spec), tree.rules.directory.observed(spec));
        for file in ToolFile::ALL {
            let path = folder.join(&server).join(format!("{stem}{}", file.extension()));
            let is_new = before.remove(&path).is_none_or(|earlier| earlier != current);
            let text = || file.text(spec, current.1.as_ref());
            if is_new && let Err(error) = write(&path, &text()) {
                // If the folder was removed, it is not needed any more.
                if folder.exists() {
                    tracing::warn!(
                        "cannot write '{}', which programs would read: {error}",
                        path.display()
                    );
                }
                break 'tools;
            }
            written.insert(path, current.clone());
        }
    }
    for path in before.keys() {
        _ = fs::remove_file(path);
        // Succeeds only when the last file of a server is gone.
        _ = path.parent().map(fs::remove_dir);
    }
    written
}

/// Writes a file by replacing it in one step, so that readers never see a partial one.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let text = text.get(..text.floor_char_boundary(MAX_FILE_BYTES)).unwrap_or_default();
    let new = path.with_extension("new");
    if let Err(error) = fs::write(&new, text) {
        let Some(parent) = path.parent().filter(|_| error.kind() == io::ErrorKind::NotFound) else {
            return Err(error);
        };
        DirBuilder::new().mode(0o700).create(parent)?;
        fs::write(&new, text)?;
    }
    fs::rename(new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_may_look_are_told_from_those_that_do_not() {
        for code in [
            "os.listdir('/tools')",
            "open(f\"/tools/{server}/x.pyi\")",
            "Path('/') / 'tools'",
            "os.path.join(os.sep, \"tools\", name)",
        ] {
            assert!(mentions_tool_folder(code), "{code}");
        }
        for code in ["tools.search('x')", "print(await mcp__x__y())", "# the tools of sales"] {
            assert!(!mentions_tool_folder(code), "{code}");
        }
    }

    #[test]
    fn folders_of_the_dead_are_removed_and_those_of_the_living_are_not() {
        let parent = std::env::temp_dir().join(format!("onecall-test-{}", std::process::id()));
        fs::create_dir_all(&parent).unwrap_or_default();
        let left_behind = parent.join(format!("{PREFIX}1-0"));
        fs::create_dir_all(left_behind.join("server")).unwrap_or_default();
        let living = ToolFolder::create_in(&parent);
        let other = ToolFolder::create_in(&parent);
        ToolFolder::remove_abandoned(&parent);
        assert!(!left_behind.exists());
        let paths = [&living, &other].map(|it| it.as_ref().ok().map(|it| it.path.clone()));
        assert!(paths.iter().all(|path| path.as_ref().is_some_and(|it| it.exists())), "{paths:?}");
        let mode = paths[0].as_ref().and_then(|path| fs::metadata(path).ok()).map(|it| it.mode());
        assert_eq!(mode.map(|it| it & 0o777), Some(0o700));
        drop((living, other));
        assert_eq!(fs::read_dir(&parent).map(Iterator::count).ok(), Some(0));
        fs::remove_dir_all(parent).unwrap_or_default();
    }
}
