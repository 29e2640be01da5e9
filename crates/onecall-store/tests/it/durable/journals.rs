//! What is written comes back, once and within limits, and ends with its run.

use std::time::Duration;

use onecall_core::storage::*;
use onecall_core::{
    EngineName, InPlaceReason, JournalCall, JournalEvent, RunEngine, Timestamp, ToolError,
    ToolValue,
};
use serde_json::value::RawValue;

use super::{answer, append, batch, called, durable_run, ended, id, noise, question, tool};
use crate::place::{Place, on_every_store};
use crate::records::run;

on_every_store!(
    every_event_comes_back_as_it_was,
    a_value_is_stored_once_for_each_run,
    journals_are_limited_together,
    a_batch_that_does_not_come_next_is_refused,
    a_batch_is_appended_once,
    a_run_is_added_once,
    the_end_of_a_run_leaves_its_answer_alone,
    states_are_kept,
    pruning_spares_runs_that_wait_or_run,
);

fn every_event_comes_back_as_it_was(place: &Place) {
    let store = place.open();
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    let json = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
    let failed = |error| JournalEvent::Ended { call: 8, result: Err(error) };
    let (name, message) = (tool("mcp__a__b"), noise(5_000, 1));
    let engine = |name, version| JournalEvent::Engine(RunEngine { name, version });
    let events = vec![
        engine(EngineName::CPython, Some("3.12.3".to_owned())),
        engine(EngineName::TypeScript, None),
        called(0, "{}"),
        called(1, &format!("{{\"x\":\"{}\"}}", "y".repeat(100_000))),
        JournalEvent::Called(JournalCall {
            id: u64::MAX,
            name: tool("ä\u{0}"),
            site: None,
            arguments: String::new(),
            definition: None,
        }),
        JournalEvent::Sent { call: 1 },
        JournalEvent::Cancelled { call: u64::MAX },
        ended(0, ""),
        JournalEvent::Ended { call: 2, result: Ok(ToolValue::Nothing) },
        JournalEvent::Ended { call: 3, result: Ok(ToolValue::Json(json("[1.0, 2]"))) },
        JournalEvent::Ended {
            call: 4,
            result: Ok(ToolValue::WithContent {
                value: Box::new(ToolValue::Text("t".repeat(700))),
                content: json("[{\"type\":\"image\"}]"),
            }),
        },
        // Several parts, compressed and not.
        ended(5, &"long ".repeat(2_000_000)),
        ended(6, &noise(9_000_000, 2)),
        failed(ToolError::failed(&name, message.clone())),
        failed(ToolError::InvalidCall { name: name.clone(), message: String::new() }),
        failed(ToolError::NeverSent { name: name.clone(), message }),
        failed(ToolError::NotAvailable { name: name.clone() }),
        failed(ToolError::Quarantined { name: name.clone(), why: "new".to_owned() }),
        failed(ToolError::QuotaExceeded { name, limit: u64::MAX }),
        JournalEvent::Observed { bytes: Vec::new() },
        JournalEvent::Observed { bytes: vec![0xff, 0, 1] },
        JournalEvent::Observed { bytes: vec![0xfe; 70_000] },
    ];
    append(&*store, "a", 1, 0, events[..2].to_vec());
    append(&*store, "a", 1, 2, events[2..].to_vec());
    let journal = place.open().journal(&id("a")).unwrap();
    assert_eq!(journal.unreadable, 0);
    assert!(format!("{:?}", journal.events) == format!("{events:?}"));
    assert_eq!(store.journal(&id("unknown")).unwrap().events.len(), 0);
}

fn a_value_is_stored_once_for_each_run(place: &Place) {
    let store = place.open();
    let value = noise(20_000, 3);
    let other = noise(20_000, 4);
    for name in ["a", "b"] {
        store.add_durable_runs(&[&durable_run(name)]).unwrap();
        append(&*store, name, 1, 0, vec![ended(0, &value), ended(1, &value), ended(2, &other)]);
        append(&*store, name, 1, 3, vec![ended(3, &value), ended(4, "small"), ended(5, "small")]);
    }
    assert_eq!((place.count("journal_values"), place.count("journal_events")), (4, 12));
    let journal = store.journal(&id("b")).unwrap();
    assert!(format!("{:?}", journal.events[3]) == format!("{:?}", ended(3, &value)));
}

fn journals_are_limited_together(place: &Place) {
    let store = place.open_with(1);
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    store.add_durable_runs(&[&durable_run("b")]).unwrap();
    let half = noise(600_000, 5);
    append(&*store, "a", 1, 0, vec![ended(0, &half)]);
    let full = Err(JournalRefusal::Full { limit_mb: 1 });
    // The one that is too large is left out, and the others are written.
    let batches = [
        batch("b", 1, 0, vec![ended(0, &noise(600_000, 6))]),
        batch("a", 1, 1, vec![ended(1, "fits"), ended(2, &half)]),
        batch("b", 1, 0, vec![ended(0, "fits, too")]),
    ];
    assert_eq!(store.append(&batches).unwrap(), [full.clone(), Ok(()), Ok(())]);
    assert_eq!(store.journal(&id("a")).unwrap().events.len(), 3);
    assert_eq!(store.journal(&id("b")).unwrap().events.len(), 1);
    // What compresses well takes little of the limit.
    append(&*store, "b", 1, 1, vec![ended(1, &"z".repeat(5_000_000))]);
    let next = || batch("b", 1, 2, vec![ended(2, &noise(600_000, 7))]);
    assert_eq!(store.append(&[next()]).unwrap(), [full]);
    // A run that ends makes room.
    assert!(store.end_durable_run(&id("a"), 1, &answer(500)).unwrap());
    assert_eq!(store.append(&[next()]).unwrap(), [Ok(())]);
}

fn a_batch_that_does_not_come_next_is_refused(place: &Place) {
    let store = place.open();
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    append(&*store, "a", 1, 0, vec![called(0, "{}"), called(1, "{}")]);
    for first in [0, 1, 3, u64::MAX] {
        let refused = store.append(&[batch("a", 1, first, vec![called(2, "{}")])]).unwrap();
        assert_eq!(refused, [Err(JournalRefusal::OutOfOrder { expected: 2 })], "{first}");
    }
    assert_eq!(store.journal(&id("a")).unwrap().events.len(), 2);
}

/// The answer to a write may be lost, and then it is done again, perhaps with more events.
fn a_batch_is_appended_once(place: &Place) {
    let store = place.open();
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    let large = noise(20_000, 9);
    let events = vec![called(0, "{}"), ended(0, &large), called(1, "{}"), ended(1, "small")];
    append(&*store, "a", 1, 0, events[..2].to_vec());
    append(&*store, "a", 1, 0, events[..2].to_vec());
    append(&*store, "a", 1, 0, events.clone());
    append(&*store, "a", 1, 1, events[1..].to_vec());
    let journal = store.journal(&id("a")).unwrap();
    assert!(format!("{:?}", journal.events) == format!("{events:?}"));
    // Other events are not taken for those that are there.
    let others = vec![called(0, "{}"), ended(0, "other"), called(2, "{}"), called(3, "{}")];
    let refused = store.append(&[batch("a", 1, 0, others)]).unwrap();
    assert_eq!(refused, [Err(JournalRefusal::OutOfOrder { expected: 4 })]);
}

fn a_run_is_added_once(place: &Place) {
    let store = place.open();
    let run = |until| {
        let mut run = durable_run("a");
        run.lease.as_mut().unwrap().until = Timestamp(until);
        run
    };
    let stored = || store.durable_run(&id("a")).unwrap().unwrap();
    store.add_durable_runs(&[&run(1_000)]).unwrap();
    append(&*store, "a", 1, 0, vec![called(0, "{}")]);
    store.add_durable_runs(&[&durable_run("b"), &run(2_000)]).unwrap();
    assert_eq!(stored(), run(2_000));
    assert_eq!(store.journal(&id("a")).unwrap().events.len(), 1);
    // Another process has the run now.
    let length = Duration::from_secs(1);
    let taken = store.take_lease(&id("a"), "other", Timestamp(2_000), length).unwrap();
    store.add_durable_runs(&[&run(9_000)]).unwrap();
    assert_eq!((stored().lease, stored().interruptions), (taken, 1));
    assert_eq!(store.lost_leases(&[(id("a"), 1), (id("b"), 1)]).unwrap(), [id("a")]);
    store.end_durable_run(&id("a"), 2, &answer(500)).unwrap();
    store.add_durable_runs(&[&run(9_000)]).unwrap();
    assert_eq!(stored().state, DurableState::Ended(answer(500)));
}

fn the_end_of_a_run_leaves_its_answer_alone(place: &Place) {
    let store = place.open();
    for name in ["a", "b"] {
        store.add_durable_runs(&[&durable_run(name)]).unwrap();
        append(&*store, name, 1, 0, vec![called(0, "{}"), ended(0, &noise(10_000, 8))]);
        store.add_question(&question(name, 1), None).unwrap();
    }
    assert!(!store.end_durable_run(&id("a"), 2, &answer(500)).unwrap());
    assert!(store.end_durable_run(&id("a"), 1, &answer(500)).unwrap());
    assert!(!store.end_durable_run(&id("a"), 1, &answer(600)).unwrap());
    assert!(!store.cancel_durable_run(&id("a"), &answer(600)).unwrap());
    let mut expected = durable_run("a");
    (expected.state, expected.lease) = (DurableState::Ended(answer(500)), None);
    assert_eq!(store.durable_run(&id("a")).unwrap(), Some(expected.clone()));
    let withdrawn = store.question(&question("a", 1).item).unwrap().unwrap().state;
    assert_eq!(withdrawn, QuestionState::Withdrawn);
    assert_eq!(store.journal(&id("a")).unwrap().events.len(), 0);
    // The other one is untouched.
    assert_eq!(store.journal(&id("b")).unwrap().events.len(), 2);
    assert_eq!((place.count("journal_values"), place.count("journals")), (1, 1));
    let other = DurableRun { state: DurableState::Waiting, ..durable_run("b") };
    assert_eq!(store.durable_runs(true).unwrap(), [expected, other.clone()]);
    assert_eq!(store.durable_runs(false).unwrap(), [other]);
}

fn states_are_kept(place: &Place) {
    let store = place.open();
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    let run = || place.open().durable_run(&id("a")).unwrap().unwrap();
    assert_eq!(run(), durable_run("a"));
    assert!(store.set_waiting(&id("a"), 1, true).unwrap());
    assert_eq!(run().state, DurableState::Waiting);
    assert!(store.set_waiting(&id("a"), 1, false).unwrap());
    assert_eq!(run().state, DurableState::Running);
    assert!(store.set_in_place(&id("a"), 1, InPlaceReason::NoJournal).unwrap());
    assert_eq!(run().in_place, Some(InPlaceReason::NoJournal));
    assert!(!store.set_waiting(&id("a"), 2, true).unwrap());
    assert!(!store.set_in_place(&id("a"), 0, InPlaceReason::Clock).unwrap());
    assert_eq!(store.durable_run(&id("b")).unwrap(), None);
}

fn pruning_spares_runs_that_wait_or_run(place: &Place) {
    let store = place.open();
    for name in ["waits", "runs", "old", "new"] {
        store.add_durable_runs(&[&durable_run(name)]).unwrap();
        store.add_question(&question(name, 1), None).unwrap();
        let mut record = run(name, 0);
        record.program = "x".repeat(10_000);
        store.put_run(&record).unwrap();
    }
    store.set_waiting(&id("waits"), 1, true).unwrap();
    store.end_durable_run(&id("old"), 1, &answer(300)).unwrap();
    store.end_durable_run(&id("new"), 1, &answer(500)).unwrap();
    assert_eq!(store.prune_durable_runs(Timestamp(400)).unwrap(), 1);
    let left: Vec<_> = store.durable_runs(true).unwrap().into_iter().map(|run| run.id).collect();
    assert_eq!(left, ["waits", "runs", "new"].map(id));
    assert_eq!(store.questions(&QuestionFilter::default()).unwrap().len(), 3);
    // Records of runs that have not ended stay, however old and large they are.
    let kept = || {
        let mut names: Vec<_> = store.runs(&RunFilter::default()).unwrap();
        names.sort_by(|one, other| one.id.cmp(&other.id));
        names.into_iter().map(|run| run.id.to_string()).collect::<Vec<_>>()
    };
    let none = Retention { max_age: Duration::from_secs(1_000), max_bytes: 0 };
    assert_eq!(store.prune_runs(&none, Timestamp(0)).unwrap(), 2);
    assert_eq!(kept(), ["runs", "waits"]);
    let young = Retention { max_age: Duration::from_millis(1), max_bytes: u64::MAX };
    assert_eq!(store.prune_runs(&young, Timestamp(1_000_000)).unwrap(), 0);
    store.cancel_durable_run(&id("runs"), &answer(600)).unwrap();
    assert_eq!(store.prune_runs(&young, Timestamp(1_000_000)).unwrap(), 1);
    assert_eq!(kept(), ["waits"]);
}
