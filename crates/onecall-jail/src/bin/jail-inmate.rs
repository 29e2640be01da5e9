//! A test program for this crate: it acts as the zygote, forks a worker, sandboxes it and has it
//! run the scenario that the first argument names. Results are printed to stdout.
#![expect(unsafe_code, reason = "a worker is forked, and some breaches are bare system calls")]
#![expect(clippy::print_stdout, reason = "stdout is how the tests hear of it")]
#![expect(clippy::panic, reason = "a jailed process must be able to panic and unwind")]

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use std::{env, fs, process, thread};

use onecall_jail::{
    CanaryResult, Jail, JailMode, ProgramLimits, Property, Requirement, SandboxedProcess,
    WallState, canaries, deadly_canary, die_with_parent,
};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, waitpid};

const GENEROUS_LIMITS: ProgramLimits =
    ProgramLimits { memory_bytes: 1 << 30, cpu_seconds: 60, file_bytes: 1 << 30 };

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (mode, words) = match words.as_slice() {
        ["off", rest @ ..] => (JailMode::Off, rest),
        ["best-effort", rest @ ..] => (JailMode::BestEffort, rest),
        all => (JailMode::Required, all),
    };
    let (without, words) = match words {
        ["without", property, rest @ ..] => (Property::named(property).into_iter().collect(), rest),
        all => (Vec::new(), all),
    };
    let jail = jail(Requirement { mode, without }, words);
    let isolation = jail.isolate()?;
    let (ours, theirs) = UnixStream::pair()?;
    // SAFETY: this process has one thread.
    match unsafe { libc::fork() } {
        0 => {
            drop(ours);
            die_with_parent()?;
            let prepared = match jail.prepare(&isolation, &[theirs.as_fd()]) {
                Ok(prepared) => prepared,
                Err(error) => {
                    println!("{error}");
                    process::exit(1);
                }
            };
            serve(words, &prepared, theirs)
        }
        worker => {
            drop(theirs);
            watch(words, ours, Pid::from_raw(worker).ok_or("no worker")?)
        }
    }
}

fn jail(requirement: Requirement, words: &[&str]) -> Jail {
    match words {
        ["files", readable, writable] => Jail {
            requirement,
            readable: vec![PathBuf::from(readable)],
            writable: Some(PathBuf::from(writable)),
            start_folder: Some(PathBuf::from(writable)),
            ..Jail::default()
        },
        ["presented", folder] => Jail {
            requirement,
            remapped: vec![(PathBuf::from(folder), PathBuf::from("/shown"))],
            ..Jail::default()
        },
        ["readable", readable, ..] => {
            Jail { requirement, readable: vec![PathBuf::from(readable)], ..Jail::default() }
        }
        _ => Jail { requirement, ..Jail::default() },
    }
}

/// The part of the zygote.
fn watch(words: &[&str], mut socket: UnixStream, worker: Pid) -> Result<(), Failure> {
    match words {
        // The zygote exits and leaves the worker behind.
        ["orphan"] => return Ok(()),
        ["status"] => {
            socket.read_exact(&mut [0])?;
            let status = fs::read_to_string(format!("/proc/{}/status", worker.as_raw_nonzero()))?;
            let kept = ["Seccomp:", "NoNewPrivs:", "CapEff:", "CapPrm:", "CapBnd:", "CapAmb:"];
            for line in status.lines().filter(|line| kept.iter().any(|key| line.starts_with(key))) {
                println!("{}", line.replace('\t', " "));
            }
        }
        ["ordinary"] => {
            socket.write_all(b"ping")?;
            socket.shutdown(Shutdown::Write)?;
            let mut answer = String::new();
            socket.read_to_string(&mut answer)?;
            println!("socket: {answer}");
        }
        _ => {}
    }
    drop(socket);
    let ended = waitpid(Some(worker), WaitOptions::empty())?.ok_or("no worker")?.1;
    match (ended.exit_status(), ended.terminating_signal()) {
        (Some(0), _) => {}
        (Some(status), _) => println!("exit status {status}"),
        (None, signal) => println!("signal {}", signal.unwrap_or(0)),
    }
    Ok(())
}

/// The part of the worker.
fn serve(
    words: &[&str],
    prepared: &SandboxedProcess,
    mut socket: UnixStream,
) -> Result<(), Failure> {
    match words {
        ["report"] => report(prepared),
        ["costs"] => {
            for wall in &prepared.report.walls {
                println!("{}: {} µs", wall.name, wall.cost.as_micros());
            }
        }
        ["canaries"] | ["readable", _, "canaries"] => run_canaries(&socket),
        ["deadly"] => deadly_canary(),
        ["call", numbers @ ..] => call(numbers)?,
        ["ordinary"] => ordinary(&mut socket)?,
        ["memory"] => {
            prepared.limit(ProgramLimits { memory_bytes: 64 << 20, ..GENEROUS_LIMITS })?;
            let mut small = Vec::<u8>::new();
            println!("32 MiB: {}", small.try_reserve(32 << 20).is_ok());
            println!("1 GiB: {}", Vec::<u8>::new().try_reserve(1 << 30).is_ok());
        }
        ["threads"] => {
            prepared.limit(ProgramLimits { memory_bytes: 1 << 40, ..GENEROUS_LIMITS })?;
            let start = || thread::Builder::new().stack_size(16 << 10).spawn(thread::park);
            println!("{}", (0..6_000).map_while(|_| start().ok()).count());
        }
        ["cpu"] => {
            prepared.limit(ProgramLimits { cpu_seconds: 0, ..GENEROUS_LIMITS })?;
            loop {
                std::hint::spin_loop();
            }
        }
        ["files", readable, writable] => {
            prepared.limit(ProgramLimits { file_bytes: 4096, ..GENEROUS_LIMITS })?;
            println!("read: {}", fs::read_to_string(format!("{readable}/file"))?);
            let entries = fs::read_dir(readable)?.count();
            println!("entries: {entries}");
            show("write to readable", fs::write(format!("{readable}/file"), "changed"));
            show("write", fs::write("new", "new"));
            show("link", std::os::unix::fs::symlink("/", format!("{writable}/link")));
            show("read elsewhere", fs::read("/etc/passwd").map(drop));
            show("write too much", fs::write(format!("{writable}/large"), vec![0; 8192]));
        }
        ["readable", readable] => {
            println!("read: {}", fs::read_to_string(format!("{readable}/file"))?);
            show("write", fs::write(format!("{readable}/file"), "changed"));
            show("remove", fs::remove_file(format!("{readable}/file")));
        }
        ["presented", folder] => {
            println!("read: {}", fs::read_to_string("/shown/file")?);
            println!("entries: {}", fs::read_dir("/shown")?.count());
            show("write", fs::write("/shown/file", "changed"));
            show("create", fs::write("/shown/new", "new"));
            show("remove", fs::remove_file("/shown/file"));
            show("where it is", fs::read(format!("{folder}/file")).map(drop));
            show("beside it", fs::read_dir("/shown/..").map(drop));
        }
        ["status"] => {
            socket.write_all(b"!")?;
            // Waits until the zygote has read the status.
            socket.read_to_end(&mut Vec::new())?;
        }
        ["orphan"] => loop {
            thread::park();
        },
        _ => return Err("unknown scenario".into()),
    }
    Ok(())
}

fn show(what: &str, result: io::Result<()>) {
    match result {
        Ok(()) => println!("{what}: done"),
        Err(error) => println!("{what}: {error}"),
    }
}

fn report(prepared: &SandboxedProcess) {
    for wall in &prepared.report.walls {
        match &wall.state {
            WallState::Holds => println!("{}: holds", wall.name),
            WallState::Missing { reason, .. } => println!("{}: {reason}", wall.name),
        }
    }
}

fn run_canaries(socket: &UnixStream) {
    for canary in canaries(&[socket.as_fd()]) {
        match canary.attempt_escape() {
            CanaryResult::Refused(errno) => {
                println!("{}: {}: {}", canary.property.name(), canary.attempt, name(errno))
            }
            CanaryResult::Escaped(how) => {
                println!("{}: {}: BROKEN: {how}", canary.property.name(), canary.attempt)
            }
        }
    }
}

fn name(errno: Errno) -> &'static str {
    match errno {
        Errno::PERM => "EPERM",
        Errno::ACCESS => "EACCES",
        Errno::NOSYS => "ENOSYS",
        _ => "?",
    }
}

/// Makes a system call: its number, then up to six arguments, which default to zero.
fn call(numbers: &[&str]) -> Result<(), Failure> {
    let numbers = numbers.iter().map(|it| it.parse()).collect::<Result<Vec<libc::c_long>, _>>()?;
    let number = |at: usize| numbers.get(at).copied().unwrap_or(0);
    let [call, a, b, c, d, e, f] = std::array::from_fn(number);
    // SAFETY: no argument that the tests give is an address.
    let result = unsafe { libc::syscall(call, a, b, c, d, e, f) };
    println!("survived: {result} {}", io::Error::last_os_error());
    Ok(())
}

/// Operations that every program may rely on.
fn ordinary(socket: &mut UnixStream) -> Result<(), Failure> {
    let memory = vec![1_u8; 32 << 20];
    println!("memory: {}", memory.iter().map(|byte| u64::from(*byte)).sum::<u64>());
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    let theirs = Arc::clone(&shared);
    let threads = thread::Builder::new().name("second".to_owned()).spawn(move || {
        thread::sleep(Duration::from_millis(1));
        *theirs.0.lock().unwrap_or_else(PoisonError::into_inner) = 7;
        theirs.1.notify_all();
    })?;
    let guard = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
    let seen = shared.1.wait_while(guard, |value| *value == 0);
    println!("condition: {}", *seen.unwrap_or_else(PoisonError::into_inner));
    threads.join().map_err(|_| "thread")?;
    let unwound = std::panic::catch_unwind(|| panic!("on purpose"));
    println!("unwound: {}", unwound.is_err());
    // A hash map is seeded from the kernel's random numbers.
    let hashes = std::collections::HashMap::from([(1, 2)]);
    println!("random: {}", hashes.len());
    println!("user: {} in {}", rustix::process::getuid().as_raw(), env::current_dir()?.display());
    socket.set_nonblocking(true)?;
    socket.set_nonblocking(false)?;
    let mut question = String::new();
    socket.read_to_string(&mut question)?;
    socket.write_all(format!("{question} pong").as_bytes())?;
    println!("process: {}", process::id() > 1);
    Ok(())
}
