//! Records of runs, and learned shapes.

use std::thread;
use std::time::Duration;

use onecall_core::storage::*;
use onecall_core::{
    CallSite, CallableName, InPlaceReason, JournalCall, JournalEvent, RunId, TextSizes, Timestamp,
    TokenUsage, ToolValue, UserName,
};

use crate::place::{Place, on_every_store};

/// How often a store is begun by several at once.
const ROUNDS: usize = 20;

on_every_store!(
    a_run_comes_back_as_it_was,
    runs_are_found_by_every_filter,
    many_write_at_once,
    a_record_says_why_its_run_cannot_be_replayed,
    many_begin_it_at_once,
    old_runs_and_too_many_go,
    every_character_comes_back,
);

pub(crate) fn run(id: &str, started: i64) -> RunRecord {
    RunRecord {
        argv: vec!["report.py".to_owned(), "a b".to_owned()],
        run: RunSummary {
            id: RunId::from_existing(id),
            started: Timestamp(started),
            user: UserName::local(),
            client: "tests".to_owned(),
            kind: "program".to_owned(),
            language: "python".to_owned(),
            engine: "auto".to_owned(),
            session: None,
            program_hash: "00".to_owned(),
            outcome: "ok".to_owned(),
            error: None,
            duration: Duration::from_micros(1_500),
            output_bytes: 3,
            output_truncated: false,
            call_count: 1,
            failed_calls: 0,
            cached_calls: 0,
            sizes: Some(TextSizes { direct: 40, onecall: 16 }),
            counted_tokens: None,
            detail: RunDetail::Full,
        },
        program: "print(1)".to_owned(),
        error_line: Some(3),
        output: Some("1\n".to_owned()),
        tools: Some("[]".to_owned()),
        calls: vec![StoredCall {
            name: "mcp__a_b__c".to_owned(),
            server: "a-b".to_owned(),
            arguments_hash: "11".to_owned(),
            arguments_bytes: 2,
            result_bytes: 1,
            started: Duration::from_micros(10),
            duration: Some(Duration::from_micros(20)),
            error: None,
            denied_by: Some("tools".to_owned()),
            cached: true,
            arguments: Some("{}".to_owned()),
            result: Some(("json".to_owned(), "1".to_owned())),
            counted_tokens: None,
        }],
        replay: ReplayData::Journal(journal()),
    }
}

/// The journal of a run with one call.
pub(crate) fn journal() -> RecordedJournal {
    let name = CallableName::new("mcp__a_b__c");
    let (site, arguments) = (Some(CallSite::default()), "{}".to_owned());
    RecordedJournal {
        seed: [7; 32],
        events: vec![
            JournalEvent::Observed { bytes: b"observed".to_vec() },
            JournalEvent::Called(JournalCall { id: 1, name, site, arguments, definition: None }),
            JournalEvent::Ended { call: 1, result: Ok(ToolValue::Text("x".repeat(20_000))) },
        ],
    }
}

pub(crate) fn ids(store: &dyn CompleteStore, filter: &RunFilter) -> Vec<String> {
    store.runs(filter).unwrap().iter().map(|run| run.id.to_string()).collect()
}

pub(crate) fn all(store: &dyn CompleteStore) -> Vec<String> {
    ids(store, &RunFilter::default())
}

fn a_run_comes_back_as_it_was(place: &Place) {
    let mut failed = run("b2", 2_000);
    failed.run.outcome = "raised".to_owned();
    failed.run.error = Some(("ValueError".to_owned(), "no".to_owned()));
    failed.run.sizes = None;
    failed.run.counted_tokens = Some(TokenUsage { direct: 99, onecall: 9, estimated: false });
    failed.calls[0].counted_tokens = Some(88);
    failed.calls[0].name = "mcp__x__y".to_owned();
    place.open().put_run(&run("b1", 1_000)).unwrap();
    place.open().put_run(&failed).unwrap();
    let store = place.open();
    assert_eq!(store.find_run("b1").unwrap(), RunLookup::One(Box::new(run("b1", 1_000))));
    assert_eq!(store.find_run("b2").unwrap(), RunLookup::One(Box::new(failed)));
    assert_eq!(store.find_run("c").unwrap(), RunLookup::Nothing);
    let several = ["b2", "b1"].map(RunId::from_existing).to_vec();
    assert_eq!(store.find_run("b").unwrap(), RunLookup::Several(several));
    assert_eq!(all(&*store), ["b2", "b1"]);
    let filtered = |filter| ids(&*store, &filter);
    assert_eq!(filtered(RunFilter { failed: true, ..RunFilter::default() }), ["b2"]);
    let tool = |text: &str| RunFilter { tool: Some(text.to_owned()), ..RunFilter::default() };
    assert_eq!(filtered(tool("a_b__c")), ["b1"]);
    assert_eq!(filtered(tool("a_b_%")), [""; 0]);
    let since = Some(Timestamp(1_500));
    assert_eq!(filtered(RunFilter { since, ..RunFilter::default() }), ["b2"]);
    assert_eq!(filtered(RunFilter { limit: Some(1), ..RunFilter::default() }), ["b2"]);
    let mut calls = Vec::new();
    store.for_each_call(since, &mut |id, call| calls.push((id.to_string(), call.name))).unwrap();
    assert_eq!(calls, [("b2".to_owned(), "mcp__x__y".to_owned())]);
}

fn runs_are_found_by_every_filter(place: &Place) {
    let store = place.open();
    for (number, started) in [(1, 1_000), (2, 2_000), (3, 2_000)] {
        let mut run = run(&format!("b{number}"), started);
        run.run.user = UserName::from_existing(format!("user{number}"));
        run.run.client = format!("Client {number}_%");
        run.run.outcome = if number == 1 { "ok" } else { "timed_out" }.to_owned();
        run.run.error = (number == 2).then(|| ("E".to_owned(), "no Needle".to_owned()));
        run.calls[0].server = format!("server{number}");
        run.program = format!("print({number})");
        run.output = Some(format!("printed {number}"));
        store.put_run(&run).unwrap();
    }
    let everything = RunFilter::default;
    let text = |text: &str| Some(text.to_owned());
    let user = Some(UserName::from_existing("user3"));
    let after = |started, id| {
        Some(RunPosition { started: Timestamp(started), id: RunId::from_existing(id) })
    };
    let until = Some(Timestamp(2_000));
    let rows: [(RunFilter, &[&str]); 14] = [
        (everything(), &["b3", "b2", "b1"]),
        (RunFilter { user, ..everything() }, &["b3"]),
        (RunFilter { client: text("client 2_"), ..everything() }, &["b2"]),
        (RunFilter { client: text("%"), ..everything() }, &["b3", "b2", "b1"]),
        (RunFilter { client: text("2%"), ..everything() }, &[]),
        (RunFilter { server: text("server1"), ..everything() }, &["b1"]),
        (RunFilter { server: text("server"), ..everything() }, &[]),
        (RunFilter { outcome: text("timed_out"), ..everything() }, &["b3", "b2"]),
        (RunFilter { text: text("needle"), ..everything() }, &["b2"]),
        (RunFilter { text: text("PRINT(3"), ..everything() }, &["b3"]),
        (RunFilter { text: text("printed 1"), failed: true, ..everything() }, &[]),
        (RunFilter { until, ..everything() }, &["b1"]),
        (RunFilter { after: after(2_000, "b3"), ..everything() }, &["b2", "b1"]),
        (RunFilter { after: after(2_000, "b2"), limit: Some(5), ..everything() }, &["b1"]),
    ];
    for (filter, expected) in rows {
        assert_eq!(ids(&*store, &filter), expected, "{filter:?}");
    }
}

fn many_write_at_once(place: &Place) {
    thread::scope(|scope| {
        for writer in 0..8 {
            scope.spawn(move || {
                // Each its own connection, as in a process of its own.
                let store = place.open();
                for number in 0..20 {
                    store.put_run(&run(&format!("{writer}-{number:02}"), number)).unwrap();
                    let key = ShapeKey { server: "s".into(), tool: "t".into(), schema: "k".into() };
                    store
                        .update_shape(&key, &mut |known| {
                            let samples = known.map_or(0, |known| known.samples) + 1;
                            Some(StoredShape { samples, shape: "{}".to_owned() })
                        })
                        .unwrap();
                }
            });
        }
    });
    let store = place.open();
    assert_eq!(all(&*store).len(), 160);
    assert_eq!(store.shapes().unwrap()[0].1.samples, 160);
}

fn many_begin_it_at_once(place: &Place) {
    for _ in 0..ROUNDS {
        let place = &place.another();
        thread::scope(|scope| {
            for writer in 0..8 {
                scope.spawn(move || place.open().put_run(&run(&writer.to_string(), 1)).unwrap());
            }
        });
        assert_eq!(all(&*place.open()).len(), 8);
    }
}

#[test]
fn tokens_are_those_that_were_counted_or_else_estimated() {
    let estimated = run("a", 1);
    let tokens = TokenUsage { direct: 10, onecall: 4, estimated: true };
    assert_eq!(estimated.run.tokens(), Some(tokens));
    // Its name, two bytes of arguments and one of a result.
    assert_eq!(estimated.calls[0].tokens(), 14_u64.div_ceil(4));
    let counted = TokenUsage { direct: 99, onecall: 9, estimated: false };
    let mut older = run("b", 1);
    older.run.counted_tokens = Some(counted);
    older.calls[0].counted_tokens = Some(88);
    assert_eq!((older.run.tokens(), older.calls[0].tokens()), (Some(counted), 88));
}

/// What a store has for the replay of a run.
pub(crate) fn replay_data(store: &dyn CompleteStore, id: &str) -> ReplayData {
    match store.find_run(id).unwrap() {
        RunLookup::One(record) => record.replay,
        other => panic!("{other:?}"),
    }
}

fn a_record_says_why_its_run_cannot_be_replayed(place: &Place) {
    let store = place.open();
    let obstacles = [
        ReplayObstacle::InPlace(InPlaceReason::Threads),
        ReplayObstacle::InPlace(InPlaceReason::JournalSize),
        ReplayObstacle::Secret,
        ReplayObstacle::ProgramLength,
    ];
    for (number, obstacle) in (0..).zip(obstacles) {
        let mut record = run(&number.to_string(), number);
        record.replay = ReplayData::Impossible(obstacle);
        store.put_run(&record).unwrap();
        assert_eq!(replay_data(&*store, &number.to_string()), record.replay);
    }
    let mut without = run("none", 9);
    without.replay = ReplayData::None;
    store.put_run(&without).unwrap();
    assert_eq!(replay_data(&*store, "none"), ReplayData::None);
}

fn old_runs_and_too_many_go(place: &Place) {
    let store = place.open();
    put_large_runs(&*store);
    let now = Timestamp(10_000);
    let retention = Retention { max_age: Duration::from_secs(8), max_bytes: 1 << 30 };
    assert_eq!(store.prune_runs(&retention, now).unwrap(), 2);
    assert_eq!(all(&*store).len(), 8);
    let retention = Retention { max_age: Duration::from_secs(80), max_bytes: 350_000 };
    assert_eq!(store.prune_runs(&retention, now).unwrap(), 5);
    assert_eq!(all(&*store), ["9", "8", "7"]);
    let mut calls = 0;
    store.for_each_call(None, &mut |_, _| calls += 1).unwrap();
    assert_eq!(calls, 3);
    assert_eq!(place.count("record_journals"), 3);
}

/// Stores ten runs of 100 kB, one for each second.
pub(crate) fn put_large_runs(store: &dyn CompleteStore) {
    for number in 0..10 {
        let mut run = run(&format!("{number}"), 1_000 * number);
        run.program = "x".repeat(100_000);
        store.put_run(&run).unwrap();
    }
}

/// A program and a server may send any character, which no database may lose.
fn every_character_comes_back(place: &Place) {
    let store = place.open();
    let text = "a\0b\u{10ffff}c\u{10ffff}0";
    let mut record = run("r", 1);
    text.clone_into(&mut record.program);
    text.clone_into(&mut record.run.client);
    record.output = Some(text.to_owned());
    record.calls[0].result = Some(("text".to_owned(), text.to_owned()));
    record.calls[0].error = Some(text.to_owned());
    store.put_run(&record).unwrap();
    assert_eq!(store.find_run("r").unwrap(), RunLookup::One(Box::new(record)));
}
