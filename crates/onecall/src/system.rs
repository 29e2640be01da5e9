//! What the command line asks of Linux, and what it does without on other systems.

use std::io;

/// Keeps huge pages away from this process, from its very beginning: what it has touched stays as
/// it is. They make programs faster that handle much data at once; the gateway handles little, and
/// they would only make it larger.
#[cfg(target_os = "linux")]
pub(crate) fn use_small_pages() {
    // Where the kernel has no huge pages, nothing is lost.
    _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// Lets this process have huge pages.
#[cfg(target_os = "linux")]
pub(crate) fn use_huge_pages() {
    _ = rustix::thread::disable_transparent_huge_pages(false);
}

/// Servers and commands run as the user who runs this process: without this, they could read its
/// environment and memory through `/proc`, or trace it. Nor does it leave a core dump with secrets.
/// What it starts is not affected: executing a file takes the protection off.
#[cfg(target_os = "linux")]
pub(crate) fn close_to_other_processes() -> io::Result<()> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Does nothing: this system decides about the size of pages itself.
#[cfg(not(target_os = "linux"))]
pub(crate) fn use_small_pages() {}

/// Does nothing: this system decides about the size of pages itself.
#[cfg(not(target_os = "linux"))]
pub(crate) fn use_huge_pages() {}

/// Does nothing: which processes may look into another is for this system to decide.
#[cfg(not(target_os = "linux"))]
pub(crate) fn close_to_other_processes() -> io::Result<()> {
    Ok(())
}
