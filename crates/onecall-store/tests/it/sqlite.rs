//! The store as its users meet it: shared, damaged, outdated, in the way of others.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use onecall_config::StoreLocation;
use onecall_core::storage::*;
use onecall_core::{Timestamp, TokenUsage, ToolValue};
use onecall_store::{inspect, open_durable, read_listings};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::answers::{answer, found};
use crate::listings::{entry, listing};
use crate::records::{all, journal, put_large_runs, replay_data, run};

pub(crate) struct StoreFolder(TempDir);

impl StoreFolder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.path().join("deep/er/onecall.db")
    }

    pub(crate) fn open(&self) -> Arc<dyn CompleteStore> {
        open_durable(self.file(), 1)
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
        "DROP TABLE gateways",
        "ALTER TABLE runs DROP COLUMN error_line",
        "DROP TABLE browser_sessions; DROP TABLE run_pictures; DROP TABLE figures",
        "DROP INDEX runs_not_in_figures; ALTER TABLE runs DROP COLUMN in_figures",
    ];
    let connection = Connection::open(folder.file()).unwrap();
    for statement in added.iter().skip(usize::from(version) - 1) {
        connection.execute_batch(statement).unwrap();
    }
    connection.pragma_update(None, "user_version", version).unwrap();
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
    // The sums begin with the runs that are stored now; the others follow.
    let hour = FigureUnit::Hour;
    let (since, until) = (Timestamp(0), Timestamp(1));
    let query = FigureQuery { unit: hour, tool_unit: hour, since, until, user: None };
    let runs = || store.figures(&query).unwrap().intervals[&Timestamp(0)].get(Counter::Runs);
    assert_eq!(runs(), 1);
    while store.add_older_runs_to_figures().unwrap() {}
    assert_eq!(runs(), 2);
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
    assert!(text.contains("has version 99, and this onecall supports versions up to 13"), "{text}");
    assert_eq!(folder.set_aside(), [""; 0]);
}

#[test]
fn a_look_changes_nothing() {
    let folder = StoreFolder::new();
    assert_eq!(inspect(&folder.file()).unwrap(), None);
    assert!(!folder.0.path().join("deep").exists());
    folder.open().put_run(&run("a", 1)).unwrap();
    let seen = inspect(&folder.file()).unwrap().unwrap();
    assert_eq!((seen.version, seen.newest, seen.is_writable), (13, 13, true));
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
fn an_older_store_gets_listings() {
    let folder = StoreFolder::new();
    folder.open().put_run(&run("b1", 1_000)).unwrap();
    make_older(&folder, 2);
    // A mere look leaves it as it is.
    assert_eq!(
        read_listings(&StoreLocation::File(folder.file()), &[entry(1)], Timestamp(50)),
        [None]
    );
    assert_eq!(inspect(&folder.file()).unwrap().unwrap().version, 2);
    let store = folder.open();
    store.put_listing(&entry(1), "s", &listing(1, 10)).unwrap();
    assert_eq!(store.listing(&entry(1), Timestamp(10)).unwrap(), Some(listing(1, 10)));
    assert_eq!(all(store.as_ref()), ["b1"]);
    assert_eq!(inspect(&folder.file()).unwrap().unwrap().version, 13);
}

#[test]
fn removed_runs_give_their_pages_back() {
    let folder = StoreFolder::new();
    let store = open_durable(folder.file(), 1);
    put_large_runs(&*store);
    let retention = Retention { max_age: Duration::from_secs(80), max_bytes: 350_000 };
    store.prune_runs(&retention, Timestamp(10_000)).unwrap();
    let reader = Connection::open(folder.file()).unwrap();
    let number = |name| reader.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    let (free, pages) = (number("freelist_count"), number("page_count"));
    assert!(free < 3 && pages < 150, "{free} of {pages} pages are free");
}

#[test]
fn another_file_has_another_version() {
    let folder = StoreFolder::new();
    let store = open_durable(folder.file(), 1);
    store.put_run(&run("a", 1)).unwrap();
    let (version, number) = (store.version().unwrap(), store.change_number().unwrap());
    store.put_run(&run("b", 1)).unwrap();
    assert!(!store.is_unchanged_since(version));
    assert_ne!(store.change_number().unwrap(), number);
    let (version, number) = (store.version().unwrap(), store.change_number().unwrap());
    fs::remove_file(folder.file()).unwrap();
    assert!(!store.is_unchanged_since(version));
    assert_ne!(store.version().unwrap(), version);
    assert_ne!(store.change_number().unwrap(), number);
}

#[test]
fn an_answer_that_is_no_text_or_too_long_goes() {
    let folder = StoreFolder::new();
    let store = open_durable(folder.file(), 1);
    for spoil in ["CAST(x'ff00fe' AS TEXT)", "replace(hex(zeroblob(9000000)), '00', '11')"] {
        store.put_answer(&[1; 32], "s", "t", &answer(ToolValue::Text("1".into()), 10, 20)).unwrap();
        let intruder = Connection::open(folder.file()).unwrap();
        intruder.execute_batch(&format!("UPDATE answers SET value = {spoil}")).unwrap();
        assert_eq!(found(&*store, 1, 15), None, "{spoil}");
        let count = "SELECT count(*) FROM answers";
        let left: i64 = intruder.query_row(count, [], |row| row.get(0)).unwrap();
        assert_eq!(left, 0, "{spoil}");
    }
}
