//! Files for programs on the embedded Python, which make no system calls for files. Their worker
//! sends requests on a separate socket and gets a status, entries or an open file.
//!
//! This is part of the sandbox: without one, programs open files themselves. It exists on Linux
//! only; on other systems `other.rs` replaces it.

pub(crate) mod channel;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
#[cfg_attr(target_os = "linux", allow(dead_code, reason = "compiled for its tests"))]
mod other;
pub(crate) mod packets;
pub(crate) mod protected;
pub(crate) mod protected_snapshot;

#[cfg(target_os = "linux")]
pub(crate) use linux::{FileServer, Folder};
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{FileServer, Folder};

/// The number of the workspace folder.
pub(crate) const WORKSPACE: u8 = 0;

/// The number of the folder with a file for each tool.
pub(crate) const TOOLS: u8 = 1;

/// The number of a worker's scratch folder in memory.
pub(crate) const SCRATCH: u8 = 2;
