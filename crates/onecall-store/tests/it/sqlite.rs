//! The store as its users meet it: shared, damaged, outdated, in the way of others.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use onecall_core::storage::*;
use onecall_core::{
    CallSite, CallableName, InPlaceReason, JournalCall, JournalEvent, RunId, TextSizes, Timestamp,
    TokenUsage, ToolValue, UserName,
};
use onecall_store::{inspect, open, read_listings};
use rusqlite::Connection;
use serde_json::value::RawValue;
use tempfile::TempDir;

pub(crate) struct StoreFolder(TempDir);

impl StoreFolder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.path().join("deep/er/onecall.db")
    }

    pub(crate) fn open(&self) -> Arc<dyn Store> {
        open(self.file())
    }

    /// Everything beside the store that has its name.
    pub(crate) fn set_aside(&self) -> Vec<String> {
        let entries = fs::read_dir(self.file().parent().unwrap()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| {
                name.contains("damaged") && !name.ends_with("-wal") && !name.ends_with("-shm")
            })
            .collect()
    }
}

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

fn ids(store: &dyn Store, filter: &RunFilter) -> Vec<String> {
    store.runs(filter).unwrap().iter().map(|run| run.id.to_string()).collect()
}

fn all(store: &dyn Store) -> Vec<String> {
    ids(store, &RunFilter::default())
}

#[test]
fn a_run_comes_back_as_it_was() {
    let folder = StoreFolder::new();
    let mut failed = run("b2", 2_000);
    failed.run.outcome = "raised".to_owned();
    failed.run.error = Some(("ValueError".to_owned(), "no".to_owned()));
    failed.run.sizes = None;
    failed.run.counted_tokens = Some(TokenUsage { direct: 99, onecall: 9, estimated: false });
    failed.calls[0].counted_tokens = Some(88);
    failed.calls[0].name = "mcp__x__y".to_owned();
    folder.open().put_run(&run("b1", 1_000)).unwrap();
    folder.open().put_run(&failed).unwrap();
    let store = folder.open();
    assert_eq!(store.find_run("b1").unwrap(), RunLookup::One(Box::new(run("b1", 1_000))));
    assert_eq!(store.find_run("b2").unwrap(), RunLookup::One(Box::new(failed)));
    assert_eq!(store.find_run("c").unwrap(), RunLookup::Nothing);
    let several = ["b2", "b1"].map(RunId::from_existing).to_vec();
    assert_eq!(store.find_run("b").unwrap(), RunLookup::Several(several));
    assert_eq!(all(store.as_ref()), ["b2", "b1"]);
    let filtered = |filter| ids(store.as_ref(), &filter);
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

#[test]
fn it_belongs_to_its_owner_alone() {
    let folder = StoreFolder::new();
    folder.open().put_run(&run("a", 1)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&folder.file()), 0o600);
    assert_eq!(mode(folder.file().parent().unwrap()), 0o700);
    fs::set_permissions(folder.file(), fs::Permissions::from_mode(0o644)).unwrap();
    all(folder.open().as_ref());
    assert_eq!(mode(&folder.file()), 0o600);
}

#[test]
fn many_write_at_once() {
    let folder = StoreFolder::new();
    thread::scope(|scope| {
        for writer in 0..8 {
            let folder = &folder;
            scope.spawn(move || {
                // Each its own connection, as in a process of its own.
                let store = folder.open();
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
    let store = folder.open();
    assert_eq!(all(store.as_ref()).len(), 160);
    assert_eq!(store.shapes().unwrap()[0].1.samples, 160);
}

#[test]
fn many_begin_it_at_once() {
    for _ in 0..50 {
        let folder = StoreFolder::new();
        thread::scope(|scope| {
            for writer in 0..8 {
                let folder = &folder;
                scope.spawn(move || folder.open().put_run(&run(&writer.to_string(), 1)).unwrap());
            }
        });
        assert_eq!(all(folder.open().as_ref()).len(), 8);
    }
}

#[test]
fn a_file_that_is_no_store_is_set_aside() {
    let foreign = |path: &Path| {
        let other = Connection::open(path).unwrap();
        other.execute_batch("CREATE TABLE theirs (x); PRAGMA user_version = 3").unwrap();
    };
    let text = |path: &Path| fs::write(path, "not a database at all").unwrap();
    let makers: [&dyn Fn(&Path); 2] = [&foreign, &text];
    for make in makers {
        let folder = StoreFolder::new();
        fs::create_dir_all(folder.file().parent().unwrap()).unwrap();
        make(&folder.file());
        let before = fs::read(folder.file()).unwrap();
        let store = folder.open();
        store.put_run(&run("a", 1)).unwrap();
        assert_eq!(all(folder.open().as_ref()), ["a"]);
        let [aside] = folder.set_aside().try_into().unwrap();
        let kept = fs::read(folder.file().parent().unwrap().join(aside)).unwrap();
        assert!(kept == before);
    }
}

/// Writes enough that the file has many pages, all of them in the file itself.
fn filled(folder: &StoreFolder) {
    let store = folder.open();
    for number in 0..50 {
        let mut run = run(&format!("{number:03}"), number);
        run.program = "x".repeat(5_000);
        store.put_run(&run).unwrap();
    }
    drop(store);
    let checkpoint = Connection::open(folder.file()).unwrap();
    checkpoint.pragma_update_and_check(None, "wal_checkpoint", "TRUNCATE", |_| Ok(())).unwrap();
}

#[test]
fn a_truncated_file_is_set_aside() {
    let folder = StoreFolder::new();
    filled(&folder);
    let bytes = fs::read(folder.file()).unwrap();
    fs::write(folder.file(), &bytes[..bytes.len() / 2 - 100]).unwrap();
    assert_eq!(all(folder.open().as_ref()), [""; 0]);
    assert_eq!(folder.set_aside().len(), 1);
}

#[test]
fn damage_that_shows_later_is_set_aside_then() {
    let folder = StoreFolder::new();
    filled(&folder);
    let store = folder.open();
    assert_eq!(all(store.as_ref()).len(), 50);
    let mut bytes = fs::read(folder.file()).unwrap();
    // The schema is in the first pages, and with it damaged the file would not even open.
    bytes[64 * 4096..].fill(0xa5);
    fs::write(folder.file(), bytes).unwrap();
    // A process of its own, which has read nothing of it yet.
    let other = folder.open();
    let error = other.runs(&RunFilter::default()).unwrap_err();
    assert!(matches!(error, StoreError::Replaced { .. }), "{error}");
    other.put_run(&run("new", 1)).unwrap();
    assert_eq!(all(other.as_ref()), ["new"]);
    // The first one finds the new file, too.
    assert_eq!(all(store.as_ref()), ["new"]);
    assert_eq!(folder.set_aside().len(), 1);
}

#[test]
fn a_deleted_file_is_begun_anew() {
    let folder = StoreFolder::new();
    let store = folder.open();
    store.put_run(&run("a", 1)).unwrap();
    fs::remove_dir_all(folder.file().parent().unwrap()).unwrap();
    store.put_run(&run("b", 1)).unwrap();
    assert_eq!(all(folder.open().as_ref()), ["b"]);
}

/// Takes out of a store what each version after `version` has added.
fn make_older(folder: &StoreFolder, version: u8) {
    let added = [
        "ALTER TABLE runs DROP COLUMN argv",
        "DROP TABLE listings",
        "ALTER TABLE calls DROP COLUMN denied_by;
         ALTER TABLE runs DROP COLUMN direct_bytes;
         ALTER TABLE runs DROP COLUMN onecall_bytes",
        "DROP TABLE durable_runs; DROP TABLE durable_texts; DROP TABLE journals;
         DROP TABLE journal_events; DROP TABLE journal_values; DROP TABLE questions;
         DROP TABLE grants; DROP TABLE secrets",
        "DROP TABLE record_journals",
        // The columns of tables that are gone now went with them.
        "DROP TABLE users; DROP TABLE user_tokens; DROP TABLE user_secrets; DROP TABLE audit;
         DROP TABLE audit_checkpoints; DROP TABLE audit_head;
         DROP INDEX runs_by_user; ALTER TABLE runs DROP COLUMN user",
    ];
    let connection = Connection::open(folder.file()).unwrap();
    for statement in added.iter().skip(usize::from(version) - 1) {
        connection.execute_batch(statement).unwrap();
    }
    connection.pragma_update(None, "user_version", version).unwrap();
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

#[test]
fn an_older_store_is_brought_up_to_date() {
    let folder = StoreFolder::new();
    let counted = TokenUsage { direct: 99, onecall: 9, estimated: false };
    let mut first = run("a", 1);
    first.run.counted_tokens = Some(counted);
    folder.open().put_run(&first).unwrap();
    make_older(&folder, 1);
    let store = folder.open();
    store.put_run(&run("b", 2)).unwrap();
    let found = |id: &str| match store.find_run(id).unwrap() {
        RunLookup::One(record) => *record,
        other => panic!("{other:?}"),
    };
    let (a, b) = (found("a"), found("b"));
    assert_eq!((a.argv.as_slice(), a.run.tokens(), a.run.sizes), (&[][..], Some(counted), None));
    assert_eq!(a.replay, ReplayData::None);
    assert_eq!((b.argv, b.run.sizes), (run("b", 2).argv, run("b", 2).run.sizes));
    assert_eq!(b.replay, ReplayData::Journal(journal()));
}

/// What a store has for the replay of a run.
fn replay_data(store: &dyn Store, id: &str) -> ReplayData {
    match store.find_run(id).unwrap() {
        RunLookup::One(record) => record.replay,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_record_says_why_its_run_cannot_be_replayed() {
    let folder = StoreFolder::new();
    let store = folder.open();
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

#[test]
fn a_journal_counts_with_its_compressed_size() {
    let folder = StoreFolder::new();
    let (with, mut without) = (run("a", 1), run("b", 2));
    without.replay = ReplayData::None;
    folder.open().put_run(&with).unwrap();
    folder.open().put_run(&without).unwrap();
    let reader = Connection::open(folder.file()).unwrap();
    let stored = |id: &str| -> i64 {
        let query = "SELECT stored_bytes FROM runs WHERE id = ?1";
        reader.query_row(query, [id], |row| row.get(0)).unwrap()
    };
    // Most of the journal is one letter many times.
    let journal = stored("a") - stored("b");
    assert!((200..2_000).contains(&journal), "{journal}");
    assert!(with.memory_bytes() > without.memory_bytes() + 20_000);
}

#[test]
fn a_record_with_a_damaged_journal_can_still_be_read() {
    let damages = [
        "events = zeroblob(length(events))",
        "events = substr(events, 2)",
        "length = length - 1",
        "length = 9223372036854775807",
        "seed = zeroblob(32)",
        "seed = x'07'",
        "checksum = NULL",
        "events = NULL",
        "obstacle = 'nonsense'",
    ];
    for damage in damages {
        let folder = StoreFolder::new();
        folder.open().put_run(&run("a", 1)).unwrap();
        let connection = Connection::open(folder.file()).unwrap();
        connection.execute(&format!("UPDATE record_journals SET {damage}"), []).unwrap();
        drop(connection);
        let damaged = ReplayData::Impossible(ReplayObstacle::Damaged);
        assert_eq!(replay_data(&*folder.open(), "a"), damaged, "{damage}");
        assert_eq!(folder.set_aside(), [""; 0], "{damage}");
    }
    // A journal belongs to its run.
    let folder = StoreFolder::new();
    let store = folder.open();
    store.put_run(&run("a", 1)).unwrap();
    store.put_run(&run("b", 2)).unwrap();
    let connection = Connection::open(folder.file()).unwrap();
    connection.execute("DELETE FROM record_journals WHERE run_id = 'a'", []).unwrap();
    connection.execute("UPDATE record_journals SET run_id = 'a'", []).unwrap();
    drop(connection);
    assert_eq!(replay_data(&*store, "a"), ReplayData::Impossible(ReplayObstacle::Damaged));
}

#[test]
fn a_newer_store_is_left_alone() {
    let folder = StoreFolder::new();
    folder.open().put_run(&run("a", 1)).unwrap();
    let newer = Connection::open(folder.file()).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    let store = folder.open();
    let text = store.put_run(&run("b", 1)).unwrap_err().to_string();
    assert!(text.contains("has version 99, and this onecall supports versions up to 7"), "{text}");
    assert_eq!(folder.set_aside(), [""; 0]);
}

#[test]
fn a_look_changes_nothing() {
    let folder = StoreFolder::new();
    assert_eq!(inspect(&folder.file()).unwrap(), None);
    assert!(!folder.0.path().join("deep").exists());
    folder.open().put_run(&run("a", 1)).unwrap();
    let seen = inspect(&folder.file()).unwrap().unwrap();
    assert_eq!((seen.version, seen.newest, seen.is_writable), (7, 7, true));
    assert!(seen.bytes > 0);
    fs::write(folder.file(), "something else, and long enough to be a file of a database").unwrap();
    let error = inspect(&folder.file()).unwrap_err();
    assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");
    assert_eq!(folder.set_aside(), [""; 0]);
}

#[test]
fn a_place_that_cannot_be_had_is_told() {
    let folder = StoreFolder::new();
    // A file where a directory would have to be: not even root can make one there.
    fs::write(folder.0.path().join("deep"), "").unwrap();
    let store = folder.open();
    for _ in 0..2 {
        let error = store.put_run(&run("a", 1)).unwrap_err();
        assert!(matches!(error, StoreError::Disabled { .. }), "{error}");
    }
}

#[test]
fn old_runs_and_too_many_go() {
    let folder = StoreFolder::new();
    let store = folder.open();
    for number in 0..10 {
        let mut run = run(&format!("{number}"), 1_000 * number);
        run.program = "x".repeat(100_000);
        store.put_run(&run).unwrap();
    }
    let now = Timestamp(10_000);
    let retention = Retention { max_age: Duration::from_secs(8), max_bytes: 1 << 30 };
    assert_eq!(store.prune_runs(&retention, now).unwrap(), 2);
    assert_eq!(all(store.as_ref()).len(), 8);
    let retention = Retention { max_age: Duration::from_secs(80), max_bytes: 350_000 };
    assert_eq!(store.prune_runs(&retention, now).unwrap(), 5);
    assert_eq!(all(store.as_ref()), ["9", "8", "7"]);
    let mut calls = 0;
    store.for_each_call(None, &mut |_, _| calls += 1).unwrap();
    assert_eq!(calls, 3);
    let reader = Connection::open(folder.file()).unwrap();
    let count = "SELECT count(*) FROM record_journals";
    let journals: i64 = reader.query_row(count, [], |row| row.get(0)).unwrap();
    assert_eq!(journals, 3);
    // The disk has got back what they took.
    let free: i64 = reader.pragma_query_value(None, "freelist_count", |row| row.get(0)).unwrap();
    let pages: i64 = reader.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    assert!(free < 3 && pages < 150, "{free} of {pages} pages are free");
}

fn answer(value: ToolValue, stored: i64, expires: i64) -> StoredAnswer {
    let (stored_at, expires_at) = (Timestamp(stored), Timestamp(expires));
    StoredAnswer { value, stored_at, expires_at }
}

fn found(store: &dyn Store, key: u8, now: i64) -> Option<String> {
    store.answer(&[key; 32], Timestamp(now)).unwrap().map(|answer| format!("{:?}", answer.value))
}

#[test]
fn answers_hold_until_they_expire() {
    let folder = StoreFolder::new();
    let store = folder.open();
    let json = RawValue::from_string("{\"a\":1}".to_owned()).unwrap();
    store.put_answer(&[1; 32], "s", "t", &answer(ToolValue::Json(json), 10, 20)).unwrap();
    store.put_answer(&[2; 32], "s", "u", &answer(ToolValue::Text("x".into()), 10, 20)).unwrap();
    store.put_answer(&[3; 32], "r", "t", &answer(ToolValue::Nothing, 10, 30)).unwrap();
    assert_eq!(found(store.as_ref(), 1, 19).unwrap(), "Json(RawValue({\"a\":1}))");
    assert_eq!(found(store.as_ref(), 2, 19).unwrap(), "Text(\"x\")");
    assert_eq!(found(store.as_ref(), 3, 19).unwrap(), "Nothing");
    assert_eq!(found(store.as_ref(), 1, 20), None);
    assert_eq!(found(store.as_ref(), 4, 19), None);
    store.count_hits(&[2; 32], 3).unwrap();
    let sizes = store.answer_sizes(Timestamp(19)).unwrap();
    let shown: Vec<_> =
        sizes.iter().map(|it| (&*it.server, &*it.tool, it.entries, it.bytes, it.hits)).collect();
    assert_eq!(shown, [("r", "t", 1, 34, 0), ("s", "t", 1, 41, 0), ("s", "u", 1, 35, 3)]);
    assert_eq!(store.forget_answers(&|server, tool| server == "s" && tool == "u").unwrap(), 1);
    assert_eq!(found(store.as_ref(), 2, 19), None);
    assert_eq!(store.evict_answers(1_000, Timestamp(20)).unwrap(), 1);
    assert_eq!(found(store.as_ref(), 3, 20).unwrap(), "Nothing");
}

#[test]
fn whoever_writes_makes_another_version() {
    let folder = StoreFolder::new();
    let (store, other) = (folder.open(), folder.open());
    let put = |store: &dyn Store| {
        let kept = answer(ToolValue::Nothing, 1, 2);
        store.put_answer(&[7; 32], "s", "t", &kept).unwrap();
    };
    let look = || (found(store.as_ref(), 7, 1), found(other.as_ref(), 7, 1));
    put(store.as_ref());
    look();
    let (version, seen_by_other) = (store.version().unwrap(), other.version().unwrap());
    look();
    assert!(store.is_unchanged_since(version) && other.is_unchanged_since(seen_by_other));
    // What one saw says nothing to another.
    assert_ne!(version, seen_by_other);
    assert!(!other.is_unchanged_since(version));

    for writer in [&store, &other] {
        let version = store.version().unwrap();
        put(writer.as_ref());
        assert!(!store.is_unchanged_since(version));
        assert!(store.is_unchanged_since(store.version().unwrap()));
    }
    let version = store.version().unwrap();
    fs::remove_file(folder.file()).unwrap();
    assert!(!store.is_unchanged_since(version));
    assert_ne!(store.version().unwrap(), version);
}

#[test]
fn the_oldest_answers_make_room() {
    let folder = StoreFolder::new();
    let store = folder.open();
    for number in 0..10_u8 {
        let value = ToolValue::Text("x".repeat(1_000));
        let answer = answer(value, i64::from(number), 100);
        store.put_answer(&[number; 32], "s", "t", &answer).unwrap();
    }
    assert_eq!(store.evict_answers(3_500, Timestamp(50)).unwrap(), 7);
    assert!(found(store.as_ref(), 6, 50).is_none() && found(store.as_ref(), 7, 50).is_some());
    let large = answer(ToolValue::Text("x".repeat(MAX_ANSWER_BYTES)), 0, 100);
    assert!(matches!(
        store.put_answer(&[9; 32], "s", "t", &large),
        Err(StoreError::TooLarge { .. })
    ));
}

#[test]
fn spoilt_answers_are_none_and_go() {
    let folder = StoreFolder::new();
    let store = folder.open();
    let spoils = [
        "kind = 'json', value = '{\"a\":'",
        "kind = 'yaml'",
        "kind = 'nothing', value = 'x'",
        "stored_ms = 99",
        "expires_ms = 1",
        "value = CAST(x'ff00fe' AS TEXT)",
        "value = replace(hex(zeroblob(9000000)), '00', '11')",
    ];
    for spoil in spoils {
        store.put_answer(&[1; 32], "s", "t", &answer(ToolValue::Text("1".into()), 10, 20)).unwrap();
        assert!(found(store.as_ref(), 1, 15).is_some());
        let intruder = Connection::open(folder.file()).unwrap();
        intruder.execute_batch(&format!("UPDATE answers SET {spoil}")).unwrap();
        assert_eq!(found(store.as_ref(), 1, 15), None, "{spoil}");
        let left: i64 =
            intruder.query_row("SELECT count(*) FROM answers", [], |row| row.get(0)).unwrap();
        assert_eq!(left, 0, "{spoil}");
    }
}

fn listing(length: usize, seen: i64) -> StoredListing {
    StoredListing { tools: "x".repeat(length), seen: Timestamp(seen) }
}

/// The number that a test has for an entry, as its key.
fn entry(number: u16) -> ListingKey {
    let mut key = [0; 32];
    key[..2].copy_from_slice(&number.to_le_bytes());
    key
}

#[test]
fn a_listing_stays_until_another_one_comes_or_it_is_forgotten() {
    let folder = StoreFolder::new();
    let store = folder.open();
    let at = |key: u16, now: i64| store.listing(&entry(key), Timestamp(now)).unwrap();
    store.put_listing(&entry(1), "s", &listing(1, 10)).unwrap();
    store.put_listing(&entry(1), "s", &listing(2, 20)).unwrap();
    store.put_listing(&entry(2), "s", &listing(3, 30)).unwrap();
    store.put_listing(&entry(3), "t", &listing(4, 30)).unwrap();
    assert_eq!(at(1, 20), Some(listing(2, 20)));
    // One from the future is of a clock that was set back.
    assert_eq!(at(1, 19), None);
    let keys = [entry(3), entry(9), entry(1)];
    let read = read_listings(&folder.file(), &keys, Timestamp(50));
    assert_eq!(read, [Some(listing(4, 30)), None, Some(listing(2, 20))]);
    store.forget_listing(&entry(3)).unwrap();
    store.forget_listings_of("s").unwrap();
    assert_eq!([at(1, 50), at(2, 50), at(3, 50)], [None, None, None]);
}

#[test]
fn listings_are_limited_in_size_and_number() {
    let folder = StoreFolder::new();
    let store = folder.open();
    let too_large = store.put_listing(&entry(1), "s", &listing(MAX_LISTING_BYTES + 1, 0));
    assert!(matches!(too_large, Err(StoreError::TooLarge { .. })), "{too_large:?}");
    let has = |key: u16| store.listing(&entry(key), Timestamp(1_000)).unwrap().is_some();
    for key in 1..=10 {
        store.put_listing(&entry(key), "s", &listing(1, i64::from(key))).unwrap();
    }
    let kept: Vec<u16> = (1..=10).filter(|key| has(*key)).collect();
    assert_eq!(kept, [3, 4, 5, 6, 7, 8, 9, 10]);
    // Nine of the largest are more than all together may take.
    for key in 11..=19 {
        let large = listing(MAX_LISTING_BYTES, i64::from(key));
        store.put_listing(&entry(key), &key.to_string(), &large).unwrap();
    }
    let kept: Vec<u16> = (1..=19).filter(|key| has(*key)).collect();
    assert_eq!(kept, [12, 13, 14, 15, 16, 17, 18, 19]);
}

#[test]
fn an_older_store_gets_listings() {
    let folder = StoreFolder::new();
    folder.open().put_run(&run("b1", 1_000)).unwrap();
    make_older(&folder, 2);
    // A mere look leaves it as it is.
    assert_eq!(read_listings(&folder.file(), &[entry(1)], Timestamp(50)), [None]);
    assert_eq!(inspect(&folder.file()).unwrap().unwrap().version, 2);
    let store = folder.open();
    store.put_listing(&entry(1), "s", &listing(1, 10)).unwrap();
    assert_eq!(store.listing(&entry(1), Timestamp(10)).unwrap(), Some(listing(1, 10)));
    assert_eq!(all(store.as_ref()), ["b1"]);
    assert_eq!(inspect(&folder.file()).unwrap().unwrap().version, 7);
}
