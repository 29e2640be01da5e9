//! The comparison: the same work, in front of the same server, by all available entrants in turn.

mod dialect;
mod entrant;
mod job;
mod memory;
mod report;
mod seat;

use std::thread;
use std::time::Duration;

use super::rounds::Samples;
use super::section::Unit;
use super::subject::Subject;
pub use dialect::Dialect;
use entrant::{Entrant, Entrants};
pub use job::Job;
pub use report::{Detail, times};
pub use seat::{Seat, fetch_rows};

/// The pause between two turns, so that the last one has no after-effects.
const SETTLE: Duration = Duration::from_millis(40);

const MANY_TOOLS: [&str; 2] = ["--tools", "500"];

/// How many programs run at once, in the row of that name.
const CROWD: u32 = 64;

/// A job, and the number of programs that do it.
type Task = (&'static str, Job, u32);

const TASKS: [Task; 7] = [
    ("a program that prints one line", Job::Hello, 1),
    ("1,000 calls, one after the other", Job::Calls(1000), 1),
    ("50 calls of 100 ms at once", Job::AtOnce { calls: 50, ms: 100 }, 1),
    ("1,000 calls at once", Job::AtOnce { calls: 1000, ms: 0 }, 1),
    ("20,000 rows (1.9 MB) fetched, filtered, summed", Job::Rows(20_000), 1),
    ("a loop of 1,000,000 steps", Job::Steps(1_000_000), 1),
    ("64 programs at once", Job::Hello, CROWD),
];

/// The results of all entrants.
pub struct Field {
    /// The names of the columns, and their descriptions.
    pub entrants: Vec<(&'static str, String)>,
    pub rows: Vec<Row>,
    /// The entrants that could not be measured, and why.
    pub absent: Vec<String>,
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
    fn take(&mut self, sample: Result<f64, String>) {
        match (&mut *self, sample) {
            (Self::Measured(samples), Ok(value)) => samples.push(value),
            (Self::Measured(_), Err(error)) => *self = Self::Failed(error),
            (Self::None | Self::Failed(_), _) => {}
        }
    }

    fn is_open(&self) -> bool {
        matches!(self, Self::Measured(_))
    }
}

/// Measures everything; a failure of one entrant does not affect the others.
pub fn measure(subject: &Subject) -> Result<Field, String> {
    let Entrants { present, absent } = Entrants::gather(subject);
    let mut rows = vec![ready(subject, &present, "from the start to the first answer", &[])];
    rows.extend(tasks(subject, &present, &TASKS, &[])?);
    rows.extend(memory::measure(subject, &present));
    rows.push(ready(
        subject,
        &present,
        "from the start to the first answer, 500 tools",
        &MANY_TOOLS,
    ));
    let three = [("a program with three calls, 500 tools", Job::Calls(3), 1)];
    rows.extend(tasks(subject, &present, &three, &MANY_TOOLS)?);
    let entrants = present.into_iter().map(|entrant| (entrant.name, entrant.about)).collect();
    Ok(Field { entrants, rows, absent, notes: Vec::new() })
}

fn open(subject: &Subject, entrant: &Entrant, flags: &[&str]) -> Result<(Seat, f64), String> {
    Seat::open(entrant.command(subject, flags)?, entrant.dialect)
}

/// The time from the start of the process to the answer to a program with one call.
fn ready(subject: &Subject, entrants: &[Entrant], name: &'static str, flags: &[&str]) -> Row {
    eprintln!("field       {name}");
    let mut row = Row::new(name, Unit::Seconds, entrants);
    for _ in 0..subject.rounds(7) {
        for (entrant, cell) in entrants.iter().zip(&mut row.cells) {
            if cell.is_open() {
                thread::sleep(SETTLE);
                cell.take(open(subject, entrant, flags).map(|(_, seconds)| seconds));
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
    let mut seats: Vec<Result<Seat, String>> =
        entrants.iter().map(|entrant| Ok(open(subject, entrant, flags)?.0)).collect();
    let mut rows = Vec::new();
    for &(name, job, programs) in tasks {
        eprintln!("field       {name}");
        let outcome = job.outcome(|count| fetch_rows(&mut bare, count))?;
        let mut row = Row::new(name, Unit::Seconds, entrants);
        for round in 0..=subject.rounds(7) {
            for (seat, cell) in seats.iter_mut().zip(&mut row.cells) {
                if !cell.is_open() {
                    continue;
                }
                thread::sleep(SETTLE);
                let sample = match seat {
                    Err(error) => Err(error.clone()),
                    Ok(seat) if !seat.can(job) || (programs > 1 && !seat.runs_programs()) => {
                        *cell = Cell::None;
                        continue;
                    }
                    Ok(seat) if programs > 1 => seat.run_many(programs, programs, job, &outcome),
                    Ok(seat) => seat.run(job, &outcome),
                };
                // The first round is a warm-up.
                if round > 0 || sample.is_err() {
                    cell.take(sample);
                }
            }
        }
        for ((entrant, seat), cell) in entrants.iter().zip(&mut seats).zip(&row.cells) {
            if matches!(cell, Cell::Failed(_)) {
                *seat = open(subject, entrant, flags).map(|(seat, _)| seat);
            }
        }
        rows.push(row);
    }
    Ok(rows)
}
