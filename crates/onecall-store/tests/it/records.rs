//! Records of runs, and learned shapes.

use std::thread;
use std::time::Duration;

use onecall_core::storage::*;
use onecall_core::{
    CallSite, CallableName, InPlaceReason, JournalCall, JournalEvent, Picture, RunId, TextSizes,
    Timestamp, TokenUsage, ToolValue, UserName,
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
    texts_of_calls_are_read_where_they_are_needed,
    every_character_comes_back,
    the_start_of_a_run_at_a_place_is_found,
    sums_are_kept_by_hour_and_day,
    sums_are_right_when_many_write_at_once,
    runs_of_older_versions_are_added_to_the_sums_once,
    a_step_adds_few_runs_to_the_sums_and_the_newest_first,
    tokens_are_counted_once,
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
        pictures: vec![Picture::parse("iVBORw0KGgo=".to_owned()), None],
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
        run.calls[0].error = (number == 3).then(|| "Disk <full>".to_owned());
        // The arguments of the first run are too long to be searched.
        let long = if number == 1 { "x".repeat(5_000) } else { String::new() };
        let arguments = format!("{{\"path\":\"/tmp/{long}{number}\"}}");
        run.calls[0].arguments_bytes = u64::try_from(arguments.len()).unwrap();
        run.calls[0].arguments = Some(arguments);
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
    let rows: [(RunFilter, &[&str]); 20] = [
        (everything(), &["b3", "b2", "b1"]),
        (RunFilter { user, ..everything() }, &["b3"]),
        (RunFilter { client: text("client 2_"), ..everything() }, &["b2"]),
        (RunFilter { client: text("%"), ..everything() }, &["b3", "b2", "b1"]),
        (RunFilter { client: text("2%"), ..everything() }, &[]),
        (RunFilter { server: text("server1"), ..everything() }, &["b1"]),
        (RunFilter { server: text("SERVER"), ..everything() }, &["b3", "b2", "b1"]),
        (RunFilter { server: text("server_"), ..everything() }, &[]),
        (RunFilter { text: text("b2"), ..everything() }, &["b2"]),
        (RunFilter { text: text("disk <"), ..everything() }, &["b3"]),
        (RunFilter { text: text("/tmp/2"), ..everything() }, &["b2"]),
        (RunFilter { text: text("/tmp/"), ..everything() }, &["b3", "b2"]),
        (RunFilter { text: text("/tmp/%"), ..everything() }, &[]),
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

fn texts_of_calls_are_read_where_they_are_needed(place: &Place) {
    let store = place.open();
    let mut record = run("r", 1);
    record.calls = vec![record.calls[0].clone(); 3];
    store.put_run(&record).unwrap();
    let read = |texts: CallTexts| store.run(&record.run.id, texts).unwrap().unwrap();
    assert_eq!(read(CallTexts::All), record);
    for (texts, index) in
        [(CallTexts::None, None), (CallTexts::Of(1), Some(1)), (CallTexts::Of(3), None)]
    {
        let mut expected = record.clone();
        for (_, call) in expected.calls.iter_mut().enumerate().filter(|(it, _)| Some(*it) != index)
        {
            (call.arguments, call.result) = (None, None);
        }
        assert_eq!(read(texts), expected, "{texts:?}");
    }
    // Only a whole identifier names a run.
    store.put_run(&run("r2", 2)).unwrap();
    assert_eq!(read(CallTexts::All), record);
    assert_eq!(store.run(&RunId::from_existing(""), CallTexts::All).unwrap(), None);
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

fn figures(
    store: &dyn CompleteStore,
    unit: FigureUnit,
    since: i64,
    user: Option<&str>,
) -> PeriodFigures {
    let user = user.map(UserName::from_existing);
    let (since, until) = (Timestamp(since), Timestamp(40 * 3_600_000));
    store.figures(&FigureQuery { unit, tool_unit: unit, since, until, user }).unwrap()
}

fn the_start_of_a_run_at_a_place_is_found(place: &Place) {
    let store = place.open();
    for number in 1..=5 {
        let mut record = run(&number.to_string(), number * 10);
        record.run.user = UserName::from_existing(if number == 3 { "ben" } else { "anna" });
        store.put_run(&record).unwrap();
    }
    let at = |filter: RunFilter, count: usize| {
        store.start_of_run_at(&filter, count).unwrap().map(|start| start.0)
    };
    assert_eq!(
        [0, 2, 4, 5].map(|count| at(RunFilter::default(), count)),
        [Some(50), Some(30), Some(10), None]
    );
    let after = RunPosition { started: Timestamp(40), id: RunId::from_existing("4") };
    let later = RunFilter {
        after: Some(after),
        since: Some(Timestamp(20)),
        text: Some("no run has this".to_owned()),
        ..RunFilter::default()
    };
    assert_eq!((at(later.clone(), 1), at(later, 3)), (Some(30), None));
    let anna = RunFilter { user: Some(UserName::from_existing("anna")), ..RunFilter::default() };
    assert_eq!((at(anna.clone(), 2), at(anna, 4)), (Some(20), None));
}

fn sums_are_kept_by_hour_and_day(place: &Place) {
    const HOUR: i64 = 3_600_000;
    let store = place.open();
    for (id, started, user) in [("a", 5, "anna"), ("b", HOUR + 1, "anna"), ("c", HOUR + 2, "ben")] {
        let mut record = run(id, started);
        record.run.user = UserName::from_existing(user);
        record.calls.iter_mut().for_each(|call| call.cached = false);
        store.put_run(&record).unwrap();
    }
    let mut failed = run("d", 30 * HOUR);
    failed.run.outcome = "raised".to_owned();
    failed.calls[0].error = Some("no".to_owned());
    store.put_run(&failed).unwrap();
    let runs = |figures: &PeriodFigures| -> Vec<(i64, u64, u64)> {
        let counted = |(starts, sums): (&Timestamp, &Figures)| {
            (starts.0, sums.get(Counter::Runs), sums.get(Counter::FailedRuns))
        };
        figures.intervals.iter().map(counted).collect()
    };
    let hours = figures(store.as_ref(), FigureUnit::Hour, 0, None);
    assert_eq!(runs(&hours), [(0, 1, 0), (HOUR, 2, 0), (30 * HOUR, 1, 1)]);
    let days = figures(store.as_ref(), FigureUnit::Day, 0, None);
    assert_eq!(runs(&days), [(0, 3, 0), (24 * HOUR, 1, 1)]);
    let sums = &days.intervals[&Timestamp(0)];
    assert_eq!(sums.percentile(50), Some(Duration::from_micros(1_600)));
    assert_eq!((sums.get(Counter::DirectTokens), sums.signed(Counter::SavedTokens)), (30, 18));
    assert_eq!(sums.get(Counter::EstimatedRuns), 3);
    let tool = &days.tools["mcp__a_b__c"];
    let counters = [Counter::Calls, Counter::FailedCalls, Counter::CachedCalls];
    assert_eq!(counters.map(|counter| tool.get(counter)), [4, 1, 1]);
    // The answer from the cache has no time.
    assert_eq!(tool.percentile(95), Some(Duration::from_micros(20)));
    assert_eq!(
        runs(&figures(store.as_ref(), FigureUnit::Hour, HOUR, Some("anna"))),
        [(HOUR, 1, 0)]
    );
    assert_eq!(runs(&figures(store.as_ref(), FigureUnit::Hour, 0, Some("carl"))), []);
    // What is too old goes; an interval that is not over stays.
    let retention = Retention { max_age: Duration::from_secs(3_600), max_bytes: u64::MAX };
    store.prune_runs(&retention, Timestamp(2 * HOUR + 1)).unwrap();
    let left = figures(store.as_ref(), FigureUnit::Hour, 0, None);
    assert_eq!(runs(&left), [(HOUR, 2, 0), (30 * HOUR, 1, 1)]);
    assert_eq!(runs(&figures(store.as_ref(), FigureUnit::Day, 0, None)).len(), 2);
}

fn sums_are_right_when_many_write_at_once(place: &Place) {
    thread::scope(|scope| {
        for writer in 0..4 {
            scope.spawn(move || {
                let store = place.open();
                for number in 0..25 {
                    store.put_run(&run(&format!("{writer}-{number}"), number)).unwrap();
                }
            });
        }
    });
    let days = figures(place.open().as_ref(), FigureUnit::Day, 0, None);
    assert_eq!(days.intervals[&Timestamp(0)].get(Counter::Runs), 100);
    assert_eq!(days.tools["mcp__a_b__c"].get(Counter::Calls), 100);
}

/// Makes a store what an older version leaves: with runs, and without sums.
fn remove_figures(place: &Place) {
    place.execute("UPDATE runs SET in_figures = NOT in_figures; DELETE FROM figures");
}

fn runs_of_older_versions_are_added_to_the_sums_once(place: &Place) {
    const HOUR: i64 = 3_600_000;
    let expected = place.another();
    let stores = [place.open(), expected.open()];
    // More than one step, with runs that have many calls.
    for number in 0..450 {
        let mut record = run(&format!("{number:03}"), number * HOUR / 20);
        record.run.user = UserName::from_existing(if number % 3 == 0 { "anna" } else { "ben" });
        if number % 50 == 7 {
            record.calls = vec![record.calls[0].clone(); 5_000];
            record.run.call_count = 5_000;
        }
        stores.iter().for_each(|store| store.put_run(&record).unwrap());
    }
    let sums = |place: &Place| {
        let store = place.open();
        [None, Some("anna"), Some("ben")].map(|user| {
            [FigureUnit::Hour, FigureUnit::Day].map(|unit| figures(store.as_ref(), unit, 0, user))
        })
    };
    remove_figures(place);
    let empty = PeriodFigures::default();
    assert!(sums(place).iter().flatten().all(|figures| *figures == empty));
    // The tokens of a run are counted before it is added.
    let counted = TokenUsage { direct: 100, onecall: 30, estimated: false };
    for store in &stores {
        assert!(store.set_run_tokens(&RunId::from_existing("008"), counted).unwrap());
    }
    // Several processes add the runs while others store new ones.
    thread::scope(|scope| {
        for worker in 0..3 {
            scope.spawn(move || {
                let store = place.open();
                store.put_run(&run(&format!("new-{worker}"), 20 * HOUR)).unwrap();
                while store.add_older_runs_to_figures().unwrap() {}
            });
        }
    });
    for worker in 0..3 {
        stores[1].put_run(&run(&format!("new-{worker}"), 20 * HOUR)).unwrap();
    }
    assert!(!stores[0].add_older_runs_to_figures().unwrap());
    assert_eq!(sums(place), sums(&expected));
}

fn a_step_adds_few_runs_to_the_sums_and_the_newest_first(place: &Place) {
    const HOUR: i64 = 3_600_000;
    let store = place.open();
    for number in 0..3 {
        let mut record = run(&number.to_string(), number * HOUR);
        record.calls = vec![record.calls[0].clone(); 15_000];
        record.run.call_count = 15_000;
        store.put_run(&record).unwrap();
    }
    remove_figures(place);
    let mut starts = Vec::new();
    while store.add_older_runs_to_figures().unwrap() {
        let hours = figures(store.as_ref(), FigureUnit::Hour, 0, None);
        starts.push(hours.intervals.keys().next().unwrap().0);
    }
    assert_eq!(starts, [2 * HOUR, HOUR, 0]);
}

fn tokens_are_counted_once(place: &Place) {
    let store = place.open();
    store.put_run(&run("a", 5)).unwrap();
    let id = RunId::from_existing("a");
    let counted = TokenUsage { direct: 100, onecall: 30, estimated: false };
    assert!(store.set_run_tokens(&id, counted).unwrap());
    let more = TokenUsage { direct: 500, ..counted };
    assert!(!store.set_run_tokens(&id, more).unwrap());
    assert!(!store.set_run_tokens(&RunId::from_existing("b"), counted).unwrap());
    assert_eq!(store.runs(&RunFilter::default()).unwrap()[0].tokens(), Some(counted));
    let days = figures(store.as_ref(), FigureUnit::Day, 0, None);
    let sums = &days.intervals[&Timestamp(0)];
    let counters = [Counter::DirectTokens, Counter::SavedTokens, Counter::EstimatedRuns];
    assert_eq!(counters.map(|counter| sums.signed(counter)), [100, 70, 0]);
}
