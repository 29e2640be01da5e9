//! What the bridge asks of Linux, and what it does without on other systems.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Opens a handle on a file or folder that is only looked at.
#[cfg(target_os = "linux")]
pub(crate) const LOOK: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(crate) const LOOK: OFlags = OFlags::RDONLY;

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

/// Opens nothing: this system does not keep a path below a folder.
#[cfg(not(target_os = "linux"))]
pub(crate) fn open_beneath(
    _folder: impl AsFd,
    _path: &str,
    _flags: OFlags,
    _mode: Mode,
) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// Starts a child with huge pages, whether this process has them or not: a child inherits that.
#[cfg(target_os = "linux")]
pub(crate) fn with_huge_pages<T>(start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    use rustix::thread::{disable_transparent_huge_pages, transparent_huge_pages_are_disabled};
    let without = transparent_huge_pages_are_disabled().unwrap_or(false);
    // Where the kernel does not let us, the child does without, too.
    if without {
        _ = disable_transparent_huge_pages(false);
    }
    let child = start();
    if without {
        _ = disable_transparent_huge_pages(true);
    }
    child
}

/// Starts a child as it is: this system decides about the size of pages itself.
#[cfg(not(target_os = "linux"))]
pub(crate) fn with_huge_pages<T>(start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    start()
}
