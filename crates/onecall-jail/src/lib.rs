//! Locks the current process down before foreign code runs in it.
//!
//! A worker calls [`lock_down`] once, after its fork and before the first line of
//! a program. What is taken away here cannot be had back.

mod lifetime;
mod resources;
mod streams;

use std::io;

/// Gives up what a program must not have: privileges, a life beyond the parent's,
/// standard streams, core dumps, files it could write, and memory over
/// `memory_bytes` on top of what the process uses now.
pub fn lock_down(memory_bytes: u64) -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    resources::limit(memory_bytes)
}

pub use lifetime::die_with_parent;
pub use streams::close_standard_streams;
