//! Runs work that recurses into a syntax tree. The source may be hostile, and parsing, walking and
//! dropping a deep tree recurses, so that happens on a separate large stack if necessary.

use std::panic::{self, AssertUnwindSafe};

/// The largest source that is parsed, in bytes; no model writes more.
pub(super) const MAX_SOURCE: usize = 1024 * 1024;

/// The stack size for deep trees, far more than the deepest accepted tree needs in any build. Only
/// touched pages take memory.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// The depth for which any stack suffices. Most programs are below it.
const SHALLOW_DEPTH: usize = 100;

/// Runs work that recurses into a tree of this depth, on a stack that is large enough.
pub(super) fn on_stack_for<T>(depth: usize, work: impl FnOnce() -> T) -> Option<T> {
    if depth <= SHALLOW_DEPTH {
        return panic::catch_unwind(AssertUnwindSafe(work)).ok();
    }
    on_stack_of(STACK_BYTES, work)
}

/// Runs work on a separate stack of this size, in this thread: starting another one would take longer than most
/// checks.
pub(super) fn on_stack_of<T>(bytes: usize, work: impl FnOnce() -> T) -> Option<T> {
    panic::catch_unwind(AssertUnwindSafe(|| stacker::grow(bytes, work))).ok()
}
