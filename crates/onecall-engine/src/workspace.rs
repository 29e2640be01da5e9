//! Keeps the folder of programs within its quota.
//!
//! The kernel caps each file a program writes by what is left when it starts. Many
//! files together it does not, so the folder is measured while a program runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use onecall_core::{Failure, Workspace, WorkspaceAccess};

/// The least time between two looks at the folder.
const INTERVAL: Duration = Duration::from_millis(50);

/// Looking may take this part of the time at most.
const LOOKING: u32 = 10;

/// What a file or folder takes on disk at least.
const SMALLEST: u64 = 4096;

/// How much programs may leave in their folder.
#[derive(Clone, Debug)]
pub(crate) struct Quota {
    path: PathBuf,
    max_bytes: u64,
}

impl Quota {
    /// The quota of a workspace that can be written to.
    pub(crate) fn of(workspace: &Workspace) -> Option<Self> {
        match workspace.access {
            WorkspaceAccess::ReadOnly => None,
            WorkspaceAccess::ReadWrite { max_bytes } => {
                Some(Self { path: workspace.path.clone(), max_bytes })
            }
        }
    }

    /// What may still be written.
    pub(crate) async fn left(&self) -> u64 {
        self.max_bytes.saturating_sub(self.used().await)
    }

    /// Waits until the folder holds more than it may.
    pub(crate) async fn exceeded(&self) -> Failure {
        loop {
            let started = Instant::now();
            if self.used().await > self.max_bytes {
                return Failure::WorkspaceFull { max_bytes: self.max_bytes };
            }
            tokio::time::sleep((started.elapsed() * LOOKING).max(INTERVAL)).await;
        }
    }

    async fn used(&self) -> u64 {
        let (path, enough) = (self.path.clone(), self.max_bytes);
        // The walk may be long, and other programs go on meanwhile.
        tokio::task::spawn_blocking(move || used(&path, enough)).await.unwrap_or(u64::MAX)
    }
}

/// What everything below `folder` takes on disk; the count may stop beyond `enough`.
fn used(folder: &Path, enough: u64) -> u64 {
    let mut total = 0_u64;
    let mut rest = vec![folder.to_owned()];
    while let Some(folder) = rest.pop() {
        // What was removed meanwhile takes nothing.
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for entry in entries.flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            total = total.saturating_add(metadata.len().max(SMALLEST));
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
