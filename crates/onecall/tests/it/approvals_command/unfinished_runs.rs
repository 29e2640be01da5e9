//! Runs that have not ended: their states in `onecall runs`, and `onecall cancel`.

use std::time::Duration;

use insta::assert_snapshot;
use onecall_core::storage::{DurableState, JournalBatch};
use onecall_core::{InPlaceReason, JournalEvent, Timestamp};
use serde_json::{Value, json};

use super::{Desk, in_an_hour};

fn listed(desk: &Desk) -> Value {
    let ended = desk.onecall(&["runs", "--json"]);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"))
}

#[test]
fn runs_that_have_not_ended_are_listed_with_their_states() {
    let desk = Desk::new();
    assert_eq!(desk.onecall(&["runs"]).stderr, "No runs are recorded\n");
    let past = Timestamp::now().before(Duration::from_secs(60));
    desk.add_run("1m7a000000000a", in_an_hour());
    desk.add_run("1m7b000000000b", past);
    let stuck = desk.add_run("1m7c000000000c", past);
    assert!(desk.store.set_in_place(&stuck, 1, InPlaceReason::Threads).unwrap());
    desk.add_waiting_run("1m7d000000000d", &[(1, "{}")]);
    desk.add_waiting_run("1m7e000000000e", &[(1, "{}"), (2, "{}")]);
    let resumed = desk.add_run("1m7f000000000f", past);
    let now = Timestamp::now();
    let lease = desk.store.take_lease(&resumed, "other", now, Duration::from_secs(60)).unwrap();
    assert_eq!(lease.unwrap().fence, 2);
    let shown = desk.onecall(&["runs"]);
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
    assert_snapshot!(shown.stdout, @r"
    ID                WHEN  TIME  CALLS  SAVED  CLIENT           OUTCOME
    1m7f000000000f  5m ago     -      -      -  claude-code 2.0  running, resumed
    1m7e000000000e  5m ago     -      -      -  claude-code 2.0  waiting: mcp__shop__delete_order and 1…
    1m7d000000000d  5m ago     -      -      -  claude-code 2.0  waiting: mcp__shop__delete_order
    1m7c000000000c  5m ago     -      -      -  claude-code 2.0  interrupted; threads of the program ca…
    1m7b000000000b  5m ago     -      -      -  claude-code 2.0  interrupted; `onecall resume` continue…
    1m7a000000000a  5m ago     -      -      -  claude-code 2.0  running
    ");
    let states: Vec<_> = listed(&desk)
        .as_array()
        .unwrap()
        .iter()
        .map(|run| (run["id"].clone(), run["outcome"].clone(), run["resumed"].clone()))
        .collect();
    let expected = [
        ("1m7f000000000f", "running", true),
        ("1m7e000000000e", "waiting", false),
        ("1m7d000000000d", "waiting", false),
        ("1m7c000000000c", "interrupted", false),
        ("1m7b000000000b", "interrupted", false),
        ("1m7a000000000a", "running", false),
    ];
    assert_eq!(
        states,
        expected.map(|(id, state, resumed)| (json!(id), json!(state), json!(resumed)))
    );
    assert_eq!(desk.onecall(&["runs", "--limit", "2"]).stdout.lines().count(), 3);
    assert_eq!(desk.onecall(&["runs", "--failed"]).stdout, "");
}

#[test]
fn a_run_that_waits_is_shown() {
    let desk = Desk::new();
    desk.add_waiting_run("1m7d000000000d", &[(1, "{}"), (2, "{}")]);
    let shown = desk.onecall(&["runs", "show", "1m7d"]);
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
    let lines: Vec<_> = shown.stdout.lines().filter(|line| !line.contains("started ")).collect();
    assert_snapshot!(lines.join("\n"), @r"
    Run 1m7d000000000d
      client    claude-code 2.0
      kind      program
      outcome   waiting: mcp__shop__delete_order and 1 more

    Questions (`onecall approvals show ID` shows one)
        1m7d000000000d.1  mcp__shop__delete_order
        1m7d000000000d.2  mcp__shop__delete_order

    Program
        await mcp__shop__delete_order(id=1)
    ");
    let unknown = desk.onecall(&["runs", "show", "2"]);
    assert_eq!(unknown.stderr, "error: no run has the id '2'; see `onecall runs`\n");
}

#[test]
fn a_run_is_cancelled_whoever_owns_it() {
    let desk = Desk::new();
    let run = desk.add_waiting_run("1m7d000000000d", &[(1, "{}")]);
    let cancelled = desk.onecall(&["cancel", "1m7d"]);
    assert_eq!((cancelled.code, cancelled.stdout.as_str()), (Some(0), ""));
    assert_eq!(cancelled.stderr, "Cancelled run 1m7d000000000d\n");
    assert_eq!(desk.state("1m7d"), json!("withdrawn"));
    let stored = desk.store.durable_run(&run).unwrap().unwrap();
    let DurableState::Ended(answer) = stored.state else { panic!("{:?}", stored.state) };
    let answer: Value = serde_json::from_str(&answer.result).unwrap();
    assert_eq!(answer["isError"], json!(true));
    assert_eq!(
        answer["content"][0]["text"],
        json!("[Script execution failed]\nCancelled: the program was cancelled")
    );
    // The process that executes it can write nothing more.
    let events = vec![JournalEvent::Sent { call: 1 }];
    let batch = JournalBatch { run, fence: 1, first: 0, events };
    assert!(desk.store.append(&[batch]).unwrap().remove(0).is_err());
    let again = desk.onecall(&["cancel", "1m7d000000000d"]);
    assert_eq!(again.code, Some(1));
    assert_eq!(
        again.stderr,
        "error: run 1m7d000000000d has already ended; `onecall runs show 1m7d000000000d` shows it\n"
    );
    let unknown = desk.onecall(&["cancel", "--json", "1m7d000000000e"]);
    assert_eq!(unknown.code, Some(1));
    let unknown: Value = serde_json::from_str(&unknown.stdout).unwrap();
    assert_eq!(
        unknown,
        json!({
            "run": null,
            "cancelled": false,
            "message": "no run that can be continued has the id '1m7d000000000e'; did you mean \
                        '1m7d000000000d'?",
        })
    );
    // It has ended without a process that could record it.
    let listed = listed(&desk);
    assert_eq!(
        (&listed[0]["id"], &listed[0]["outcome"]),
        (&json!("1m7d000000000d"), &json!("unrecorded"))
    );
    let shown = desk.onecall(&["runs", "show", "1m7d"]).stdout;
    assert!(shown.contains("Cancelled: the program was cancelled"), "{shown}");
}

/// Refusals of `onecall resume` have the form that those of `onecall cancel` have.
#[test]
fn a_run_that_cannot_be_resumed_is_refused_as_json() {
    let desk = Desk::new();
    let refused = |id: &str| {
        let plain = desk.onecall(&["resume", id]);
        let refused = desk.onecall(&["resume", "--json", id]);
        assert_eq!((plain.code, plain.stdout.as_str()), (Some(1), ""));
        assert_eq!((refused.code, refused.stderr.as_str()), (Some(1), ""));
        let refused: Value = serde_json::from_str(&refused.stdout).unwrap();
        let message = refused["message"].as_str().unwrap();
        assert_eq!(plain.stderr, format!("error: {message}\n"));
        refused
    };
    let unknown = "no run that can be continued has the id '1m7d'; see `onecall runs`";
    assert_eq!(refused("1m7d"), json!({ "run": null, "continued": false, "message": unknown }));
    desk.add_run("1m7d000000000d", in_an_hour());
    let owned = "run 1m7d000000000d is not continued: another onecall executes the run";
    assert_eq!(
        refused("1m7d"),
        json!({ "run": "1m7d000000000d", "continued": false, "message": owned })
    );
}

#[test]
fn shells_complete_the_ids_of_questions_and_runs() {
    let desk = Desk::new();
    let printed = |command: &str| desk.onecall(&[command]).stdout;
    assert_eq!((printed("question-ids"), printed("unfinished-run-ids")), Default::default());
    desk.add_waiting_run("1m7d000000000d", &[(1, "{}")]);
    desk.add_run("1m7e000000000e", in_an_hour());
    assert_eq!(printed("question-ids"), "1m7d000000000d\n1m7d000000000d.1\n");
    assert_eq!(printed("unfinished-run-ids"), "1m7d000000000d\n1m7e000000000e\n");
}
