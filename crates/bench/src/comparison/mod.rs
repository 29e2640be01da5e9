//! The comparison: the same work, in front of the same server, by all available entrants in turn.

mod dialect;
mod entrant;
mod job;
mod job_runner;
mod memory;
mod promises;
mod report;

use std::thread;
use std::time::Duration;

use super::rounds::Samples;
use super::section::Unit;
use super::subject::Subject;
pub use dialect::Dialect;
use entrant::{Entrant, Entrants};
pub use job::Job;
pub use job_runner::{JobRunner, fetch_rows};
pub use report::{Detail, format_ratio};

/// The pause between two turns, so that the last one has no after-effects.
const PAUSE: Duration = Duration::from_millis(40);

const MANY_TOOLS: [&str; 2] = ["--tools", "500"];

/// How many programs do a job.
#[derive(Clone, Copy)]
enum Programs {
    One,
    /// One directly after the other; the time is that of one of them.
    BackToBack(u32),
    /// All at the same time; the time is that of all of them.
    AtOnce(u32),
}

/// A row of the table: its name, the job, and how many programs do it.
type Task = (&'static str, Job, Programs);

// The names of the rows that promises are made about.
const FIRST_ANSWER: &str = "from the start to the first answer";
const BACK_TO_BACK: &str = "20 of them back to back, each";
const CALLS: &str = "1,000 calls, one after the other";
const SLOW_CALLS: &str = "50 calls of 100 ms at once";
const ROWS: &str = "20,000 rows (1.9 MB) fetched, filtered, summed";
const LOOP: &str = "a loop of 1,000,000 steps";
const CROWD: &str = "64 programs at once";
const AT_REST: &str = "memory at rest, all processes";

const TASKS: [Task; 8] = [
    ("a program that prints one line", Job::Hello, Programs::One),
    (BACK_TO_BACK, Job::Hello, Programs::BackToBack(20)),
    (CALLS, Job::Calls(1000), Programs::One),
    (SLOW_CALLS, Job::AtOnce { calls: 50, ms: 100 }, Programs::One),
    ("1,000 calls at once", Job::AtOnce { calls: 1000, ms: 0 }, Programs::One),
    (ROWS, Job::Rows(20_000), Programs::One),
    (LOOP, Job::Steps(1_000_000), Programs::One),
    (CROWD, Job::Hello, Programs::AtOnce(64)),
];

impl Programs {
    /// Does a job, whose output must be `outcome`; returns the seconds.
    fn run(self, runner: &mut JobRunner, job: Job, outcome: &str) -> Result<f64, String> {
        match self {
            Self::One => runner.run(job, outcome),
            Self::BackToBack(count) => {
                let seconds: Result<f64, String> =
                    (0..count).map(|_| runner.run(job, outcome)).sum();
                Ok(seconds? / f64::from(count))
            }
            Self::AtOnce(count) => runner.run_many(count, count, job, outcome),
        }
    }
}

/// The results of all entrants.
pub struct Comparison {
    /// The names of the columns, and their descriptions.
    pub entrants: Vec<(&'static str, String)>,
    pub rows: Vec<Row>,
    /// The entrants that could not be measured, and why.
    pub unavailable: Vec<String>,
    pub notes: Vec<String>,
}

/// One kind of work.
pub struct Row {
    pub name: &'static str,
    pub unit: Unit,
    /// One cell for each entrant.
    pub cells: Vec<Cell>,
}

/// The result of one entrant.
pub enum Cell {
    Measured(Samples),
    /// This work does not exist for the entrant.
    None,
    Failed(String),
}

impl Row {
    fn new(name: &'static str, unit: Unit, entrants: &[Entrant]) -> Self {
        let cells = entrants.iter().map(|_| Cell::Measured(Samples::default())).collect();
        Self { name, unit, cells }
    }
}

impl Cell {
    fn add_sample(&mut self, sample: Result<f64, String>) {
        match (&mut *self, sample) {
            (Self::Measured(samples), Ok(value)) => samples.push(value),
            (Self::Measured(_), Err(error)) => *self = Self::Failed(error),
            (Self::None | Self::Failed(_), _) => {}
        }
    }

    fn accepts_samples(&self) -> bool {
        matches!(self, Self::Measured(_))
    }
}

/// Measures everything; a failure of one entrant does not affect the others.
pub fn measure(subject: &Subject) -> Result<Comparison, String> {
    let Entrants { available, unavailable } = Entrants::find_available(subject);
    let mut rows = vec![ready(subject, &available, FIRST_ANSWER, &[])];
    rows.extend(tasks(subject, &available, &TASKS, &[])?);
    rows.extend(memory::measure(subject, &available));
    rows.push(ready(
        subject,
        &available,
        "from the start to the first answer, 500 tools",
        &MANY_TOOLS,
    ));
    let three = [("a program with three calls, 500 tools", Job::Calls(3), Programs::One)];
    rows.extend(tasks(subject, &available, &three, &MANY_TOOLS)?);
    let entrants = available.into_iter().map(|entrant| (entrant.name, entrant.about)).collect();
    Ok(Comparison { entrants, rows, unavailable, notes: Vec::new() })
}

fn open(subject: &Subject, entrant: &Entrant, flags: &[&str]) -> Result<(JobRunner, f64), String> {
    JobRunner::open(entrant.command(subject, flags)?, entrant.dialect)
}

/// The time from the start of the process to the answer to a program with one call.
fn ready(subject: &Subject, entrants: &[Entrant], name: &'static str, flags: &[&str]) -> Row {
    eprintln!("field       {name}");
    let mut row = Row::new(name, Unit::Seconds, entrants);
    for _ in 0..subject.rounds(7) {
        for (entrant, cell) in entrants.iter().zip(&mut row.cells) {
            if cell.accepts_samples() {
                thread::sleep(PAUSE);
                cell.add_sample(open(subject, entrant, flags).map(|(_, seconds)| seconds));
            }
        }
    }
    row
}

/// Jobs on servers that are running and warm.
fn tasks(
    subject: &Subject,
    entrants: &[Entrant],
    tasks: &[Task],
    flags: &[&str],
) -> Result<Vec<Row>, String> {
    let mut bare = subject.bare();
    let mut runners: Vec<Result<JobRunner, String>> =
        entrants.iter().map(|entrant| Ok(open(subject, entrant, flags)?.0)).collect();
    let mut rows = Vec::new();
    for &(name, job, programs) in tasks {
        eprintln!("field       {name}");
        let outcome = job.outcome(|count| fetch_rows(&mut bare, count))?;
        let mut row = Row::new(name, Unit::Seconds, entrants);
        for round in 0..=subject.rounds(7) {
            for (runner, cell) in runners.iter_mut().zip(&mut row.cells) {
                if !cell.accepts_samples() {
                    continue;
                }
                thread::sleep(PAUSE);
                let sample = match runner {
                    Err(error) => Err(error.clone()),
                    Ok(runner) if !runner.can_run(job) => {
                        *cell = Cell::None;
                        continue;
                    }
                    Ok(runner) => programs.run(runner, job, &outcome),
                };
                // The first round is a warm-up.
                if round > 0 || sample.is_err() {
                    cell.add_sample(sample);
                }
            }
        }
        for ((entrant, runner), cell) in entrants.iter().zip(&mut runners).zip(&row.cells) {
            if matches!(cell, Cell::Failed(_)) {
                *runner = open(subject, entrant, flags).map(|(runner, _)| runner);
            }
        }
        rows.push(row);
    }
    Ok(rows)
}
