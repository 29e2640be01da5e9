//! Huge pages make programs faster that handle much data at once. The gateway handles little,
//! and they would only make it larger.

/// This process does without, from its very beginning: what it has touched stays as it is.
pub(crate) fn small() {
    // Where the kernel has no huge pages, nothing is lost.
    _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// This process may have them.
pub(crate) fn huge() {
    _ = rustix::thread::disable_transparent_huge_pages(false);
}
