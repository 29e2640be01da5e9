//! Keeps the workspace within its quota.
//!
//! The kernel limits the size of each file that a program writes. It does not limit many files
//! together, so the folder is measured while a program runs: when the disk has lost as much space
//! as the folder may still grow, and also at regular intervals.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use onecall_core::{Failure, Workspace, WorkspaceAccess};
use rustix::fs::statvfs;
use thiserror::Error;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// How often the free space of the disk is read, which is cheap.
const DISK_CHECK_INTERVAL: Duration = Duration::from_millis(1);

/// How often the folder is measured regardless of the free space: another process may have freed
/// what a program has filled.
const MEASURE_INTERVAL: Duration = Duration::from_millis(250);

/// How many times as long as a measurement the pause after it lasts at least.
const MEASURE_PAUSE_FACTOR: u32 = 10;

/// The smallest size of a file or folder on disk.
const MIN_SIZE_ON_DISK: u64 = 4096;

/// The quota of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct Quota {
    path: PathBuf,
    max_bytes: u64,
    /// Held while the gateway itself writes there, so that two writers do not use the same room.
    writing: Arc<Mutex<()>>,
}

/// The free room in the workspace. The gateway writes nothing else there while this is held.
#[derive(Debug)]
pub struct WorkspaceWriteLock {
    /// The path of the workspace.
    pub folder: PathBuf,
    max_bytes: u64,
    left: u64,
    _writing: OwnedMutexGuard<()>,
}

impl WorkspaceWriteLock {
    /// Checks that there is room for a new file of `bytes` bytes.
    pub fn check(&self, bytes: u64) -> Result<(), NotEnoughSpace> {
        let Self { left, max_bytes, .. } = *self;
        let needed = bytes.max(MIN_SIZE_ON_DISK);
        if needed <= left { Ok(()) } else { Err(NotEnoughSpace { left, max_bytes, bytes, needed }) }
    }
}

/// The workspace has no room for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the workspace has {left} bytes left of its quota of {max_bytes} (max_bytes), and a new file of \
     {bytes} bytes takes {needed}; remove files or raise the quota"
)]
pub struct NotEnoughSpace {
    left: u64,
    max_bytes: u64,
    bytes: u64,
    needed: u64,
}

impl Quota {
    /// The quota of a workspace; `None` if it is read-only.
    pub(crate) fn of(workspace: &Workspace) -> Option<Self> {
        match workspace.access {
            WorkspaceAccess::ReadOnly => None,
            WorkspaceAccess::ReadWrite { max_bytes } => {
                Some(Self { path: workspace.path.clone(), max_bytes, writing: Arc::default() })
            }
        }
    }

    /// The path of the workspace.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The free room, reserved for one writer in the gateway.
    pub(crate) async fn lock_for_writing(&self) -> WorkspaceWriteLock {
        let writing = Arc::clone(&self.writing).lock_owned().await;
        let (folder, max_bytes, left) = (self.path.clone(), self.max_bytes, self.left().await);
        WorkspaceWriteLock { folder, max_bytes, left, _writing: writing }
    }

    /// How many bytes may still be written.
    pub(crate) async fn left(&self) -> u64 {
        self.max_bytes.saturating_sub(self.used().await)
    }

    /// Completes when the folder exceeds its quota.
    pub(crate) async fn exceeded(&self) -> Failure {
        loop {
            let started = Instant::now();
            let before = FreeSpace::of_disk(&self.path);
            let Some(left) = self.max_bytes.checked_sub(self.used().await) else {
                return Failure::WorkspaceFull { max_bytes: self.max_bytes };
            };
            let next =
                Instant::now() + (started.elapsed() * MEASURE_PAUSE_FACTOR).max(MEASURE_INTERVAL);
            while Instant::now() < next && before.used_since(FreeSpace::of_disk(&self.path)) < left
            {
                tokio::time::sleep(DISK_CHECK_INTERVAL).await;
            }
        }
    }

    async fn used(&self) -> u64 {
        let (path, enough) = (self.path.clone(), self.max_bytes);
        // Measuring can take long and must not block other tasks.
        tokio::task::spawn_blocking(move || used(&path, enough)).await.unwrap_or(u64::MAX)
    }
}

/// The free space of a disk.
#[derive(Clone, Copy, Default)]
struct FreeSpace {
    bytes: u64,
    files: u64,
}

impl FreeSpace {
    /// The free space of the disk; zero if it cannot be determined.
    fn of_disk(path: &Path) -> Self {
        statvfs(path).map_or_else(
            |_| Self::default(),
            |disk| Self { bytes: disk.f_bfree.saturating_mul(disk.f_frsize), files: disk.f_ffree },
        )
    }

    /// The space that has been used since; an empty file counts as well.
    fn used_since(self, now: Self) -> u64 {
        let files = self.files.saturating_sub(now.files).saturating_mul(MIN_SIZE_ON_DISK);
        self.bytes.saturating_sub(now.bytes).max(files)
    }
}

/// The disk space of everything below `folder`; counting may stop beyond `enough`.
fn used(folder: &Path, enough: u64) -> u64 {
    let mut total = 0_u64;
    let mut rest = vec![folder.to_owned()];
    while let Some(folder) = rest.pop() {
        // A folder that was removed meanwhile takes no space.
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for entry in entries.flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            total = total.saturating_add(metadata.len().max(MIN_SIZE_ON_DISK));
            if total > enough {
                return total;
            }
            if metadata.is_dir() {
                rest.push(entry.path());
            }
        }
    }
    total
}
