//! A folder in memory for one program. It is a file system of its own, so the kernel keeps it
//! within its size, and it is gone with its last descriptor.

use std::io;
use std::os::fd::OwnedFd;

use crate::confinement::{Confinement, System};

/// A folder in memory, by the memory that it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scratch {
    /// Contents, and what the kernel keeps of each file, together.
    pub bytes: u64,
}

impl Scratch {
    /// Where a program sees it.
    pub const PLACE: &str = "/tmp";

    /// The part of a program's memory limit that its folder takes.
    pub const PART: u64 = 4;

    /// The folder of a program with this memory limit.
    #[must_use]
    pub fn of(memory_bytes: u64) -> Self {
        Self { bytes: memory_bytes / Self::PART }
    }

    /// Makes the folder, without a place in any file tree. The caller needs to be privileged
    /// in a user namespace, whose users and groups can own files there.
    ///
    /// # Errors
    /// Fails where the kernel does not let this process mount anything.
    pub fn make(self) -> io::Result<OwnedFd> {
        System::make_scratch(self)
    }
}
