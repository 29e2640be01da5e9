//! Workers on the system's Python. The gateway finds the interpreter; a zygote process of this
//! binary builds the sandbox and then executes it.

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
pub(crate) use interpreter::find_interpreter;

use onecall_jail::{EnclosedProcess, FileCalls, Jail, Property};
use rustix::io::{FdFlags, fcntl_setfd};
use serde_json::{Value, json};

use crate::bootstrap::{MODULES, Module};
use crate::sandbox_plan::{Interpreter, SandboxPlan, confines_effects};
use crate::sandbox_report::WallReport;
use crate::system;

/// The modules that replace the native module of the embedded interpreter.
const WIRE_MODULES: [Module; 5] = [
    Module {
        name: "_onecall_sandbox",
        file: "<onecall>/sandbox.py",
        source: include_str!("sandbox.py"),
    },
    Module { name: "_onecall_files", file: "<onecall>/files.py", source: include_str!("files.py") },
    Module {
        name: "_onecall_bytecode",
        file: "<onecall>/bytecode.py",
        source: include_str!("bytecode.py"),
    },
    Module { name: "_onecall_forks", file: "<onecall>/forks.py", source: include_str!("forks.py") },
    Module { name: "_onecall", file: "<onecall>/wire.py", source: include_str!("wire.py") },
];

const LOADER: &str = include_str!("loader.py");
const PROBE_SOURCE: &str = include_str!("probe.py");

/// The first argument of a process that examines an interpreter.
pub(crate) const PROBE_ARGUMENT: &str = "cpython-probe";

/// The exit code of a probe whose sandbox could not be built.
const EXIT_SANDBOX_FAILED: i32 = 125;

/// The exit code of a probe that could not execute the interpreter.
const EXIT_NOT_EXECUTED: i32 = 126;

/// The complete environment of a program. The thread counts are limited because numeric libraries
/// otherwise start one thread per processor, each of which reserves memory. The hash seed is fixed
/// so that a journalled run that is continued elsewhere iterates over sets in the same order.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("LC_CTYPE", "C.UTF-8"),
    ("MALLOC_ARENA_MAX", "1"),
    ("MKL_NUM_THREADS", "1"),
    ("OMP_NUM_THREADS", "1"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("PYTHONHASHSEED", "0"),
];

/// The setup is written to a pipe before the interpreter starts reading, so it must fit into the
/// pipe's buffer.
const SETUP_SIZE: usize = 1024 * 1024;

/// Runs the zygote on this process's stdin until the gateway closes it. `plan` is the argument that
/// the engine started this process with; it describes the sandbox of the workers.
pub fn run_zygote(plan: &str) -> ExitCode {
    system::allow_large_pages();
    match become_zygote(plan) {
        Ok(never) => match never {},
        Err(StartupError::Sandbox(error) | StartupError::Execution(error)) => print_error(&error),
    }
    ExitCode::FAILURE
}

/// Makes the interpreter in `plan` report on stdout what it is, inside the sandbox.
pub fn run_probe(plan: &str) -> ExitCode {
    let (code, error) = match become_probe(plan) {
        Ok(never) => match never {},
        Err(StartupError::Sandbox(error)) => (EXIT_SANDBOX_FAILED, error),
        Err(StartupError::Execution(error)) => (EXIT_NOT_EXECUTED, error),
    };
    print_error(&error);
    u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Writes an error to stderr, which the gateway reads.
fn print_error(error: &io::Error) {
    _ = writeln!(io::stderr(), "{error}");
}

/// Why this process could not execute an interpreter.
enum StartupError {
    /// The sandbox could not be built.
    Sandbox(io::Error),
    /// The interpreter could not be executed.
    Execution(io::Error),
}

impl From<io::Error> for StartupError {
    fn from(error: io::Error) -> Self {
        Self::Sandbox(error)
    }
}

fn become_zygote(plan: &str) -> Result<Infallible, StartupError> {
    // Standard output of the workers; inside the sandbox there is no /dev to open it from.
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(null).map_err(io::Error::from)?;
    // The options for an isolated interpreter (`-I`), except that it reads its environment, which
    // has nothing of the user.
    become_interpreter(plan, &["-s", "-P", "-X", "utf8", "-c", LOADER])
}

fn become_probe(plan: &str) -> Result<Infallible, StartupError> {
    // `-S` leaves out `site`, so that the code it loads does not run before the sandbox is
    // complete.
    become_interpreter(plan, &["-I", "-S", "-c", PROBE_SOURCE])
}

fn become_interpreter(plan: &str, arguments: &[&str]) -> Result<Infallible, StartupError> {
    let plan = SandboxPlan::parse(plan).map_err(io::Error::from)?;
    let interpreter =
        plan.interpreter.as_ref().ok_or(io::Error::from(io::ErrorKind::InvalidInput))?;
    let size = system::open_memory_usage()?;
    let (setup, mut to_setup) = io::pipe()?;
    system::enlarge_pipe(&to_setup, SETUP_SIZE)?;
    let inherited = [size.as_fd(), setup.as_fd()];
    let jail = plan.jail();
    let isolation = jail.isolate().map_err(io::Error::other)?;
    let keep = [size.as_fd(), setup.as_fd(), to_setup.as_fd()];
    let enclosed = jail.enclose(&isolation, &keep).map_err(io::Error::other)?;
    to_setup.write_all(setup_for(&enclosed, &jail, size.as_fd()).to_string().as_bytes())?;
    drop(to_setup);
    for descriptor in inherited {
        fcntl_setfd(descriptor, FdFlags::empty()).map_err(io::Error::from)?;
    }
    Err(StartupError::Execution(command(interpreter, arguments, setup.as_raw_fd()).exec()))
}

/// The command for an interpreter that has its own environment and writes no compiled modules.
fn command(interpreter: &Interpreter, arguments: &[&str], setup: i32) -> Command {
    let mut command = Command::new(&interpreter.executable);
    command.arg("-B").args(arguments).arg(setup.to_string());
    command.env_clear().envs(ENVIRONMENT);
    command
}

/// The setup that the loader reads.
fn setup_for(enclosed: &EnclosedProcess, jail: &Jail, size: BorrowedFd<'_>) -> Value {
    let filter = enclosed.filter.as_ref().map(|filter| {
        json!({
            "program": hexadecimal(&filter.program),
            "own_process": filter.own_process,
            "installed_by": filter.installed_by,
        })
    });
    let module = |it: &Module| json!([it.name, it.file, it.source]);
    json!({
        "modules": WIRE_MODULES.iter().chain(MODULES).map(module).collect::<Vec<_>>(),
        "size": size.as_raw_fd(),
        "confines_effects": confines_effects(&jail.requirement),
        "is_required": jail.requirement.demands(Property::Processes),
        "counted_user": enclosed.counted_user,
        "threads": onecall_jail::MAX_THREADS,
        "file_calls": enclosed.report.file_calls == FileCalls::Allowed,
        "walls": enclosed.report.walls.iter().map(WallReport::from).collect::<Vec<_>>(),
        "filter": filter,
        "environment": ENVIRONMENT.map(|(name, _)| name),
    })
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
