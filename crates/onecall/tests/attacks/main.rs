//! Programs that attack their sandbox, against every engine; see `tests/attacks`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
#![expect(clippy::print_stderr, reason = "what is skipped and what was shown is to be seen")]

mod case;
mod expectation;
mod lures;
#[path = "../support/mod.rs"]
mod support;
mod target;
mod terminal;
mod traces;

use std::any::Any;
use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::thread;

use case::{Case, cases};
use support::has_system_python;
use target::Target;

/// Where programs run, by the name that `execute_program` knows it by.
const ENGINES: [&str; 3] = ["python", "cpython", TYPESCRIPT];

/// The one that has programs of its own.
const TYPESCRIPT: &str = "typescript";

/// Gateways under attack at once.
const AT_ONCE: usize = 3;

/// Runs only what has this in its name, and shows the answers.
const ONLY: &str = "ONECALL_ATTACK";

/// Attacks only this engine.
const ENGINE: &str = "ONECALL_TEST_ENGINE";

#[test]
fn every_attack_fails_and_leaves_no_trace() {
    let only = std::env::var(ONLY).ok();
    let mut failures = Vec::new();
    for engine in ENGINES {
        if engine == "cpython" && !has_system_python() {
            eprintln!("skipped: no CPython from 3.11 on is on PATH to attack");
            continue;
        }
        if std::env::var(ENGINE).is_ok_and(|only| only != engine) {
            continue;
        }
        failures.extend(attack(engine, only.as_deref()));
    }
    assert!(failures.is_empty(), "{} of them did:\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn every_kind_of_attack_has_a_case() {
    let tried: BTreeSet<u64> = cases("python").into_iter().flat_map(|case| case.attacks).collect();
    assert_eq!(tried, (1..=20).collect());
}

/// Runs the cases and says what went wrong, a text for each program.
fn attack(engine: &str, only: Option<&str>) -> Vec<String> {
    let mut cases = cases(engine);
    for case in &mut cases {
        case.cells.retain(|cell| only.is_none_or(|only| cell.id.contains(only)));
    }
    cases.retain(|case| !case.cells.is_empty());
    if engine == TYPESCRIPT && cases.is_empty() {
        // Not every attack can be written in it.
        return Vec::new();
    }
    assert!(!cases.is_empty(), "there is no attack with '{}' in its name", only.unwrap_or(""));
    // Those with the same configuration one after the other share a gateway.
    cases.sort_by_key(|case| case.config.to_string());
    let rest = Mutex::new(VecDeque::from(cases));
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let mut target = None;
                while let Some(case) = { lock(&rest).pop_front() } {
                    let found = run(&case, engine, &mut target, only.is_some());
                    lock(&failures).extend(found);
                }
            });
        }
    });
    failures.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the programs of a case on `target`, which is replaced if it has another
/// configuration or a program has hurt it.
fn run(case: &Case, engine: &str, target: &mut Option<Target>, show: bool) -> Vec<String> {
    let mut failures = Vec::new();
    for cell in &case.cells {
        let mut current = match target.take().filter(|target| target.fits(case)) {
            Some(target) => target,
            None => Target::new(engine, case),
        };
        let tried = catch_unwind(AssertUnwindSafe(|| current.withstand(cell, show)));
        let problems = tried.unwrap_or_else(|panic| vec![message(&*panic)]);
        if problems.is_empty() {
            *target = Some(current);
        } else {
            let (id, would_gain) = (&cell.id, &case.would_gain);
            let problems = problems.join("\n");
            failures.push(format!("{id} on {engine}, to gain {would_gain}:\n{problems}"));
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
