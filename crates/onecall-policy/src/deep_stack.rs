//! Runs work that may recurse deeply. The parser and the validator of Cedar recurse as deep as an
//! expression is nested, and an overflow of the stack would end the process.

use std::thread;

/// The stack that is reserved; only what is used costs memory.
const STACK_BYTES: usize = 128 * 1024 * 1024;

/// Runs `work` on a thread with a large stack; `None` if the thread cannot be started or panics.
pub(crate) fn with_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("policy".to_owned()).stack_size(STACK_BYTES);
        thread.spawn_scoped(scope, work).ok()?.join().ok()
    })
}
