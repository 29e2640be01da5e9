//! Runs work that recurses into a syntax tree. The source may be hostile, and parsing, walking and
//! dropping a deep tree recurses, so that happens on a separate large stack if necessary.

use std::panic::{self, AssertUnwindSafe};
use std::thread;

/// The largest source that is parsed, in bytes; no model writes more.
pub(super) const MAX_SOURCE: usize = 1024 * 1024;

/// The stack size for deep trees, far more than the deepest accepted tree needs in any build. Only
/// touched pages take memory.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// The depth for which any stack suffices. Most programs are below it, and starting a thread takes
/// longer than analysing them.
const SHALLOW_DEPTH: usize = 100;

/// Runs work that recurses into a tree of this depth, on a stack that is large enough.
pub(super) fn on_stack_for<T: Send>(depth: usize, work: impl FnOnce() -> T + Send) -> Option<T> {
    if depth <= SHALLOW_DEPTH {
        return panic::catch_unwind(AssertUnwindSafe(work)).ok();
    }
    on_stack_of(STACK_BYTES, work)
}

/// Runs work on a separate stack of this size.
pub(super) fn on_stack_of<T: Send>(bytes: usize, work: impl FnOnce() -> T + Send) -> Option<T> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("program-check".to_owned()).stack_size(bytes);
        builder.spawn_scoped(scope, work).ok()?.join().ok()
    })
}
