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

use std::process::ExitCode;

pub use cpython::run_zygote as run_cpython_zygote;
pub use engines::{EngineSettings, Engines, Session};
pub use examination::{Attempt, Examination, ExaminedWall};
pub use onecall_jail::Mode as JailMode;
pub use pool::EngineError;
pub use python::run_zygote as run_python_zygote;
pub use typescript::run_zygote as run_typescript_zygote;
pub use worker::ProgramOutput;

/// Runs the body of a zygote if an engine has started this process as one. A program
/// that gives engines itself as its `executable` calls this before anything else in
/// `main`, and ends with the code that it gets.
#[must_use]
pub fn run_if_zygote() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1).map(std::ffi::OsString::into_string);
    let (body, plan) = (arguments.next()?.ok()?, arguments.next()?.ok()?);
    match body.as_str() {
        "python-zygote" => Some(run_python_zygote(&plan)),
        "cpython-zygote" => Some(run_cpython_zygote(&plan)),
        "typescript-zygote" => Some(run_typescript_zygote(&plan)),
        _ => None,
    }
}
