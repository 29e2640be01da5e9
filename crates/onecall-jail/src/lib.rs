//! Sandboxes the current process before untrusted code runs in it.
//!
//! A zygote enters its own namespaces once ([`Jail::isolate`]); each worker it forks then builds
//! the other walls (protections of the kernel) around itself ([`Jail::prepare`]) and, when the
//! program and its limits are known, applies those ([`SandboxedProcess::limit`]). If the zygote is another
//! program than this one, the walls that survive its execution are built before
//! ([`Jail::enclose`]). Nothing that is given up here can be regained. The operating system is
//! behind one trait, `Confinement`: `linux/` has one file for each wall; other systems have none
//! and run programs only if none is demanded.

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
// On Linux only its tests use it.
#[cfg(any(test, not(target_os = "linux")))]
mod unconfined;

pub use canary::{Canary, CanaryResult, canaries, deadly_canary};
pub use environment::ALLOCATOR_SETTING;
pub use error::JailError;
pub use fork::{Forked, die_with_parent, fork};
pub use jail::{EnclosedProcess, Isolation, Jail, ProgramLimits, SandboxedProcess, SyscallFilter};
#[cfg(target_os = "linux")]
pub use linux::{release_start_memory, use_large_pages};
pub use property::{FileCalls, Property};
pub use report::{Report, Wall, WallState};
pub use requirement::{JailMode, Requirement};
pub use resources::MAX_THREADS;
pub use scratch::ScratchFolder;
pub use signals::ignore_file_size_signal;
pub use streams::close_standard_streams;
