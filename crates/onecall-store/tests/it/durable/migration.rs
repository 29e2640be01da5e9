//! A store of the version before journals is brought up to date with what it holds.

use std::fs;

use onecall_core::storage::*;
use onecall_store::inspect;
use rusqlite::Connection;

use super::{append, called, durable_run, id, opened, question};
use crate::sqlite::StoreFolder;

/// The released migrations up to version 4.
const VERSION_4: [&str; 4] = [
    include_str!("../../../src/sqlite/schema/1.sql"),
    include_str!("../../../src/sqlite/schema/2.sql"),
    include_str!("../../../src/sqlite/schema/3.sql"),
    include_str!("../../../src/sqlite/schema/4.sql"),
];

#[test]
fn a_store_of_version_4_gets_journals() {
    let folder = StoreFolder::new();
    fs::create_dir_all(folder.file().parent().unwrap()).unwrap();
    let older = Connection::open(folder.file()).unwrap();
    VERSION_4.iter().for_each(|statements| older.execute_batch(statements).unwrap());
    older
        .execute_batch(
            "PRAGMA application_id = 0x6f6e6365; PRAGMA user_version = 4;
             INSERT INTO runs VALUES ('r1', 5, 'c', 'program', 'python', 'auto', NULL, '00',
               'print(1)', 'ok', NULL, NULL, 9, 2, 0, 1, 0, 0, NULL, NULL, NULL, 'metadata', NULL,
               NULL, 400, NULL, 40, 16);
             INSERT INTO shapes VALUES ('s', 't', 'k', 3, '{}');",
        )
        .unwrap();
    drop(older);
    assert_eq!(inspect(&folder.file()).unwrap().unwrap().version, 4);
    let store = opened(&folder);
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    append(&*store, "a", 1, 0, vec![called(0, "{}")]);
    store.add_question(&question("a", 1), None).unwrap();
    assert_eq!(inspect(&folder.file()).unwrap().unwrap().version, 13);
    assert_eq!(store.journal(&id("a")).unwrap().events.len(), 1);
    let [run] = store.runs(&RunFilter::default()).unwrap().try_into().unwrap();
    assert_eq!((run.id, run.output_bytes), (id("r1"), 2));
    assert_eq!(store.shapes().unwrap()[0].1.samples, 3);
}

#[test]
fn a_newer_store_with_runs_is_left_alone() {
    let folder = StoreFolder::new();
    opened(&folder).add_durable_runs(&[&durable_run("a")]).unwrap();
    let newer = Connection::open(folder.file()).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    let text = opened(&folder).durable_runs(true).unwrap_err().to_string();
    assert!(text.contains("has version 99, and this onecall supports versions up to 13"), "{text}");
    assert_eq!(folder.set_aside(), [""; 0]);
}
