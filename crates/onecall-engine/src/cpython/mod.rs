//! The body of a worker that is the system's Python: found by the gateway, locked in
//! by this binary, which then becomes it.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

mod installation;
mod interpreter;
mod search;

pub use interpreter::PythonFiles;
pub(crate) use interpreter::find;

use onecall_jail::{Enclosed, FileCalls, Jail, Property};
use rustix::io::{FdFlags, fcntl_setfd};
use serde_json::{Value, json};

use crate::bootstrap::{MODULES, Module};
use crate::cell::{Interpreter, Plan};
use crate::examination::ExaminedWall;
use crate::system;

/// What replaces the native module of the embedded interpreter.
const LOWEST_LAYER: [Module; 3] = [
    Module { name: "_onecall_cell", file: "<onecall>/cell.py", source: include_str!("cell.py") },
    Module { name: "_onecall_files", file: "<onecall>/files.py", source: include_str!("files.py") },
    Module { name: "_onecall", file: "<onecall>/wire.py", source: include_str!("wire.py") },
];

const LOADER: &str = include_str!("loader.py");
const PROBE_SOURCE: &str = include_str!("probe.py");

/// The first argument of the process that asks an interpreter what it is.
pub(crate) const PROBE: &str = "cpython-probe";

/// How a process ends that was to be a probe and could not be locked in.
const CANNOT_LOCK_IN: i32 = 125;

/// How a process ends that was to be a probe and could not become the interpreter.
const CANNOT_EXECUTE: i32 = 126;

/// All that a program sees as its environment. Numeric libraries otherwise start as
/// many threads as there are processors, and each thread reserves memory of its own.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("LC_CTYPE", "C.UTF-8"),
    ("MALLOC_ARENA_MAX", "1"),
    ("MKL_NUM_THREADS", "1"),
    ("OMP_NUM_THREADS", "1"),
    ("OPENBLAS_NUM_THREADS", "1"),
];

/// The setup must fit into a pipe, since nobody reads it before all is written.
const SETUP_SIZE: usize = 1024 * 1024;

/// Runs the zygote on this process's stdin until the gateway closes it. Its
/// workers are locked in as `plan` says, the argument the engine started this
/// process with.
pub fn run_zygote(plan: &str) -> ExitCode {
    match become_zygote(plan) {
        Ok(never) => match never {},
        Err(Obstacle::Walls(error) | Obstacle::Execution(error)) => complain(&error),
    }
    ExitCode::FAILURE
}

/// Has the interpreter in `plan` say on stdout what it is, locked in like a program.
pub fn run_probe(plan: &str) -> ExitCode {
    let (code, error) = match become_probe(plan) {
        Ok(never) => match never {},
        Err(Obstacle::Walls(error)) => (CANNOT_LOCK_IN, error),
        Err(Obstacle::Execution(error)) => (CANNOT_EXECUTE, error),
    };
    complain(&error);
    u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// The gateway logs what a helper process writes to stderr.
fn complain(error: &io::Error) {
    _ = writeln!(io::stderr(), "{error}");
}

/// Why this process has not become an interpreter.
enum Obstacle {
    /// There are not the walls that it needs.
    Walls(io::Error),
    /// It cannot be executed.
    Execution(io::Error),
}

impl From<io::Error> for Obstacle {
    fn from(error: io::Error) -> Self {
        Self::Walls(error)
    }
}

fn become_zygote(plan: &str) -> Result<Infallible, Obstacle> {
    // The workers' standard streams, where there is no /dev any more.
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(null).map_err(io::Error::from)?;
    become_interpreter(plan, &["-X", "utf8", "-c", LOADER])
}

fn become_probe(plan: &str) -> Result<Infallible, Obstacle> {
    // Without `site`, whatever it would load is loaded when the last wall stands.
    become_interpreter(plan, &["-S", "-c", PROBE_SOURCE])
}

fn become_interpreter(plan: &str, arguments: &[&str]) -> Result<Infallible, Obstacle> {
    let plan = Plan::parse(plan).map_err(io::Error::from)?;
    let interpreter =
        plan.interpreter.as_ref().ok_or(io::Error::from(io::ErrorKind::InvalidInput))?;
    let size = system::open_own_size()?;
    let (setup, mut to_setup) = io::pipe()?;
    system::enlarge_pipe(&to_setup, SETUP_SIZE)?;
    let inherited = [size.as_fd(), setup.as_fd()];
    let jail = plan.jail();
    let isolation = jail.isolate().map_err(io::Error::other)?;
    let keep = [size.as_fd(), setup.as_fd(), to_setup.as_fd()];
    let enclosed = jail.enclose(&isolation, &keep).map_err(io::Error::other)?;
    to_setup.write_all(describe(&enclosed, &jail, size.as_fd()).to_string().as_bytes())?;
    drop(to_setup);
    for descriptor in inherited {
        fcntl_setfd(descriptor, FdFlags::empty()).map_err(io::Error::from)?;
    }
    Err(Obstacle::Execution(command(interpreter, arguments, setup.as_raw_fd()).exec()))
}

/// Isolated from the user's settings, without writing compiled modules.
fn command(interpreter: &Interpreter, arguments: &[&str], setup: i32) -> Command {
    let mut command = Command::new(&interpreter.executable);
    command.args(["-I", "-B"]).args(arguments).arg(setup.to_string());
    command.env_clear().envs(ENVIRONMENT);
    command
}

/// What the loader reads.
fn describe(enclosed: &Enclosed, jail: &Jail, size: BorrowedFd<'_>) -> Value {
    let filters = &enclosed.filters;
    let module = |it: &Module| json!([it.name, it.file, it.source]);
    json!({
        "modules": LOWEST_LAYER.iter().chain(&MODULES).map(module).collect::<Vec<_>>(),
        "size": size.as_raw_fd(),
        "is_required": jail.requirement.demands(Property::Processes),
        "counted_user": enclosed.counted_user,
        "threads": onecall_jail::THREADS,
        "file_calls": enclosed.report.file_calls == FileCalls::Allowed,
        "walls": enclosed.report.walls.iter().map(ExaminedWall::from).collect::<Vec<_>>(),
        "filters": filters.programs.iter().map(|it| hexadecimal(it)).collect::<Vec<_>>(),
        "own_process": filters.own_process,
        "installed_by": filters.installed_by,
        "environment": ENVIRONMENT.map(|(name, _)| name),
    })
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
