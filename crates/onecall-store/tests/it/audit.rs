//! The audit trail in a real database: what was done to its rows is found.

use std::process::Command;

use onecall_core::storage::*;
use onecall_core::{Digest, RunId, Timestamp, ToolPattern};

use crate::place::{Place, given_store, on_every_store};
use crate::sqlite::StoreFolder;

on_every_store!(
    rows_come_back_as_they_were_written,
    what_was_done_to_rows_is_found,
    a_trail_that_was_rewritten_is_found_with_a_head_that_was_kept_elsewhere,
    rows_that_are_removed_because_of_their_age_leave_a_proof,
    a_trail_that_is_not_intact_is_not_removed,
    two_processes_extend_one_chain,
);

/// The environment variable with the store that [`the_rows_of_another_process`] writes to.
const OTHER_PROCESS: &str = "ONECALL_TEST_AUDIT_STORE";

/// An entry about a call, `at` milliseconds after 1970.
fn entry(at: i64, user: &str, event: AuditEvent) -> AuditEntry {
    AuditEntry {
        at: Timestamp(at),
        user: user.to_owned(),
        groups: vec!["dev".to_owned()],
        client: "tests".to_owned(),
        call: Some(AuditedCall {
            run: format!("run{at}"),
            kind: "program".to_owned(),
            program: Some(Digest::of("print(1)").to_string()),
            tool: "mcp__db__drop".to_owned(),
            id: 1,
        }),
        event,
    }
}

fn decided(at: i64, user: &str, decision: AuditDecision) -> AuditEntry {
    let arguments = AuditedArguments { sha256: Digest::of("{}").to_string(), bytes: 2, text: None };
    entry(at, user, AuditEvent::Decided { decision, rule: Some("a rule".to_owned()), arguments })
}

fn ended(at: i64) -> AuditEntry {
    let (outcome, cached) = (AuditOutcome::Ok, false);
    entry(at, "anna", AuditEvent::Ended { outcome, cached, duration_us: 7 })
}

/// Adds this many rows to an empty store; row N is of time N.
fn add_rows(place: &Place, count: i64) {
    let entries: Vec<_> = (1..=count).map(ended).collect();
    place.open().append_audit(&entries).unwrap();
}

/// The problems of the trail after these statements were executed on its database.
fn problems_after(place: &Place, statements: &str) -> Vec<String> {
    place.execute(statements);
    problems(place, None)
}

fn problems(place: &Place, expected: Option<ExpectedHead>) -> Vec<String> {
    let report = place.open().verify_audit(expected).unwrap();
    report.problems.iter().map(ToString::to_string).collect()
}

fn rows_come_back_as_they_were_written(place: &Place) {
    let store = place.open();
    assert_eq!(store.audit_head().unwrap(), None);
    assert_eq!(store.verify_audit(None).unwrap(), AuditReport::default());
    let entries = [
        decided(1, "anna", AuditDecision::Allow),
        ended(2),
        decided(3, "ben", AuditDecision::Deny),
        AuditEntry::of_gateway(
            Timestamp(4),
            AuditEvent::Started { version: "1".to_owned(), process: 5 },
        ),
    ];
    store.append_audit(&entries[..2]).unwrap();
    store.append_audit(&entries[2..]).unwrap();
    let found = |filter: AuditFilter| {
        let rows = store.audit_rows(&filter).unwrap();
        rows.into_iter().map(|row| (row.number, row.entry)).collect::<Vec<_>>()
    };
    let expected = |numbers: &[u64]| -> Vec<_> {
        numbers.iter().map(|it| (*it, entries[usize::try_from(*it).unwrap() - 1].clone())).collect()
    };
    let all = AuditFilter::default();
    let (user, run) = (Some("anna".to_owned()), Some(RunId::from_existing("run")));
    let decided_run = |run: &str| Some(RunId::from_existing(run));
    let tool = |pattern: &str| Some(ToolPattern::parse(pattern).unwrap());
    let cases = [
        (all.clone(), expected(&[4, 3, 2, 1])),
        (AuditFilter { limit: Some(2), ..all.clone() }, expected(&[4, 3])),
        (AuditFilter { before: Some(3), ..all.clone() }, expected(&[2, 1])),
        (AuditFilter { before: Some(4), limit: Some(1), ..all.clone() }, expected(&[3])),
        (AuditFilter { after: Some(2), ..all.clone() }, expected(&[4, 3])),
        (AuditFilter { after: Some(1), before: Some(3), ..all.clone() }, expected(&[2])),
        (AuditFilter { user: user.clone(), ..all.clone() }, expected(&[2, 1])),
        (AuditFilter { user, run: run.clone(), before: Some(2), ..all.clone() }, expected(&[1])),
        (AuditFilter { run, ..all.clone() }, expected(&[3, 2, 1])),
        (AuditFilter { decisions_of: decided_run("run3"), ..all.clone() }, expected(&[3])),
        (AuditFilter { decisions_of: decided_run("run2"), ..all.clone() }, Vec::new()),
        (AuditFilter { decisions_of: decided_run("run"), ..all.clone() }, Vec::new()),
        (AuditFilter { since: Some(Timestamp(3)), ..all.clone() }, expected(&[4, 3])),
        (AuditFilter { denied: true, ..all.clone() }, expected(&[3])),
        (AuditFilter { tool: tool("mcp__db__*"), ..all.clone() }, expected(&[3, 2, 1])),
        (AuditFilter { tool: tool("mcp__x__*"), ..all }, Vec::new()),
    ];
    for (filter, rows) in cases {
        assert_eq!(found(filter.clone()), rows, "{filter:?}");
    }
    let report = store.verify_audit(None).unwrap();
    let head = store.audit_head().unwrap();
    let newest = store.audit_rows(&AuditFilter::default()).unwrap().remove(0);
    assert_eq!(head, Some(AuditHead { number: 4, digest: newest.digest }));
    assert_eq!(report, AuditReport { rows: 4, head, ..AuditReport::default() });
}

fn what_was_done_to_rows_is_found(place: &Place) {
    let chained = |number: u64| {
        format!(
            "row {number} was changed, moved or inserted, or the row before it was: it does not \
             follow from the row before"
        )
    };
    let cases: [(&str, Vec<String>); 11] = [
        (
            "UPDATE audit SET content = replace(content, 'anna', 'ben') WHERE number = 3",
            vec![chained(3), "row 3 was changed: its columns differ from its content".to_owned()],
        ),
        (
            "UPDATE audit SET \"user\" = 'ben' WHERE number = 3",
            vec!["row 3 was changed: its columns differ from its content".to_owned()],
        ),
        (
            "UPDATE audit SET content = 'nonsense' WHERE number = 3",
            vec![chained(3), "row 3 cannot be read".to_owned()],
        ),
        ("UPDATE audit SET digest = x'00' WHERE number = 3", vec![chained(3)]),
        ("DELETE FROM audit WHERE number = 3", vec!["row 3 is missing".to_owned()]),
        ("DELETE FROM audit WHERE number < 3", vec!["rows 1 to 2 are missing".to_owned()]),
        (
            "UPDATE audit SET number = 100 WHERE number = 3;
             UPDATE audit SET number = 3 WHERE number = 4;
             UPDATE audit SET number = 4 WHERE number = 100",
            vec![chained(3), chained(4), chained(5)],
        ),
        // A row between two others: everything after it gets another number.
        (
            "UPDATE audit SET number = number + 100 WHERE number > 3;
             INSERT INTO audit SELECT 4, at_ms, \"user\", run_id, tool, content, digest FROM audit
               WHERE number = 3;
             UPDATE audit SET number = number - 99 WHERE number > 100;
             UPDATE audit_head SET number = 7",
            vec![chained(4), chained(5), chained(6), chained(7)],
        ),
        ("DELETE FROM audit WHERE number > 4", vec!["rows 5 to 6 are missing".to_owned()]),
        (
            "INSERT INTO audit SELECT 7, at_ms, \"user\", run_id, tool, content, digest FROM audit
               WHERE number = 6",
            vec![
                chained(7),
                "row 7 was inserted: the newest row that onecall has written is row 6".to_owned(),
            ],
        ),
        (
            "INSERT INTO audit_checkpoints
               SELECT number, 2, 9, digest, digest FROM audit WHERE number = 2;
             DELETE FROM audit WHERE number < 3",
            vec![
                "the checkpoint at row 2 was changed, or one before it is missing".to_owned(),
                "the checkpoint at row 2 was inserted: no row says that old rows were removed up \
                 to it"
                    .to_owned(),
            ],
        ),
    ];
    for (statements, expected) in cases {
        let place = &place.another();
        add_rows(place, 6);
        assert_eq!(problems(place, None), [""; 0]);
        assert_eq!(problems_after(place, statements), expected, "{statements}");
        // What is added later does not hide it.
        place.open().append_audit(&[ended(9)]).unwrap();
        let later = problems(place, None);
        assert!(!later.is_empty(), "{statements}");
    }
}

fn a_trail_that_was_rewritten_is_found_with_a_head_that_was_kept_elsewhere(place: &Place) {
    add_rows(place, 4);
    let kept = place.open().audit_head().unwrap().unwrap();
    let expected: ExpectedHead = kept.to_string().parse().unwrap();
    let only_digest: ExpectedHead = kept.digest.to_string().parse().unwrap();
    place.open().append_audit(&[ended(5), ended(6)]).unwrap();
    assert_eq!(problems(place, Some(expected)), [""; 0]);
    assert_eq!(problems(place, Some(only_digest)), [""; 0]);

    // All rows are written anew, with another user in one of them.
    let rewritten = &place.another();
    let mut entries: Vec<_> = (1..=6).map(ended).collect();
    "mallory".clone_into(&mut entries[1].user);
    rewritten.open().append_audit(&entries).unwrap();
    assert_eq!(problems(rewritten, None), [""; 0]);
    let digest = kept.digest;
    assert_eq!(
        problems(rewritten, Some(expected)),
        [format!(
            "row 4 does not have the expected digest {digest}: it, or a row before it, was changed"
        )]
    );
    assert_eq!(
        problems(rewritten, Some(only_digest)),
        [format!(
            "no row has the expected digest {digest}: rows were changed or removed, or it is of \
             another trail"
        )]
    );
    // The end is cut off, and the note about the newest row is changed as well.
    let cut = "DELETE FROM audit WHERE number > 3;
               UPDATE audit_head SET number = 3,
                 digest = (SELECT digest FROM audit WHERE number = 3)";
    assert_eq!(problems_after(place, cut), [""; 0]);
    assert_eq!(
        problems(place, Some(expected)),
        ["the trail ends with row 3, before the expected row 4: rows are missing at the end"]
    );
    for text in ["", "4", "x:00", "4:00", &format!("{digest}0")] {
        assert_eq!(text.parse::<ExpectedHead>(), Err(InvalidHead), "{text}");
    }
}

/// Removes the first seven of ten rows in two steps.
fn prune_twice(store: &dyn CompleteStore) {
    assert_eq!(store.prune_audit(Timestamp(4), Timestamp(100)).unwrap(), 3);
    assert_eq!(store.prune_audit(Timestamp(4), Timestamp(100)).unwrap(), 0);
    store.append_audit(&[ended(101)]).unwrap();
    assert_eq!(store.prune_audit(Timestamp(8), Timestamp(102)).unwrap(), 4);
}

fn rows_that_are_removed_because_of_their_age_leave_a_proof(place: &Place) {
    add_rows(place, 10);
    let store = place.open();
    let head = |number: i64| {
        let rows = store.audit_rows(&AuditFilter::default()).unwrap();
        let row = rows.into_iter().find(|row| row.number == number as u64).unwrap();
        ExpectedHead { number: Some(row.number), digest: row.digest }
    };
    let heads: Vec<_> = (1..=10).map(head).collect();
    prune_twice(&*store);
    let report = store.verify_audit(None).unwrap();
    assert_eq!((report.rows, report.removed, report.problems.as_slice()), (6, 7, [].as_slice()));
    let numbers: Vec<_> = store.audit_rows(&AuditFilter::default()).unwrap();
    let numbers: Vec<_> = numbers.iter().map(|row| row.number).collect();
    assert_eq!(numbers, [13, 12, 11, 10, 9, 8]);
    // Heads of rows that are left, and of the last rows that were removed, can be compared.
    for number in [3, 7, 8, 10] {
        assert_eq!(problems(place, Some(heads[number - 1])), [""; 0], "{number}");
    }
    assert_eq!(
        problems(place, Some(heads[4])),
        [
            "row 5 was removed because of its age, so its digest cannot be compared; keep a newer one"
        ]
    );

    let forged = [
        ("UPDATE audit_checkpoints SET digest = x'00' WHERE number = 7", 8),
        ("UPDATE audit_checkpoints SET removed = 3 WHERE number = 7", 7),
        ("DELETE FROM audit_checkpoints WHERE number = 3", 7),
        ("DELETE FROM audit_checkpoints", 1),
        (
            "DELETE FROM audit WHERE number < 10;
             INSERT INTO audit_checkpoints SELECT 9, 2, 5, digest, seal FROM audit_checkpoints
               WHERE number = 7",
            9,
        ),
    ];
    for (statements, number) in forged {
        let place = &place.another();
        add_rows(place, 10);
        prune_twice(&*place.open());
        assert_eq!(problems(place, None), [""; 0]);
        let problems = problems_after(place, statements);
        let named = problems.iter().any(|it| {
            it.contains(&format!("row {number}")) || it.contains(&format!("rows {number}"))
        });
        assert!(named, "{statements}: {problems:?}");
    }
}

fn a_trail_that_is_not_intact_is_not_removed(place: &Place) {
    add_rows(place, 6);
    let edit = "UPDATE audit SET content = replace(content, 'anna', 'ben') WHERE number = 2";
    let before = problems_after(place, edit);
    let error = place.open().prune_audit(Timestamp(5), Timestamp(9)).unwrap_err();
    assert!(matches!(error, StoreError::AuditNotIntact { .. }), "{error}");
    assert_eq!(problems(place, None), before);
    // Rows that are not removed do not matter.
    assert_eq!(place.open().prune_audit(Timestamp(2), Timestamp(9)).unwrap(), 1);
}

/// Not a test of its own: the process that [`two_processes_extend_one_chain`] starts.
#[test]
fn the_rows_of_another_process() {
    let Some(store) = given_store(OTHER_PROCESS) else { return };
    for at in 0..50 {
        store.append_audit(&[decided(at, "other", AuditDecision::Allow), ended(at)]).unwrap();
    }
}

fn two_processes_extend_one_chain(place: &Place) {
    add_rows(place, 1);
    let mut others: Vec<_> = (0..2)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "audit::the_rows_of_another_process"])
                .env(OTHER_PROCESS, place.address())
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    let store = place.open();
    for at in 0..50 {
        store.append_audit(&[ended(at)]).unwrap();
    }
    for other in &mut others {
        assert!(other.wait().unwrap().success());
    }
    let report = store.verify_audit(None).unwrap();
    assert_eq!((report.rows, report.problems.as_slice()), (251, [].as_slice()));
    // The rows of one append stay together.
    let rows = store.audit_rows(&AuditFilter::default()).unwrap();
    let numbers = |wanted: fn(&AuditEvent) -> bool| -> Vec<u64> {
        let rows = rows.iter().filter(|row| row.entry.user == "other" || !wanted(&row.entry.event));
        rows.filter(|row| wanted(&row.entry.event)).map(|row| row.number).collect()
    };
    for number in numbers(|event| matches!(event, AuditEvent::Decided { .. })) {
        let next = rows.iter().find(|row| row.number == number + 1).unwrap();
        assert!(matches!(next.entry.event, AuditEvent::Ended { .. }), "{number}");
    }
}

#[test]
fn a_file_that_cannot_be_used_is_tried_again() {
    let folder = StoreFolder::new();
    let store = folder.open();
    store.append_audit(&[ended(1)]).unwrap();
    store.append_audit(&[ended(2)]).unwrap();
    let (file, aside) = (folder.file(), folder.file().with_extension("aside"));
    std::fs::rename(&file, &aside).unwrap();
    std::fs::create_dir(&file).unwrap();
    let error = store.append_audit(&[ended(3)]).unwrap_err();
    assert!(matches!(error, StoreError::Unusable { .. }), "{error}");
    std::fs::remove_dir(&file).unwrap();
    std::fs::rename(&aside, &file).unwrap();
    store.append_audit(&[ended(3)]).unwrap();
    let report = store.verify_audit(None).unwrap();
    assert_eq!((report.rows, report.problems.as_slice()), (3, [].as_slice()));
}
