//! Locks the current process down before foreign code runs in it.
//!
//! A zygote enters namespaces of its own once ([`Jail::isolate`]); each worker it
//! forks then builds the other walls around itself ([`Jail::prepare`]) and, when
//! the program and its limits are known, applies those ([`Prepared::limit`]). Where
//! the zygote is another program than this one, the walls that outlast the change go
//! up before it ([`Jail::enclose`]).
//! What is taken away here cannot be had back. What an
//! operating system can do about it is behind one trait, `Confinement`: `linux/` has one file for
//! each wall, other systems have none and run programs only where none is demanded.

mod canary;
mod confinement;
mod environment;
mod error;
mod fork;
mod jail;
#[cfg(target_os = "linux")]
mod linux;
mod property;
mod report;
mod requirement;
mod resources;
mod scratch;
mod signals;
mod streams;
// On Linux only its tests need it.
#[cfg(any(test, not(target_os = "linux")))]
mod unconfined;

pub use canary::{Canary, Verdict, canaries, deadly_canary};
pub use environment::ALLOCATOR_SETTING;
pub use error::JailError;
pub use fork::{Forked, die_with_parent, fork};
pub use jail::{Enclosed, Filters, Isolation, Jail, Prepared, ProgramLimits};
pub use property::{FileCalls, Property};
pub use report::{Report, State, Wall};
pub use requirement::{Mode, Requirement};
pub use resources::THREADS;
pub use scratch::Scratch;
pub use signals::ignore_file_size_signal;
pub use streams::close_standard_streams;
