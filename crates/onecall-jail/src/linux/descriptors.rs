//! Closes inherited descriptors: a worker keeps only those that it was given.
#![expect(unsafe_code, reason = "closing descriptors by number has no safe form")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Closes every descriptor above the standard streams that is not in `keep`.
///
/// An owner of a closed descriptor that still exists in this process must never be dropped; a
/// worker exits without unwinding to the zygote's variables.
pub(crate) fn close_all_but(keep: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut kept: Vec<u32> =
        keep.iter().filter_map(|descriptor| u32::try_from(descriptor.as_raw_fd()).ok()).collect();
    kept.sort_unstable();
    let mut first = 3;
    for descriptor in kept.into_iter().filter(|descriptor| *descriptor >= 3) {
        if descriptor > first {
            close_range(first, descriptor - 1)?;
        }
        first = descriptor + 1;
    }
    close_range(first, u32::MAX)
}

fn close_range(first: u32, last: u32) -> io::Result<()> {
    // SAFETY: the call reads no memory. The process has one thread, which uses none
    // of these descriptors any more: the caller names those that it does.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
