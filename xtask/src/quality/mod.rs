//! Counts what works of tasks, programs and tests that others wrote, without a model:
//! `cargo xtask quality`. The drivers are in `tests/quality`; each part here counts what its driver
//! reports and writes a section of `docs/quality.md`.

mod agentdojo;
mod bfcl;
mod conformance;
mod corpus;
mod driver;
mod fidelity;
mod mutations;
mod options;
mod page;

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use testkit::cargo::{self, cargo, output};

use crate::conformance as suites;

use driver::Setup;
use options::{HELP, Options};
use page::Section;

/// One part of the suite.
struct Part {
    /// Its name on the command line.
    name: &'static str,
    /// Installs what the part needs.
    install: fn() -> Result<(), String>,
    run: fn(&Setup) -> Result<Section, String>,
}

const PARTS: [Part; 6] = [
    Part { name: "bfcl", install: packages, run: bfcl::run },
    Part { name: "agentdojo", install: packages, run: agentdojo::run },
    Part { name: "corpus", install: packages_and_servers, run: corpus::run },
    Part { name: "mutations", install: packages_and_servers, run: mutations::run },
    Part { name: "fidelity", install: packages_and_tests, run: fidelity::run_tests },
    Part { name: CONFORMANCE, install: suites::install, run: conformance::run },
];

/// The part that is also a command of its own.
const CONFORMANCE: &str = "conformance";

/// The parts that take longest, the longest last. They begin before the others.
const LONGEST: [&str; 3] = ["mutations", "bfcl", "fidelity"];

fn packages() -> Result<(), String> {
    driver::python().map(|_| ())
}

fn packages_and_servers() -> Result<(), String> {
    packages()?;
    corpus::install().map(|_| ())
}

fn packages_and_tests() -> Result<(), String> {
    packages()?;
    fidelity::tests().map(|_| ())
}

/// Runs the parts, prints what they count, and fails if one falls short of its goal.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let options = Options::parse(arguments)?;
    if options.help {
        let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        eprint!("{HELP}\nParts: {}\n", names.join(", "));
        return Ok(());
    }
    if options.publish {
        page::require_committed()?;
    }
    let profile = options.profile();
    if !options.no_build {
        build(profile)?;
    }
    for part in PARTS.iter().filter(|part| options.wants(part.name)) {
        (part.install)().map_err(|why| format!("{}: {why}", part.name))?;
    }
    let setup = Setup { binaries: output(profile), sample: options.sample };
    let began = Instant::now();
    let sections = run_parts(&setup, &options)?;
    let text = page::render(&sections, profile, began.elapsed());
    println!("{text}");
    if options.publish {
        page::publish(&text)?;
    }
    page::shortfalls(&sections)
}

/// Runs a small part of everything with the binary that tests use. A part whose packages cannot be
/// installed here is skipped and reported.
pub fn test() -> Result<(), String> {
    eprintln!("a sample of the quality suite");
    let mut options = Options::default();
    // `cargo xtask test` runs the whole conformance suite itself.
    for part in PARTS.iter().filter(|part| part.name != CONFORMANCE) {
        match (part.install)() {
            Ok(()) => options.parts.push(part.name.to_owned()),
            Err(why) => eprintln!("skipped: the part {} of the quality suite: {why}", part.name),
        }
    }
    if options.parts.is_empty() {
        return Ok(());
    }
    let setup = Setup { binaries: output("debug"), sample: true };
    page::shortfalls(&run_parts(&setup, &options)?)
}

fn build(profile: &str) -> Result<(), String> {
    if profile == "debug" {
        return cargo::build_binaries();
    }
    let mut build = cargo("build");
    build.args(["--workspace", "--bins", "--profile", profile]);
    cargo::run(build)
}

/// Runs the requested parts, as many at a time as there are processors, the longest first.
fn run_parts(setup: &Setup, options: &Options) -> Result<Vec<Section>, String> {
    let mut wanted: Vec<(usize, &Part)> =
        PARTS.iter().enumerate().filter(|(_, part)| options.wants(part.name)).collect();
    wanted.sort_by_key(|(_, part)| LONGEST.iter().position(|name| *name == part.name));
    let waiting = Mutex::new(wanted);
    let done = Mutex::new(BTreeMap::new());
    let at_a_time = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 0..at_a_time {
            scope.spawn(|| {
                loop {
                    // The lock must not be held while the part runs.
                    let next = locked(&waiting).pop();
                    let Some((place, part)) = next else { break };
                    let section = run_part(setup, part);
                    locked(&done).insert(place, section);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

fn run_part(setup: &Setup, part: &Part) -> Result<Section, String> {
    let began = Instant::now();
    let section = (part.run)(setup).map_err(|why| format!("{}: {why}", part.name))?;
    let seconds = began.elapsed().as_secs_f64();
    eprintln!("{}: {} ({seconds:.0} s)", part.name, section.summary);
    Ok(section)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
