//! Searches for input that violates a property, for a given time.

mod options;
mod target;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, Instant};

use options::{HELP, Options};
use target::{BuiltTarget, RunParameters};

/// How long a run of one target should take: long enough to be worth its start, short enough for
/// every target to have its turn.
const RUN: Duration = Duration::from_secs(10);

/// The cases of each property in the first round, from which later numbers are computed.
const FIRST_CASES: u32 = 500;

/// The progress of one target.
struct Progress {
    built: BuiltTarget,
    rounds: u32,
    /// The cases of each property in the next round.
    cases: u32,
    /// The cases of all properties so far.
    total: u64,
}

pub fn run(arguments: &[String]) -> Result<(), String> {
    let options = Options::parse(arguments)?;
    if options.help {
        eprint!("{HELP}");
        return Ok(());
    }
    let start = |built| Progress { built, rounds: 0, cases: FIRST_CASES, total: 0 };
    let mut targets: Vec<Progress> =
        target::build(&options.targets)?.into_iter().map(start).collect();
    let begin = Instant::now();
    let mut turns = 0;
    // Every target has at least one turn, however little time there is.
    while turns < targets.len() || begin.elapsed() < options.time {
        let turn = turns % targets.len();
        turns += 1;
        if let Some(progress) = targets.get_mut(turn) {
            progress.run(options.time.saturating_sub(begin.elapsed()))?;
        }
    }
    for Progress { built, rounds, total, .. } in &targets {
        println!("{:<14} {rounds} rounds, {total} cases, no failure", built.target.name);
    }
    Ok(())
}

impl Progress {
    fn run(&mut self, left: Duration) -> Result<(), String> {
        let parameters =
            RunParameters { number: RandomState::new().build_hasher().finish(), cases: self.cases };
        self.rounds += 1;
        let begin = Instant::now();
        let properties = self.built.run(parameters)?;
        let took = begin.elapsed();
        println!(
            "{:<14} round {}: {properties} properties, {} cases each, {:.1} s",
            self.built.target.name,
            self.rounds,
            parameters.cases,
            took.as_secs_f64()
        );
        self.total += u64::from(parameters.cases) * u64::try_from(properties).unwrap_or(u64::MAX);
        // As many as fit, with bounds in case the machine was only briefly idle or busy.
        let fit = RUN.min(left.saturating_sub(took)).as_secs_f64() / took.as_secs_f64().max(0.001);
        self.cases = (f64::from(self.cases) * fit.clamp(0.2, 8.0)).max(1.0) as u32;
        Ok(())
    }
}
