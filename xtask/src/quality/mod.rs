//! Counts what works of tasks, programs and tests that others wrote, without a model:
//! `cargo xtask quality`. The drivers are in `tests/quality`; each part here counts what its driver
//! reports and writes a section of `docs/quality.md`.

mod agentdojo;
mod bfcl;
mod driver;
mod mutations;
mod options;
mod page;

use std::time::Instant;

use testkit::cargo::{self, cargo, output};

use driver::Setup;
use options::{HELP, Options};
use page::Section;

/// One part of the suite.
struct Part {
    /// Its name on the command line.
    name: &'static str,
    run: fn(&Setup) -> Result<Section, String>,
}

const PARTS: [Part; 3] = [
    Part { name: "bfcl", run: bfcl::run },
    Part { name: "agentdojo", run: agentdojo::run },
    Part { name: "mutations", run: mutations::run },
];

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
    let profile = if options.publish { "dist" } else { "debug" };
    if !options.no_build {
        build(profile)?;
    }
    driver::python()?;
    let setup = Setup { onecall: output(profile).join("onecall"), sample: options.sample };
    let began = Instant::now();
    let sections = run_parts(&setup, &options)?;
    let text = page::render(&sections, began.elapsed());
    println!("{text}");
    if options.publish {
        page::publish(&text)?;
    }
    page::shortfalls(&sections)
}

/// Runs a small part of everything with the binary that tests use. What cannot be installed here is
/// skipped and reported.
pub fn test() -> Result<(), String> {
    if let Err(why) = driver::python() {
        eprintln!("skipped: the quality suite: {why}");
        return Ok(());
    }
    eprintln!("a sample of the quality suite");
    let setup = Setup { onecall: output("debug").join("onecall"), sample: true };
    page::shortfalls(&run_parts(&setup, &Options::default())?)
}

fn build(profile: &str) -> Result<(), String> {
    if profile == "debug" {
        return cargo::build_binaries();
    }
    let mut build = cargo("build");
    build.args(["--workspace", "--bins", "--profile", profile]);
    cargo::run(build)
}

fn run_parts(setup: &Setup, options: &Options) -> Result<Vec<Section>, String> {
    let wanted = PARTS.iter().filter(|part| options.wants(part.name));
    wanted
        .map(|part| {
            let began = Instant::now();
            let section = (part.run)(setup).map_err(|why| format!("{}: {why}", part.name))?;
            eprintln!(
                "{}: {} ({:.0} s)",
                part.name,
                section.summary,
                began.elapsed().as_secs_f64()
            );
            Ok(section)
        })
        .collect()
}
