//! Runs programs, each in a process of its own.
//!
//! The gateway's side is [`Engines`]: for each it keeps a zygote and a few workers
//! forked ahead, hands a worker its program and answers its tool calls through a
//! [`ToolHost`](onecall_core::ToolHost). The worker's side is [`run_python_zygote`],
//! [`run_cpython_zygote`] and [`run_typescript_zygote`], the bodies of processes that the engines start.

mod bootstrap;
mod calls;
mod cell;
mod connection;
mod cpython;
mod engines;
mod examination;
#[cfg(test)]
mod hostile_frames;
mod inside;
mod pool;
mod protocol;
mod python;
mod typescript;
mod worker;
mod workspace;
mod zygote;

pub use cpython::run_zygote as run_cpython_zygote;
pub use engines::{EngineSettings, Engines, Session};
pub use examination::{Attempt, Examination, ExaminedWall};
pub use onecall_jail::Mode as JailMode;
pub use pool::EngineError;
pub use python::run_zygote as run_python_zygote;
pub use typescript::run_zygote as run_typescript_zygote;
pub use worker::ProgramOutput;
