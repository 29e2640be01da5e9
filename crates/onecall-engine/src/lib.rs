//! Runs programs, each in a process of its own.
//!
//! The gateway's side is [`Engines`]: for each engine of the registry ([`ENGINES`]) it keeps a
//! zygote process and a few workers forked in advance, gives a program to a worker, and answers the
//! worker's tool calls through a [`ProgramHost`](onecall_core::ProgramHost). The worker's side is
//! [`run_if_zygote`], the main function of the processes that the engines start.

mod admission;
mod bootstrap;
mod calls;
mod candidates;
mod connection;
mod control;
mod cpython;
mod engines;
mod files;
#[cfg(test)]
mod hostile_frames;
mod machine_memory;
mod missing_modules;
mod plain_data;
mod pool;
mod protocol;
mod python;
mod registered;
mod registry;
mod sandbox_plan;
mod sandbox_report;
mod scratch;
mod system;
mod typescript;
mod worker;
mod worker_process;
mod workspace;
mod zygote;

use std::process::ExitCode;

pub use admission::Load;
pub use control::{HeldCall, HeldCalls, Journalled, ObservationSink, RunControl};
pub use cpython::PythonFiles;
pub use engines::{EngineSettings, Engines, Session};
#[cfg(target_os = "linux")]
pub use onecall_jail::release_start_memory;
pub use onecall_jail::{JailMode, Property, Requirement, ignore_file_size_signal};
pub use plain_data::{ArgumentWriter, PlainData, UnreadableAnswer, UnwritableArguments};
pub use pool::EngineError;
pub use registered::RegisteredEngine;
pub use registry::{ENGINES, EngineMismatch, EngineSpec, check_choice, choice_of};
pub use sandbox_report::{EscapeAttempt, SandboxReport, WallReport};
pub use worker::ProgramOutput;
pub use workspace::{NotEnoughSpace, WorkspaceWriteLock};

/// Whether other programs run files or folders of this name, or learn from them what to run. No
/// program may write such a file.
#[must_use]
pub fn is_protected_file_name(name: &str) -> bool {
    files::protected::is_protected_name(name)
}

/// The main function of a process that an engine starts; it gets one argument.
type ProcessMain = fn(&str) -> ExitCode;

/// Runs the zygote if an engine has started this process as one. An application that uses its own
/// binary as the `executable` of the engines must call this first in `main`, and exit with the code
/// that it returns.
#[must_use]
pub fn run_if_zygote() -> Option<ExitCode> {
    let (body, plan) = process_main()?;
    Some(body(&plan))
}

/// The main function of this process and its argument, if an engine has started it.
fn process_main() -> Option<(ProcessMain, String)> {
    let mut arguments = std::env::args_os().skip(1).map(std::ffi::OsString::into_string);
    let (name, plan) = (arguments.next()?.ok()?, arguments.next()?.ok()?);
    let body = match name == cpython::PROBE_ARGUMENT {
        true => cpython::run_probe,
        false => ENGINES.iter().find(|engine| engine.zygote == name)?.run_zygote,
    };
    Some((body, plan))
}
