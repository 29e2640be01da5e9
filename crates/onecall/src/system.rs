//! Process settings that only Linux has, with replacements for other systems.

use std::io;

/// Disables huge pages for this process; this must happen first, because memory in use is not
/// changed. Huge pages speed up programs that handle much data. The gateway handles little, and
/// would only use more memory.
#[cfg(target_os = "linux")]
pub(crate) fn use_small_pages() {
    // An error means that the kernel has no huge pages.
    _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// Enables huge pages for this process.
#[cfg(target_os = "linux")]
pub(crate) fn use_huge_pages() {
    _ = rustix::thread::disable_transparent_huge_pages(false);
}

/// Prevents other processes from reading the environment and memory of this process through `/proc`
/// or by tracing it, and prevents core dumps, which could contain secrets. Servers and commands run
/// as the same user. Processes that it starts are not affected: executing a file resets the
/// protection.
#[cfg(target_os = "linux")]
pub(crate) fn close_to_other_processes() -> io::Result<()> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Does nothing: this system chooses the size of pages itself.
#[cfg(not(target_os = "linux"))]
pub(crate) fn use_small_pages() {}

/// Does nothing: this system chooses the size of pages itself.
#[cfg(not(target_os = "linux"))]
pub(crate) fn use_huge_pages() {}

/// Does nothing: this system itself decides which processes may read another one.
#[cfg(not(target_os = "linux"))]
pub(crate) fn close_to_other_processes() -> io::Result<()> {
    Ok(())
}
