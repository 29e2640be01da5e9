//! System calls that only Linux has, with replacements for other systems.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// The flag that opens a file or folder only to inspect it.
#[cfg(target_os = "linux")]
pub(crate) const INSPECT_ONLY: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(crate) const INSPECT_ONLY: OFlags = OFlags::RDONLY;

/// Opens a path that the kernel resolves below `folder`: neither `..` nor a link leads out.
#[cfg(target_os = "linux")]
pub(crate) fn open_beneath(
    folder: impl AsFd,
    path: &str,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    openat2(folder, path, flags, mode, resolve)
}

/// Always fails: this system cannot confine a path to a folder.
#[cfg(not(target_os = "linux"))]
pub(crate) fn open_beneath(
    _folder: impl AsFd,
    _path: &str,
    _flags: OFlags,
    _mode: Mode,
) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// Starts a child process with huge pages enabled, even if this process has disabled them: a child
/// inherits the setting.
#[cfg(target_os = "linux")]
pub(crate) fn with_huge_pages<T>(start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    use rustix::thread::{disable_transparent_huge_pages, transparent_huge_pages_are_disabled};
    let without = transparent_huge_pages_are_disabled().unwrap_or(false);
    // If the kernel refuses, the child runs without huge pages.
    if without {
        _ = disable_transparent_huge_pages(false);
    }
    let child = start();
    if without {
        _ = disable_transparent_huge_pages(true);
    }
    child
}

/// Starts a child process without any change: only Linux has this setting.
#[cfg(not(target_os = "linux"))]
pub(crate) fn with_huge_pages<T>(start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    start()
}
