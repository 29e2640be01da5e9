//! Locks the current process down before foreign code runs in it.
//!
//! A zygote enters namespaces of its own once ([`Jail::isolate`]); each worker it
//! forks then builds the other walls around itself ([`Jail::prepare`]) and, when
//! the program and its limits are known, applies those ([`Prepared::limit`]). Where
//! the zygote is another program than this one, the walls that outlast the change go
//! up before it ([`Jail::enclose`]).
//! What is taken away here cannot be had back. One file per wall.

mod canary;
mod descriptors;
mod environment;
mod error;
mod filesystem;
mod fork;
mod jail;
mod keeper;
mod lifetime;
mod namespaces;
mod privileges;
mod report;
mod resources;
mod root;
mod signals;
mod streams;
mod syscalls;

pub use canary::{Canary, Verdict, canaries, deadly_canary};
pub use environment::ALLOCATOR_SETTING;
pub use error::JailError;
pub use fork::{Forked, fork};
pub use jail::{Enclosed, Isolation, Jail, Mode, Prepared, ProgramLimits};
pub use lifetime::die_with_parent;
pub use report::{Report, State, Wall};
pub use streams::close_standard_streams;
pub use syscalls::Filter;
