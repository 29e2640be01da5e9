//! A damaged journal ends where it is damaged, and a damaged store with runs is not replaced.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use onecall_core::storage::*;
use onecall_core::{Timestamp, UserName};
use onecall_store::{SqliteStore, inspect};
use rusqlite::Connection;

use super::approvals::given;
use super::{answer, append, called, durable_run, ended, id, noise, opened, question};
use crate::records::run;
use crate::sqlite::StoreFolder;

#[test]
fn a_journal_ends_at_its_first_damaged_event() {
    let spoils = [
        ("UPDATE journal_events SET head = '{}' WHERE number = 2", 2),
        ("UPDATE journal_events SET kind = 'sent' WHERE number = 1", 1),
        ("UPDATE journal_events SET content = x'7b' WHERE number = 0", 0),
        ("UPDATE journal_events SET content = NULL WHERE number = 0", 0),
        ("UPDATE journal_events SET value = x'00' WHERE number = 3", 3),
        ("UPDATE journal_events SET checksum = x'' WHERE number = 4", 4),
        ("DELETE FROM journal_events WHERE number = 1", 1),
        ("DELETE FROM journal_events WHERE number = 4", 4),
        ("DELETE FROM journal_events", 0),
        ("UPDATE journal_events SET number = 9 WHERE number = 2", 2),
        ("DELETE FROM journal_values", 3),
        ("UPDATE journal_values SET length = 9223372036854775807", 3),
        ("UPDATE journal_values SET length = -1", 3),
        ("UPDATE journal_values SET data = x'ffffffff'", 3),
        ("UPDATE journal_values SET data = zeroblob(length)", 3),
        ("DELETE FROM journals; DELETE FROM journal_events WHERE number = 2", 2),
    ];
    for (spoil, readable) in spoils {
        let folder = StoreFolder::new();
        let store = opened(&folder);
        store.add_durable_runs(&[&durable_run("a")]).unwrap();
        let large = noise(10_000, 1);
        let events = vec![called(0, "{}"), ended(0, "x"), called(1, "{}"), ended(1, &large)];
        append(&*store, "a", 1, 0, events);
        append(&*store, "a", 1, 4, vec![called(2, "{}")]);
        Connection::open(folder.file()).unwrap().execute_batch(spoil).unwrap();
        let journal = store.journal(&id("a")).unwrap();
        assert_eq!(journal.events.len(), readable, "{spoil}");
        assert!(journal.unreadable > 0, "{spoil}");
    }
}

/// The file that says that runs depend on the store.
fn marker(folder: &StoreFolder) -> PathBuf {
    folder.file().with_file_name("onecall.db.durable")
}

/// Fills the store, so that it has many pages, and writes all of it to the file itself.
fn checkpointed(folder: &StoreFolder) -> Vec<u8> {
    let store = folder.open();
    for number in 0..50 {
        let mut record = run(&format!("{number:03}"), number);
        record.program = "x".repeat(5_000);
        store.put_run(&record).unwrap();
    }
    drop(store);
    let checkpoint = Connection::open(folder.file()).unwrap();
    checkpoint.pragma_update_and_check(None, "wal_checkpoint", "TRUNCATE", |_| Ok(())).unwrap();
    fs::read(folder.file()).unwrap()
}

#[test]
fn a_damaged_store_with_runs_is_not_replaced() {
    let spoils: [fn(Vec<u8>) -> Vec<u8>; 4] = [
        |_| Vec::new(),
        |_| b"something else, and long enough to be a file of a database".to_vec(),
        |bytes| bytes[..bytes.len() / 2 - 100].to_vec(),
        |mut bytes| {
            bytes[..4096].fill(0xa5);
            bytes
        },
    ];
    for (number, spoil) in spoils.into_iter().enumerate() {
        let folder = StoreFolder::new();
        opened(&folder).add_durable_runs(&[&durable_run("a")]).unwrap();
        assert_eq!(fs::metadata(marker(&folder)).unwrap().mode() & 0o777, 0o600);
        let spoilt = spoil(checkpointed(&folder));
        fs::write(folder.file(), &spoilt).unwrap();
        let errors = [
            opened(&folder).durable_runs(false).unwrap_err(),
            opened(&folder).add_durable_runs(&[&durable_run("b")]).unwrap_err(),
            folder.open().put_run(&run("new", 1)).unwrap_err(),
            inspect(&folder.file()).unwrap_err(),
        ];
        for error in errors {
            let is_refused = matches!(error, StoreError::DamagedWithRuns { .. });
            assert!(is_refused, "{number}: {error}");
        }
        assert_eq!(folder.set_aside(), [""; 0], "{number}");
        assert!(fs::read(folder.file()).unwrap() == spoilt, "{number}");
        // The user moves the file away, and with it goes what depended on it.
        fs::rename(folder.file(), folder.file().with_extension("kept")).unwrap();
        let store = opened(&folder);
        assert_eq!(store.durable_runs(true).unwrap(), [], "{number}");
        assert!(!marker(&folder).exists(), "{number}");
        store.add_durable_runs(&[&durable_run("c")]).unwrap();
        assert!(marker(&folder).exists(), "{number}");
    }
}

#[test]
fn what_is_not_damaged_can_still_be_read() {
    let folder = StoreFolder::new();
    let store = opened(&folder);
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    store.add_question(&question("a", 1), None).unwrap();
    drop(store);
    let mut bytes = checkpointed(&folder);
    bytes[64 * 4096..].fill(0xa5);
    fs::write(folder.file(), bytes).unwrap();
    let store = opened(&folder);
    let error = store.runs(&RunFilter::default()).unwrap_err();
    assert!(matches!(error, StoreError::DamagedWithRuns { .. }), "{error}");
    let expected = DurableRun { state: DurableState::Waiting, ..durable_run("a") };
    assert_eq!(store.durable_runs(false).unwrap(), [expected]);
    assert_eq!(store.questions(&QuestionFilter::default()).unwrap().len(), 1);
    assert_eq!(folder.set_aside(), [""; 0]);
}

#[test]
fn the_file_is_protected_until_it_is_released() {
    let folder = StoreFolder::new();
    let (store, other) = (opened(&folder), opened(&folder));
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    assert!(store.end_durable_run(&id("a"), 1, &answer(500)).unwrap());
    // The next run finds the marker, even if it belongs to another process.
    assert!(marker(&folder).exists());
    other.add_durable_runs(&[&durable_run("b")]).unwrap();
    store.release_file().unwrap();
    assert!(marker(&folder).exists());
    assert!(other.end_durable_run(&id("b"), 1, &answer(500)).unwrap());
    store.release_file().unwrap();
    assert!(!marker(&folder).exists());
    store.release_file().unwrap();
    other.add_durable_runs(&[&durable_run("c")]).unwrap();
    assert!(marker(&folder).exists());
    // A process that was killed leaves the marker; the next one that starts removes it.
    assert!(other.end_durable_run(&id("c"), 1, &answer(500)).unwrap());
    drop((store, other));
    opened(&folder).prune_durable_runs(Timestamp(0)).unwrap();
    assert!(!marker(&folder).exists());
}

#[test]
fn a_damaged_store_without_runs_is_replaced() {
    let folder = StoreFolder::new();
    let store = opened(&folder);
    let settle: [&dyn Fn(); 4] = [
        &|| assert!(store.end_durable_run(&id("a"), 1, &answer(500)).unwrap()),
        &|| assert!(store.cancel_durable_run(&id("b"), &answer(500)).unwrap()),
        &|| store.withdraw_question(&question("c", 1).item).unwrap(),
        &|| {
            let verdict = onecall_core::Verdict::Deny { reason: None };
            store.answer_question(&question("d", 1).item, &given(verdict, "ann")).unwrap();
        },
    ];
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    store.add_durable_runs(&[&durable_run("b")]).unwrap();
    store.add_question(&question("c", 1), None).unwrap();
    store.add_question(&question("d", 1), None).unwrap();
    for settle in settle {
        store.release_file().unwrap();
        assert!(marker(&folder).exists());
        settle();
    }
    assert!(!marker(&folder).exists());
    drop(store);
    checkpointed(&folder);
    fs::write(folder.file(), "no store at all").unwrap();
    assert_eq!(opened(&folder).durable_runs(true).unwrap(), []);
    assert_eq!(folder.set_aside().len(), 1);
}

#[test]
fn a_damaged_store_with_secrets_or_an_audit_trail_is_not_replaced() {
    let anna = UserName::from_existing("anna");
    let add: [fn(&SqliteStore, &UserName); 2] = [
        |store, user| {
            let key = UserSecretKey {
                user: user.clone(),
                kind: UserSecretKind::Secret,
                name: "TOKEN".to_owned(),
            };
            let content = SealedSecret { key_id: "k".to_owned(), nonce: vec![2], sealed: vec![3] };
            let any = ReplacedVersion::Any;
            store.put_user_secret(&key, &content, any, Timestamp(1)).unwrap();
        },
        |store, _| {
            let pruned = AuditEvent::Pruned { through: 1, removed: 1, digest: String::new() };
            store.append_audit(&[AuditEntry::of_gateway(Timestamp(1), pruned)]).unwrap();
        },
    ];
    for add in add {
        let folder = StoreFolder::new();
        let store = opened(&folder);
        add(&store, &anna);
        store.release_file().unwrap();
        assert!(marker(&folder).exists());
        drop(store);
        checkpointed(&folder);
        fs::write(folder.file(), "no store at all").unwrap();
        let error = opened(&folder).audit_rows(&AuditFilter::default()).unwrap_err();
        assert!(matches!(error, StoreError::DamagedWithRuns { .. }), "{error}");
        assert_eq!(folder.set_aside(), [""; 0]);
    }
}
