//! The body of a worker that is the system's Python: found by the gateway, locked in
//! by this binary, which then becomes it.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

mod interpreter;

pub(crate) use interpreter::find;

use onecall_jail::{Enclosed, Filter, Mode};
use rustix::io::{FdFlags, fcntl_setfd};
use serde_json::{Value, json};

use crate::bootstrap::{MODULES, Module};
use crate::cell::{Interpreter, Plan};
use crate::examination::ExaminedWall;

/// What replaces the native module of the embedded interpreter.
const LOWEST_LAYER: [Module; 2] = [
    Module { name: "_onecall_cell", file: "<onecall>/cell.py", source: include_str!("cell.py") },
    Module { name: "_onecall", file: "<onecall>/wire.py", source: include_str!("wire.py") },
];

const LOADER: &str = include_str!("loader.py");

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
    let error = match become_interpreter(plan) {
        Err(error) => error,
        Ok(never) => match never {},
    };
    // The gateway logs what the zygote writes to stderr.
    _ = writeln!(io::stderr(), "{error}");
    ExitCode::FAILURE
}

fn become_interpreter(plan: &str) -> io::Result<std::convert::Infallible> {
    let plan = Plan::parse(plan)?;
    let interpreter = plan.interpreter.as_ref().ok_or(io::ErrorKind::InvalidInput)?;
    // The workers' standard streams, where there is no /dev any more.
    rustix::stdio::dup2_stdout(File::options().read(true).write(true).open("/dev/null")?)?;
    let size = File::open("/proc/self/statm")?;
    let (setup, mut to_setup) = io::pipe()?;
    rustix::pipe::fcntl_setpipe_size(&to_setup, SETUP_SIZE)?;
    let inherited = [size.as_fd(), setup.as_fd()];
    let jail = plan.jail();
    let isolation = jail.isolate().map_err(io::Error::other)?;
    let keep = [size.as_fd(), setup.as_fd(), to_setup.as_fd()];
    let enclosed = jail.enclose(&isolation, &keep).map_err(io::Error::other)?;
    to_setup.write_all(describe(&enclosed, plan.mode, size.as_fd()).to_string().as_bytes())?;
    drop(to_setup);
    for descriptor in inherited {
        fcntl_setfd(descriptor, FdFlags::empty())?;
    }
    Err(command(interpreter, setup.as_raw_fd()).exec())
}

/// Isolated from the user's settings, without writing compiled modules.
fn command(interpreter: &Interpreter, setup: i32) -> Command {
    let mut command = Command::new(&interpreter.executable);
    command.args(["-I", "-B", "-X", "utf8", "-c", LOADER]).arg(setup.to_string());
    command.env_clear().envs(ENVIRONMENT);
    command
}

/// What the loader reads.
fn describe(enclosed: &Enclosed, mode: Mode, size: BorrowedFd<'_>) -> Value {
    let module = |it: &Module| json!([it.name, it.file, it.source]);
    json!({
        "modules": LOWEST_LAYER.iter().chain(&MODULES).map(module).collect::<Vec<_>>(),
        "size": size.as_raw_fd(),
        "required": mode == Mode::Required,
        "walls": enclosed.report.walls.iter().map(ExaminedWall::from).collect::<Vec<_>>(),
        "filters": enclosed.filters.iter().map(hexadecimal).collect::<Vec<_>>(),
        "own_process": Filter::OWN_PROCESS,
        "installed_by": Filter::INSTALLED_BY,
        "environment": ENVIRONMENT.map(|(name, _)| name),
    })
}

fn hexadecimal(filter: &Filter) -> String {
    filter.bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}
