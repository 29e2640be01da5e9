//! Programs that attack their sandbox, against every engine; see `tests/attacks`.

#![expect(clippy::print_stderr, reason = "what is skipped and what was shown is to be seen")]

mod case;
mod decoy_sockets;
mod environment;
mod expectation;
mod target;
mod terminal;

use std::any::Any;
use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::thread;

use case::{Case, Cell, cases};
use environment::AttackEnvironment;
use target::Target;

use crate::support::container::TestContainer;
use crate::support::has_system_python;

/// The engines, by their names in `execute_program`.
const ENGINES: [&str; 3] = ["python", "cpython", TYPESCRIPT];

/// The engine that has its own attack programs.
const TYPESCRIPT: &str = "typescript";

/// Gateways under attack at once.
const CONCURRENT_GATEWAYS: usize = 3;

/// Runs only what has this in its name, and shows the answers.
const ONLY: &str = "ONECALL_ATTACK";

/// Attacks only this engine.
const ENGINE: &str = "ONECALL_TEST_ENGINE";

/// The cases that are tried in a container with every run of the tests: what a program
/// reaches of files, the network, processes and the machine, and by imports.
const CASES_OF_EVERY_RUN: [&str; 8] = [
    "imports",
    "network",
    "processes",
    "reading",
    "signals",
    "surroundings",
    "system_calls",
    "writing",
];

#[test]
fn every_attack_fails_and_leaves_no_trace() {
    assert_no_failures(attack_all_engines(&AttackEnvironment::Machine, |_| true));
}

#[test]
fn attacks_on_the_machine_fail_in_a_container() {
    let environment = AttackEnvironment::Container(TestContainer::as_ordinary_user());
    assert_no_failures(attack_all_engines(&environment, |case| CASES_OF_EVERY_RUN.contains(&case)));
}

#[test]
#[ignore = "it takes minutes: run it with `cargo xtask containers`"]
fn every_attack_fails_in_every_container() {
    let environments = TestContainer::all().into_iter().map(AttackEnvironment::Container);
    let attack = |environment: AttackEnvironment| attack_all_engines(&environment, |_| true);
    assert_no_failures(environments.flat_map(attack).collect());
}

fn assert_no_failures(failures: Vec<String>) {
    assert!(failures.is_empty(), "{} of them did:\n\n{}", failures.len(), failures.join("\n\n"));
}

/// Runs the cases with these names on every engine that an environment has.
fn attack_all_engines(
    environment: &AttackEnvironment,
    chosen: impl Fn(&str) -> bool,
) -> Vec<String> {
    let only = std::env::var(ONLY).ok();
    let is_wanted = |cell: &Cell| {
        chosen(cell.case()) && only.as_ref().is_none_or(|only| cell.id.contains(only))
    };
    let mut failures = Vec::new();
    let mut is_known = false;
    for engine in ENGINES {
        let cases = selected(engine, environment, is_wanted);
        is_known |= !cases.is_empty();
        if std::env::var(ENGINE).is_ok_and(|only| only != engine) {
            continue;
        }
        if engine == "cpython" && !has_system_python() {
            eprintln!("skipped: no CPython from 3.11 on is on PATH to attack");
            continue;
        }
        if environment.runs(engine) {
            failures.extend(attack(engine, cases, environment, only.is_some()));
        } else {
            eprintln!("skipped: {engine} runs no program{}", environment.name());
        }
    }
    assert!(is_known, "there is no attack with '{}' in its name", only.unwrap_or_default());
    failures
}

#[test]
fn every_kind_of_attack_has_a_case() {
    let cases = cases("python", &AttackEnvironment::Machine);
    let tried: BTreeSet<u64> = cases.into_iter().flat_map(|case| case.attacks).collect();
    assert_eq!(tried, (1..=20).collect());
}

/// Runs the cases and says what went wrong, a text for each program.
fn attack(
    engine: &str,
    mut cases: Vec<Case>,
    environment: &AttackEnvironment,
    show: bool,
) -> Vec<String> {
    // Those with the same configuration one after the other share a gateway.
    cases.sort_by_key(|case| case.config.to_string());
    let rest = Mutex::new(VecDeque::from(cases));
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..CONCURRENT_GATEWAYS {
            scope.spawn(|| {
                let mut target = None;
                while let Some(case) = { lock(&rest).pop_front() } {
                    let found = run(&case, engine, environment, &mut target, show);
                    lock(&failures).extend(found);
                }
            });
        }
    });
    failures.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The cases for an engine, as far as they are wanted. Not every attack can be tried on every
/// engine.
fn selected(
    engine: &str,
    environment: &AttackEnvironment,
    is_wanted: impl Fn(&Cell) -> bool,
) -> Vec<Case> {
    let mut cases = cases(engine, environment);
    for case in &mut cases {
        case.cells.retain(&is_wanted);
    }
    cases.retain(|case| !case.cells.is_empty());
    cases
}

/// Runs the programs of a case on `target`, which is replaced if it has another
/// configuration or a program has hurt it.
fn run(
    case: &Case,
    engine: &str,
    environment: &AttackEnvironment,
    target: &mut Option<Target>,
    show: bool,
) -> Vec<String> {
    let mut failures = Vec::new();
    for cell in &case.cells {
        let current = target.take().filter(|target| target.has_settings_of(case));
        let tried = catch_unwind(AssertUnwindSafe(|| {
            let mut current = current.unwrap_or_else(|| Target::new(engine, case, environment));
            let problems = current.run_attack(cell, show);
            (current, problems)
        }));
        let (current, problems) = match tried {
            Ok((current, problems)) => (Some(current), problems),
            Err(panic) => (None, vec![message(&*panic)]),
        };
        if problems.is_empty() {
            *target = current;
        } else {
            let (id, would_gain) = (&cell.id, &case.would_gain);
            let problems = problems.join("\n");
            let environment = environment.name();
            failures
                .push(format!("{id} on {engine}{environment}, to gain {would_gain}:\n{problems}"));
        }
    }
    failures
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
