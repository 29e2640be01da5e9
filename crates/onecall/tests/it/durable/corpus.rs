//! The ordinary programs of `tests/programs*`, each suspended at a random call and continued in a new
//! process, print the same as without the pause.

#![expect(clippy::print_stderr, reason = "the long form is a command that a developer reads")]

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use onecall_core::storage::Journals as _;
use serde_json::{Value, json};
use testkit::bins;
use testkit::mcp::Session;
use testkit::process::wait_until;

use super::{Random, end_leases, gateway, kill, number_from, open_store};
use crate::support::{Home, ReceivedMessages, TIMEOUT, has_system_python};

/// Fewer programs than this prove little, or were not found.
const LEAST: usize = 40;

/// How many programs the short form suspends.
const SHORT: usize = 6;

/// How often a program is suspended that ends without the call, each time at another call.
const ATTEMPTS: usize = 4;

/// The programs that can be continued only while their worker lives, and why.
const IN_PLACE: [(&str, &str); 0] = [];

/// A program of the corpus.
struct CorpusProgram {
    name: String,
    /// The arguments of `execute_program`.
    arguments: Value,
    expected: String,
}

/// The programs on every engine that this machine has.
fn programs() -> Vec<CorpusProgram> {
    let python: &[(&str, &str)] = match has_system_python() {
        true => &[("engine", "python"), ("engine", "cpython")],
        false => &[("engine", "python")],
    };
    let mut programs = read("programs", &["py"], python);
    programs.extend(read("programs-typescript", &["ts", "mjs"], &[("language", "typescript")]));
    assert!(programs.len() >= LEAST, "only {} programs", programs.len());
    programs
}

fn read(folder: &str, extensions: &[&str], options: &[(&str, &str)]) -> Vec<CorpusProgram> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(folder);
    let entries = fs::read_dir(folder).expect("the folder of programs");
    let is_program = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| extensions.contains(&extension))
            && path.file_stem().is_some_and(|name| name != "reference")
    };
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("a readable folder").path()).filter(is_program).collect();
    paths.sort();
    let mut programs = Vec::new();
    for path in &paths {
        let code = fs::read_to_string(path).expect("a program is text");
        let output = fs::read_to_string(path.with_extension("out")).expect("its output");
        for (option, value) in options {
            let mut arguments = json!({ "code": code });
            arguments[*option] = (*value).into();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let expected = format!("[Script executed successfully]\n{output}");
            programs.push(CorpusProgram { name: format!("{name} ({value})"), arguments, expected });
        }
    }
    programs
}

/// A gateway after the other, on one store.
struct Corpus {
    home: Home,
    random: Random,
    session: Session,
    received: ReceivedMessages,
}

/// What has become of a program.
#[derive(Debug, PartialEq)]
enum Outcome {
    /// It printed the same.
    Same,
    /// It makes no call at which it could be suspended.
    NoCall,
    /// It ended without an answer to the call, for example after a timeout of its own.
    DidNotWait,
    /// It can be continued only in place.
    InPlace(String),
    /// It printed something else.
    Different(String),
}

impl Corpus {
    fn new(seed: u64) -> Self {
        let home = Home::new();
        let args = ["--pause-at", &home.text_path("pause"), "--log", &home.text_path("received")];
        let config = json!({
            "servers": [{ "name": "fixture", "command": bins::fixture_server(), "args": args }],
            "durable": true,
            "approvals": { "ask": ["mcp__fixture__crash"] },
        });
        home.write("config.json", config.to_string());
        let received = ReceivedMessages::in_file(home.path("received"));
        let session = gateway(&home);
        Self { home, random: Random(seed), session, received }
    }

    /// Counts the calls of a program that is not suspended.
    fn calls(&mut self, program: &CorpusProgram) -> usize {
        let count = |received: &ReceivedMessages| {
            received.text().lines().filter(|line| line.contains("\"tools/call\"")).count()
        };
        let before = count(&self.received);
        let answer = self.session.call_tool("execute_program", program.arguments.clone());
        assert_eq!(answer.text, program.expected, "{} without a pause", program.name);
        count(&self.received) - before
    }

    /// Suspends a program at a random call, and continues it in a new process.
    fn suspend(&mut self, program: &CorpusProgram) -> Outcome {
        let calls = self.calls(program);
        if calls == 0 {
            return Outcome::NoCall;
        }
        let pause_at = 1 + self.random.below(calls as u64);
        let pause = self.home.write("pause", pause_at.to_string());
        let call = self.session.start_call("execute_program", program.arguments.clone());
        assert!(wait_until(TIMEOUT, || !pause.exists()), "{}: no call {pause_at}", program.name);
        // Answers of calls that were made at the same time may come or not.
        thread::sleep(Duration::from_millis(self.random.below(20)));
        let answer = self.session.finish_call_within(call, Duration::ZERO);
        let pid = kill(&mut self.session);
        let store = open_store(&self.home);
        let runs = store.durable_runs(false).expect("a store");
        let Some(run) = runs.first().filter(|_| answer.is_none()) else {
            self.session = gateway(&self.home);
            return Outcome::DidNotWait;
        };
        end_leases(&store, pid);
        self.session = gateway(&self.home);
        let answer = self.session.call_tool("continue_program", json!({ "run": run.id.as_str() }));
        match (answer.text == program.expected, run.in_place) {
            (true, None) => Outcome::Same,
            (false, Some(reason)) if answer.text.contains(reason.explanation()) => {
                Outcome::InPlace(reason.explanation().to_owned())
            }
            _ => Outcome::Different(format!(
                "suspended at call {pause_at} of {calls}, expected:\n{}got:\n{}",
                program.expected, answer.text
            )),
        }
    }
}

#[test]
fn suspended_programs_print_the_same() {
    let begun = Instant::now();
    let is_long = std::env::var_os("ONECALL_RESUME_ALL").is_some();
    let seed = number_from("ONECALL_RESUME_SEED").unwrap_or(1);
    let mut corpus = Corpus::new(seed);
    let mut programs = programs();
    if let Ok(names) = std::env::var("ONECALL_RESUME_ONLY") {
        programs.retain(|program| program.name.contains(&names));
    }
    let (mut same, mut without_call) = (0, 0);
    let (mut did_not_wait, mut in_place, mut different) = (Vec::new(), Vec::new(), Vec::new());
    while !programs.is_empty() && (is_long || same < SHORT) {
        let at = if is_long { 0 } else { corpus.random.below(programs.len() as u64) as usize };
        let program = programs.remove(at);
        let mut attempts = (0..ATTEMPTS).map(|_| corpus.suspend(&program));
        let outcome = attempts.find(|outcome| *outcome != Outcome::DidNotWait);
        let outcome = outcome.unwrap_or(Outcome::DidNotWait);
        if is_long {
            eprintln!("{}: {outcome:?}", program.name);
        }
        match outcome {
            Outcome::Same => same += 1,
            Outcome::NoCall => without_call += 1,
            Outcome::DidNotWait => did_not_wait.push(program.name),
            Outcome::InPlace(reason) => in_place.push((program.name, reason)),
            Outcome::Different(how) => different.push(format!("{}: {how}", program.name)),
        }
    }
    eprintln!(
        "{same} programs printed the same after a pause (seed {seed}), {without_call} make no call, \
         {} ended without the call, {} can be continued only in place, {} differ; {:.1} s",
        did_not_wait.len(),
        in_place.len(),
        different.len(),
        begun.elapsed().as_secs_f64()
    );
    for (name, reason) in &in_place {
        eprintln!("only in place: {name}: {reason}");
    }
    let is_listed = |(name, reason): &&(String, String)| {
        IN_PLACE.iter().any(|listed| name.starts_with(listed.0) && reason == listed.1)
    };
    let unlisted: Vec<_> = in_place.iter().filter(|found| !is_listed(found)).collect();
    assert!(unlisted.is_empty(), "only in place, and not listed: {unlisted:?}");
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(did_not_wait.is_empty(), "these end without the call: {did_not_wait:?}");
}
