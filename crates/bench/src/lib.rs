//! Measures onecall against its parts and against other servers, in one run: first the comparison
//! of all entrants, then each part beside the numbers that the design promises. Nothing is
//! asserted.

#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a developer reads what this says, and keeps what it prints"
)]

mod comparison;
mod growth;
mod machine;
mod options;
mod peers;
mod publish;
mod rounds;
mod section;
mod server;
mod subject;
mod table;
mod work;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::cargo::{self, cargo, output};
use testkit::process;

use comparison::{Comparison, Detail};
use options::{HELP, Options, Profile};
use peers::{Peer, Python};
use section::Section;
use subject::Subject;
use work::{WORKS, Work};

/// The name of the comparison of all entrants.
const COMPARISON_NAME: &str = "field";

/// The timeout for the whole run.
const RUN_TIMEOUT: Duration = Duration::from_secs(3600);

/// No part starts after this time, so a busy machine measures fewer parts.
const LAST_START: Duration = Duration::from_secs(900);

/// Builds, measures, and prints the results as Markdown.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let names: Vec<&str> =
        [COMPARISON_NAME].into_iter().chain(WORKS.iter().map(|work| work.name)).collect();
    let options = Options::parse(arguments, &names)?;
    if options.help {
        eprint!("{HELP}\nMeasurements: {}\n", names.join(", "));
        return Ok(());
    }
    if options.publish {
        publish::check_checkout()?;
    }
    if !options.no_build {
        build(options.profile())?;
        // The clients are part of what is measured, so they must be optimised as well: `cargo
        // xtask` itself is built without optimisation.
        let mut again = Command::new(output(options.profile().folder()).join("xtask"));
        again.args(["bench", "--no-build"]).args(arguments);
        return cargo::run(again);
    }
    let subject = prepare(&options)?;
    let header = header(&subject, options.profile());
    thread::spawn(end_a_hanging_run);
    let comparison =
        options.wants(COMPARISON_NAME).then(|| measure_comparison(&subject)).transpose()?;
    let (sections, failures) = measure_parts(&options, &subject);
    let growth = options.wants_growth().then(|| growth::measure(&subject));
    let data = results_as_json(&header, comparison.as_ref(), &sections, growth.as_ref(), &failures);
    for line in &header {
        println!("{line}  ");
    }
    if let Some(comparison) = &comparison {
        println!(
            "\n### {COMPARISON_NAME}\n\n{}\n{}",
            comparison.to_markdown(Detail::Spread),
            comparison.legend()
        );
    }
    let compared = comparison.as_ref().map(Comparison::verdicts).unwrap_or_default();
    let details = table::render(&sections, &compared, &failures);
    println!("{details}");
    if let Some(growth) = &growth {
        println!("### growth\n\n{}", growth.to_markdown());
    }
    if let Some(path) = &options.json {
        fs::write(path, format!("{data:#}\n"))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    if let (true, Some(comparison), Some(growth)) = (options.publish, &comparison, &growth) {
        let (header, details, data) = (&header, &details, &data);
        publish::write(&publish::Figures { header, comparison, growth, details, data })?;
    }
    Ok(())
}

fn measure_comparison(subject: &Subject) -> Result<Comparison, String> {
    let busy_before = machine::is_busy();
    let mut comparison = comparison::measure(subject)?;
    if busy_before || machine::is_busy() {
        eprintln!("{:12}{}", "", machine::BUSY);
        comparison.notes.push(machine::BUSY.to_owned());
    }
    Ok(comparison)
}

/// Measures each part by itself.
fn measure_parts(options: &Options, subject: &Subject) -> (Vec<Section>, Vec<String>) {
    let start = Instant::now();
    let mut sections = Vec::new();
    let mut failures = Vec::new();
    for work in WORKS.iter().filter(|work| options.wants(work.name)) {
        if start.elapsed() > LAST_START {
            failures.push(format!("{}: the time for the whole run was over", work.name));
            continue;
        }
        match measure(work, subject) {
            Ok(section) => sections.push(section),
            Err(error) => failures.push(format!("{}: {error}", work.name)),
        }
    }
    (sections, failures)
}

fn build(profile: Profile) -> Result<(), String> {
    eprintln!("building the {} binaries", profile.folder());
    let mut build = cargo("build");
    build.arg("--workspace");
    if profile != Profile::Debug {
        build.args(["--profile", profile.folder()]);
    }
    cargo::run(build)
}

fn prepare(options: &Options) -> Result<Subject, String> {
    let built = output(options.profile().folder());
    let target = built.parent().unwrap_or(&built);
    let folder = target.join("bench");
    fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    let executable = |name: &str| match built.join(name) {
        path if path.is_file() => Ok(path),
        path => Err(format!("{} is missing: leave out --no-build", path.display())),
    };
    let python = Python::find();
    let sdk = python.as_ref().map_err(Clone::clone).and_then(|_| Peer::sdk());
    Ok(Subject {
        onecall: executable("onecall")?,
        fixture: executable("fixture-server")?,
        folder,
        python,
        sdk,
        quick: options.quick,
    })
}

fn header(subject: &Subject, profile: Profile) -> Vec<String> {
    let rounds = if subject.quick { " with few rounds (--quick)" } else { "" };
    vec![
        machine::describe(),
        format!("Build: {}{rounds}", profile.folder()),
        match &subject.python {
            Ok(python) => format!("CPython: {}", python.version),
            Err(error) => format!("CPython: none, so nothing is compared with it ({error})"),
        },
        match &subject.sdk {
            Ok(sdk) => {
                format!("SDK server: `{}`, executes programs in its own process", sdk.version)
            }
            Err(error) => format!("SDK server: none, so nothing is compared with it ({error})"),
        },
    ]
}

fn measure(work: &Work, subject: &Subject) -> Result<Section, String> {
    eprint!("{:<12}", work.name);
    let start = Instant::now();
    let busy_before = machine::is_busy();
    // The clients of the testkit panic when their server dies; that must not lose the other
    // results.
    let measured = catch_unwind(AssertUnwindSafe(|| (work.measure)(subject)))
        .unwrap_or_else(|_| Err("a server died; see above".to_owned()));
    let end = measured.as_ref().err().map_or("measured", |error| error);
    eprintln!("{:6.1} s  {end}", start.elapsed().as_secs_f64());
    let mut section = measured?;
    section.name = work.name;
    if busy_before || machine::is_busy() {
        eprintln!("{:12}          {}", "", machine::BUSY);
        section.note(format!("**{}**", machine::BUSY));
    }
    Ok(section)
}

fn results_as_json(
    header: &[String],
    comparison: Option<&Comparison>,
    sections: &[Section],
    growth: Option<&growth::Report>,
    failures: &[String],
) -> Value {
    let sections: Vec<Value> = sections.iter().map(Section::to_json).collect();
    json!({
        "header": header,
        "field": comparison.map(Comparison::to_json),
        "measurements": sections,
        "growth": growth.map(growth::Report::to_json),
        "failures": failures,
    })
}

/// Ends a run that hangs, because the clients have no timeout.
fn end_a_hanging_run() {
    thread::sleep(RUN_TIMEOUT);
    eprintln!("\nno end after {RUN_TIMEOUT:?}: giving up");
    server::kill(process::descendants(std::process::id()).iter().map(|child| child.pid));
    std::process::exit(1);
}
