//! A folder in memory for programs. It is a separate file system, so the kernel enforces its size,
//! and it is removed with its last descriptor.

use std::io;
use std::os::fd::OwnedFd;

use crate::confinement::{Confinement, System};

/// A folder in memory, described by the memory that it may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScratchFolder {
    /// The size limit for the contents and the kernel's data about each file together.
    pub bytes: u64,
}

impl ScratchFolder {
    /// The path at which a program sees it.
    pub const PATH: &str = "/tmp";

    /// The divisor of a program's memory limit that gives the size of its folder.
    pub const MEMORY_DIVISOR: u64 = 4;

    /// The folder of a program with this memory limit.
    #[must_use]
    pub fn of(memory_bytes: u64) -> Self {
        Self { bytes: memory_bytes / Self::MEMORY_DIVISOR }
    }

    /// Creates the folder without mounting it. The caller must be privileged in a user namespace,
    /// whose users and groups can own files there.
    ///
    /// # Errors
    /// If the kernel does not allow this process to mount anything.
    pub fn make(self) -> io::Result<OwnedFd> {
        System::make_scratch(self)
    }
}
