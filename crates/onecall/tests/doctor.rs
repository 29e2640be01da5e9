//! `onecall doctor` says of each wall whether it holds and what it costs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod support;

use insta::assert_snapshot;
use serde_json::json;
use support::{Home, finish, has_system_python, without_namespaces};

/// What `doctor` prints, with the times left out.
fn report(output: &str) -> String {
    let mut report = String::new();
    for line in output.lines() {
        match line.split_once(" µs") {
            Some((before, after)) => {
                let before = before.trim_end_matches(|it: char| it.is_ascii_digit());
                report.push_str(&format!("{} # µs{after}\n", before.trim_end()));
            }
            None => report.push_str(&format!("{line}\n")),
        }
    }
    report
}

#[test]
fn every_wall_is_shown_with_its_state_and_cost() {
    if !has_system_python() {
        return;
    }
    let ended = finish(Home::with_config(&json!({})).configured(&["doctor"]));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert_snapshot!(report(&ended.stdout));
}

#[test]
fn without_walls_it_says_so() {
    let ended = finish(Home::with_config(&json!({ "sandbox": "off" })).configured(&["doctor"]));
    assert_eq!(ended.code, Some(0));
    let expected = "engine python (default): runs programs without walls; only their limits hold";
    assert!(ended.stdout.contains(expected), "{}", ended.stdout);
}

#[test]
fn a_missing_wall_is_named() {
    let examine = |sandbox| {
        let home = Home::with_config(&json!({ "sandbox": sandbox, "python": "/nowhere" }));
        without_namespaces(&home, home.configured(&["doctor"]))
    };
    let Some(required) = examine("required") else { return };
    assert_eq!(required.code, Some(1));
    let reason = "engine python (default): cannot run programs: its worker died while starting: \
                  the sandbox cannot build its wall `namespaces`: ";
    assert!(required.stdout.contains(reason), "{}", required.stdout);
    assert!(required.stdout.contains("engine cpython: cannot run programs: /nowhere cannot be"));

    let accepted = examine("best-effort").unwrap();
    assert_eq!(accepted.code, Some(0));
    for wall in ["namespaces", "empty root"] {
        let row = accepted.stdout.lines().find(|line| line.trim_start().starts_with(wall));
        assert!(row.is_some_and(|row| row.contains(" missing ")), "{}", accepted.stdout);
    }
}
