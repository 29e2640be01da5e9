//! Tests that look into the connections of a store.

use onecall_core::storage::{
    AuditFilter, DurableRun, DurableState, FinalAnswer, JournalBatch, Journals, Lease,
    QuestionFilter, ShapeKey, ShapeStore, StoredShape,
};
use onecall_core::{
    ApprovalQuestion, ApprovalWay, CallableName, ItemId, JournalEvent, Principal, QuestionKind,
    RunId, Timestamp,
};

use super::*;

#[test]
fn a_full_disk_fails_one_write_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(folder.path().join("onecall.db"), 1);
    let put = |tool: &str, length: usize| {
        let key = ShapeKey { server: "s".into(), tool: tool.into(), schema: "k".into() };
        store.put_shape(&key, &StoredShape { samples: 1, shape: "x".repeat(length) })
    };
    let pages = |count: i64| {
        let limit = format!("PRAGMA max_page_count = {count}");
        store
            .with(&store.writing_connection, |file_connection| {
                file_connection.connection.execute_batch(&limit)
            })
            .unwrap();
    };
    put("a", 1).unwrap();
    pages(1);
    let error = put("b", 1_000_000).unwrap_err();
    let path = store.path.display();
    let expected =
        format!("the store '{path}' cannot be written: the disk is full; make room on it");
    assert_eq!((error.is_temporary(), error.to_string()), (true, expected));
    pages(1_000_000);
    put("c", 1).unwrap();
    let tools: Vec<_> = store.shapes().unwrap().into_iter().map(|(key, _)| key.tool).collect();
    assert_eq!(tools, ["a", "c"]);
}

fn durable_store() -> (tempfile::TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(folder.path().join("onecall.db"), DEFAULT_JOURNAL_MB);
    (folder, store)
}

fn durable_run(name: &str) -> DurableRun {
    DurableRun {
        id: RunId::from_existing(name),
        kind: "program".to_owned(),
        principal: Principal::local(),
        client: "tests".to_owned(),
        started: Timestamp(1),
        request: "{}".to_owned(),
        configuration: String::new(),
        seed: [0; 32],
        state: DurableState::Running,
        in_place: None,
        lease: Some(Lease { owner: "me".to_owned(), fence: 1, until: Timestamp(9) }),
        resumed: 0,
        interruptions: 0,
    }
}

fn execute(store: &SqliteStore, slot: &ConnectionSlot, statement: &str) {
    store
        .with(slot, |file_connection| file_connection.connection.execute_batch(statement))
        .unwrap();
}

#[test]
fn only_durable_writes_wait_for_the_disk() {
    let (_folder, store) = durable_store();
    let synchronous = |slot| {
        let query = |it: &FileConnection| {
            it.connection.pragma_query_value(None, "synchronous", |row| row.get::<_, i64>(0))
        };
        store.with(slot, query).unwrap()
    };
    let (normal, full) = (1, 2);
    assert_eq!(synchronous(&store.writing_connection), normal);
    assert_eq!(synchronous(&store.durable_writing_connection), full);
}

#[test]
fn a_run_without_events_does_not_wait_for_the_disk() {
    let (_folder, store) = durable_store();
    let id = RunId::from_existing;
    let answer = FinalAnswer { result: "{}".to_owned(), at: Timestamp(5) };
    let sent = |name| {
        let events = vec![JournalEvent::Sent { call: 1 }];
        store.append(&[JournalBatch { run: id(name), fence: 1, first: 0, events }])
    };
    for name in ["quiet", "effective"] {
        store.add_durable_runs(&[&durable_run(name)]).unwrap();
    }
    assert_eq!(sent("effective").unwrap(), [Ok(())]);
    // The connection whose writes are on disk when they are committed.
    let synced = &store.durable_writing_connection;
    execute(&store, synced, "PRAGMA query_only = ON");
    store.add_durable_runs(&[&durable_run("new")]).unwrap();
    assert!(store.end_durable_run(&id("quiet"), 1, &answer).unwrap());
    sent("new").unwrap_err();
    store.end_durable_run(&id("effective"), 1, &answer).unwrap_err();
    let unfinished = || store.durable_runs(false).unwrap().into_iter().map(|run| run.id);
    assert!(unfinished().eq(["effective", "new"].map(id)));
    execute(&store, synced, "PRAGMA query_only = OFF");
    assert!(store.end_durable_run(&id("effective"), 1, &answer).unwrap());
    assert!(unfinished().eq([id("new")]));
    // Nobody ends a run twice, or with the lease of another.
    for (name, fence) in [("quiet", 1), ("effective", 1), ("new", 2), ("unknown", 1)] {
        assert!(!store.end_durable_run(&id(name), fence, &answer).unwrap(), "{name}");
    }
}

#[test]
fn an_append_that_cannot_be_written_writes_nothing() {
    let (_folder, store) = durable_store();
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    let append = |first: u64| {
        let bytes = |at: u64| (0..200_000_u64).map(move |it| (it.pow(3) / 7 + at).to_le_bytes()[0]);
        let event = |at| JournalEvent::Observed { bytes: bytes(at).collect() };
        let events = vec![JournalEvent::Sent { call: 1 }, event(first), event(first + 1)];
        let run = RunId::from_existing("a");
        store.append(&[JournalBatch { run, fence: 1, first, events }])
    };
    assert_eq!(append(0).unwrap(), [Ok(())]);
    let slot = &store.durable_writing_connection;
    let obstacles = [
        ("PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1000000", true),
        ("PRAGMA query_only = ON", "PRAGMA query_only = OFF", false),
    ];
    for (first, (full_or_read_only, as_before, is_full)) in [3, 6].into_iter().zip(obstacles) {
        execute(&store, slot, full_or_read_only);
        let error = append(first).unwrap_err();
        assert_eq!(matches!(error, StoreError::Full { .. }), is_full, "{error}");
        let journal = store.journal(&RunId::from_existing("a")).unwrap();
        assert_eq!(
            (journal.events.len(), journal.unreadable),
            (usize::try_from(first).unwrap(), 0)
        );
        execute(&store, slot, as_before);
        assert_eq!(append(first).unwrap(), [Ok(())]);
    }
}

/// How SQLite executes a statement, step by step.
fn plan(store: &SqliteStore, statement: &str) -> Vec<String> {
    let read = |connection: &Connection| {
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}"))?;
        let unbound = vec![rusqlite::types::Null; plan.parameter_count()];
        let steps = plan.query_map(rusqlite::params_from_iter(unbound), |row| row.get(3))?;
        steps.collect::<rusqlite::Result<Vec<String>>>()
    };
    store.read_durable(read).unwrap()
}

#[test]
fn a_thousand_waiting_runs_are_found_by_indexes() {
    let (_folder, store) = durable_store();
    let question = |number: usize| ApprovalQuestion {
        item: ItemId::known(format!("{number}.1")),
        run: RunId::from_existing(number.to_string()),
        call: 1,
        kind: QuestionKind::Approve,
        name: CallableName::new("mcp__a__b"),
        line: None,
        arguments: "{}".to_owned(),
        rule: String::new(),
        asked: Timestamp(5),
        expires: Timestamp(9),
        ways: ApprovalWay::CONFIGURABLE.to_vec(),
    };
    store
        .write_durably(|transaction| {
            for number in 0..1_000 {
                durable_runs::insert(transaction, &durable_run(&number.to_string()))?;
                questions::replace(transaction, &question(number), None)?;
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(store.durable_runs(false).unwrap().len(), 1_000);
    let run = Some(RunId::from_existing("7"));
    let filters = [(None, true), (run.clone(), true), (run, false)]
        .map(|(run, open)| QuestionFilter { run, open, ..QuestionFilter::default() });
    let user = Some(onecall_core::UserName::local());
    let of_user = QuestionFilter { open: true, user, limit: Some(9), ..QuestionFilter::default() };
    let filters: Vec<_> = filters.into_iter().chain([of_user]).collect();
    let mut statements: Vec<_> =
        filters.iter().map(|filter| questions::list_query(filter).text).collect();
    statements.push(durable_runs::list_statement(false));
    for statement in statements {
        let plan = plan(&store, &statement);
        let is_slow = |step: &String| {
            step.contains("TEMP B-TREE") || (step.contains("SCAN") && !step.contains("USING INDEX"))
        };
        assert!(!plan.iter().any(is_slow), "{statement}: {plan:?}");
    }
}

#[test]
fn the_audit_trail_of_a_run_and_of_a_user_is_found_by_indexes() {
    let (_folder, store) = durable_store();
    let all = AuditFilter { before: Some(9), after: Some(1), ..AuditFilter::default() };
    let (user, run) = (Some("anna".to_owned()), Some(RunId::from_existing("7")));
    for (filter, index) in [
        (AuditFilter { run: run.clone(), ..AuditFilter::default() }, "audit_by_run"),
        (AuditFilter { decisions_of: run.clone(), ..AuditFilter::default() }, "audit_by_run"),
        (AuditFilter { run, user: user.clone(), ..all.clone() }, "audit_by_run"),
        (AuditFilter { user, ..all.clone() }, "audit_by_user"),
        (all, "INTEGER PRIMARY KEY"),
    ] {
        let query = crate::rows::audit::query(&filter, None, &filtered::DIALECT);
        let plan = plan(&store, &query.text);
        assert!(plan[0].starts_with("SEARCH") && plan[0].contains(index), "{filter:?}: {plan:?}");
    }
}
