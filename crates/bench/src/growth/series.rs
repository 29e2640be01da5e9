//! The kinds of work whose growth is measured, in sizes from one to ten thousand.

use serde_json::json;

use crate::comparison::{Dialect, Job, JobRunner, fetch_rows};
use crate::subject::Subject;

/// The sizes, each ten times the one before.
pub const SIZES: [u32; 5] = [1, 10, 100, 1_000, 10_000];

/// How many programs run at a time, if the number of programs grows.
const MAX_IN_FLIGHT: u32 = 16;

/// Work that can be done in any size.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    CallsInARow,
    CallsAtOnce,
    Rows,
    Programs,
    /// From the start to the first answer, with this many tools behind the gateway.
    ToolsReady,
    /// A program with three calls, with this many tools behind the gateway.
    ToolsUsed,
}

/// One line of the report.
pub struct Series {
    pub name: &'static str,
    pub work: Work,
    pub engine: &'static str,
    pub dialect: Dialect,
}

const PYTHON: (&str, Dialect) = ("python", Dialect::Python);
const CPYTHON: (&str, Dialect) = ("cpython", Dialect::Python);
const TYPESCRIPT: (&str, Dialect) = ("typescript", Dialect::TypeScript);

/// All series.
pub fn all(subject: &Subject) -> Vec<Series> {
    let mut engines = vec![PYTHON, TYPESCRIPT];
    if subject.python.is_ok() {
        engines.insert(1, CPYTHON);
    }
    let mut all = Vec::new();
    let mut add = |name, work, engines: &[(&'static str, Dialect)]| {
        all.extend(engines.iter().map(|&(engine, dialect)| Series { name, work, engine, dialect }));
    };
    add("calls, one after the other", Work::CallsInARow, &engines);
    add("calls at once", Work::CallsAtOnce, &engines);
    add("rows fetched, filtered, summed", Work::Rows, &engines);
    add("programs, 16 at once", Work::Programs, &engines);
    add("tools, from the start to the first answer", Work::ToolsReady, &[PYTHON]);
    add("tools, a program with three calls", Work::ToolsUsed, &[PYTHON]);
    all
}

impl Series {
    /// Starts a gateway for this series; returns it with the seconds until its first answer.
    fn open(&self, subject: &Subject, flags: &[&str]) -> Result<(JobRunner, f64), String> {
        let engine = if self.engine == "typescript" { "auto" } else { self.engine };
        let servers = json!([subject.server("fixture", flags)]);
        let name = format!("growth-{}-{}", self.engine, flags.join(""));
        let config = json!({ "engine": engine, "servers": servers });
        JobRunner::open(subject.serve_config(&name, config)?, Some(self.dialect))
    }

    /// The times of all sizes, one list for each; the sizes are measured in turn.
    pub fn measure(&self, subject: &Subject) -> Result<Vec<Vec<f64>>, String> {
        let mut times = vec![Vec::new(); SIZES.len()];
        let mut bare = subject.bare();
        let mut warm = self.open(subject, &[])?.0;
        for round in 0..subject.rounds(5) {
            for (&size, times) in SIZES.iter().zip(&mut times) {
                // The largest size takes most of the time and varies least, so it needs fewer
                // rounds.
                if size == 10_000 && round >= subject.rounds(3) {
                    continue;
                }
                let fetch = |count| fetch_rows(&mut bare, count);
                times.push(self.measure_once(subject, &mut warm, size, fetch)?);
            }
        }
        Ok(times)
    }

    fn measure_once(
        &self,
        subject: &Subject,
        warm: &mut JobRunner,
        size: u32,
        fetch: impl FnOnce(u32) -> Result<String, String>,
    ) -> Result<f64, String> {
        let tools = size.to_string();
        let many = ["--tools", &tools, "--page-size", "500"];
        let job = match self.work {
            Work::CallsInARow => Job::Calls(size),
            Work::CallsAtOnce => Job::AtOnce { calls: size, ms: 0 },
            Work::Rows => Job::Rows(size),
            Work::Programs => return warm.run_many(size, MAX_IN_FLIGHT, Job::Hello, "hello"),
            Work::ToolsReady => return Ok(self.open(subject, &many)?.1),
            Work::ToolsUsed => {
                let (mut runner, _) = self.open(subject, &many)?;
                return runner.run(Job::Calls(3), "6");
            }
        };
        warm.run(job, &job.outcome(fetch)?)
    }
}
