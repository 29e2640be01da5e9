//! The memory that a server uses when idle, and that each running program adds.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use testkit::process;

use super::entrant::Entrant;
use super::{AT_REST, Cell, Job, Row, open};
use crate::section::Unit;
use crate::subject::Subject;

/// The time for a server to prepare what it prepares in advance.
const WARM_UP_TIME: Duration = Duration::from_secs(1);

/// How many programs run at once, each of them waiting for one call.
const PROGRAMS: u32 = 16;
const WAIT: Job = Job::AtOnce { calls: 1, ms: 2000 };

/// The time between two measurements.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);

pub fn measure(subject: &Subject, entrants: &[Entrant]) -> [Row; 2] {
    eprintln!("field       memory");
    let mut rest = Row::new(AT_REST, Unit::Bytes, entrants);
    let mut program = Row::new("memory of each program under way", Unit::Bytes, entrants);
    for _ in 0..subject.rounds(3) {
        let cells = rest.cells.iter_mut().zip(&mut program.cells);
        for (entrant, (rest, program)) in entrants.iter().zip(cells) {
            if entrant.dialect.is_none() {
                (*rest, *program) = (Cell::None, Cell::None);
                continue;
            }
            match footprint(subject, entrant) {
                Ok((at_rest, each)) => {
                    rest.add_sample(Ok(at_rest));
                    program.add_sample(each);
                }
                Err(error) => {
                    rest.add_sample(Err(error.clone()));
                    program.add_sample(Err(error));
                }
            }
        }
    }
    [rest, program]
}

fn footprint(subject: &Subject, entrant: &Entrant) -> Result<(f64, Result<f64, String>), String> {
    let files_before = memory_of_files();
    let (mut runner, _) = open(subject, entrant, &[])?;
    thread::sleep(WARM_UP_TIME);
    let pid = runner.pid();
    let server = subject.fixture.display().to_string();
    let memory = || memory_of(pid, &server) + (memory_of_files() - files_before).max(0.0);
    let at_rest = memory();
    let is_over = AtomicBool::new(false);
    let (ran, most) = thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let mut most: f64 = 0.0;
            while !is_over.load(Ordering::Relaxed) {
                thread::sleep(SAMPLE_INTERVAL);
                most = most.max(memory());
            }
            most
        });
        let ran = runner.run_many(PROGRAMS, PROGRAMS, WAIT, "1");
        is_over.store(true, Ordering::Relaxed);
        (ran, sampler.join().unwrap_or_default())
    });
    let each = ran.map(|_| (most - at_rest).max(0.0) / f64::from(PROGRAMS));
    Ok((at_rest, each))
}

/// Bytes of a server and its descendants, except for the server that it calls, and without files in memory. The
/// size of a shared page is divided among the processes that share it.
fn memory_of(pid: u32, downstream: &str) -> f64 {
    let below = process::descendants(pid);
    let theirs = below.iter().filter(|process| !process.command.starts_with(downstream));
    let size = |pid| {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        field(&rollup, "Pss:") - field(&rollup, "Pss_Shmem:")
    };
    theirs.map(|process| process.pid).chain([pid]).map(size).sum()
}

/// Bytes of all files in memory on this machine. Those of a server take memory even while no process maps them.
fn memory_of_files() -> f64 {
    field(&fs::read_to_string("/proc/meminfo").unwrap_or_default(), "Shmem:")
}

/// The bytes that a line of a file in `/proc` shows in kilobytes.
fn field(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or_default() * 1024.0
}
