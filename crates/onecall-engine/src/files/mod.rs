//! Files for programs of the embedded Python, which make no file call themselves: their
//! worker asks here, on a socket of its own, and gets numbers, names or an open file.
//!
//! This belongs to the sandbox: without one, programs open files themselves. So it exists on
//! Linux only, and elsewhere `other.rs` stands in for it.

pub(crate) mod channel;
pub(crate) mod frames;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
#[cfg_attr(target_os = "linux", allow(dead_code, reason = "compiled for its tests"))]
mod other;
pub(crate) mod protected;
pub(crate) mod witness;

#[cfg(target_os = "linux")]
pub(crate) use linux::{Files, Folder};
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{Files, Folder};

/// The number of the workspace among the folders.
pub(crate) const WORKSPACE: u8 = 0;

/// The number of the folder with a file for each tool.
pub(crate) const TOOLS: u8 = 1;

/// The number of the folder in memory that a worker may have for itself.
pub(crate) const SCRATCH: u8 = 2;
