//! Runs programs, each in a process of its own.
//!
//! The gateway's side is [`Engines`]: for each it keeps a zygote and a few workers
//! forked ahead, hands a worker its program and answers its tool calls through a
//! [`ProgramHost`](onecall_core::ProgramHost). The worker's side is [`run_python_zygote`],
//! [`run_cpython_zygote`], [`run_cpython_probe`] and [`run_typescript_zygote`], the bodies of
//! processes that the engines start.

mod absent;
mod admission;
mod bootstrap;
mod calls;
mod cell;
mod connection;
mod cpython;
mod engines;
mod examination;
mod files;
#[cfg(test)]
mod hostile_frames;
mod inside;
mod machine_memory;
mod plain;
mod pool;
mod protocol;
mod python;
mod scratch;
mod system;
mod typescript;
mod worker;
mod workspace;
mod zygote;

use std::process::ExitCode;

pub use admission::Load;
pub use cpython::PythonFiles;
pub use cpython::{run_probe as run_cpython_probe, run_zygote as run_cpython_zygote};
pub use engines::{EngineSettings, Engines, Session};
pub use examination::{Attempt, Examination, ExaminedWall};
pub use onecall_jail::{Mode as JailMode, Property, Requirement};
pub use plain::{ArgumentWriter, PlainData, Unreadable, Unwritable};
pub use pool::EngineError;
pub use python::run_zygote as run_python_zygote;
pub use typescript::run_zygote as run_typescript_zygote;
pub use worker::ProgramOutput;
pub use workspace::WorkspaceRoom;

/// Whether a file or folder of this name is one that other programs run or take orders from, so that
/// no program may write it.
#[must_use]
pub fn is_run_by_others(name: &str) -> bool {
    files::protected::is_protected_name(name)
}

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
        "cpython-probe" => Some(run_cpython_probe(&plan)),
        "typescript-zygote" => Some(run_typescript_zygote(&plan)),
        _ => None,
    }
}
