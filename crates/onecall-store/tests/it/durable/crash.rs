//! Processes that are killed, run out of space, or answer at the same moment. Each is this test binary,
//! started again for one of the ignored tests, which reports on its standard error.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use onecall_core::storage::*;
use onecall_core::{JournalEvent, Timestamp, Verdict};

use super::approvals::given;
use super::{answer, batch, called, durable_run, ended, id, noise, question};
use crate::place::{Place, given_store, on_every_store};

on_every_store!(
    a_killed_process_leaves_what_it_was_told_is_written,
    a_killed_process_leaves_beginnings_and_ends_of_runs,
    one_of_several_processes_answers,
);

/// The variable with the address of the store that a started process uses.
const ADDRESS: &str = "ONECALL_STORE_TEST_ADDRESS";

fn start(mut command: Command, test: &str, place: &Place) -> Child {
    let name = format!("durable::crash::{test}");
    command.args(["--ignored", "--exact", &name, "--nocapture"]).env(ADDRESS, place.address());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn this_binary() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

fn report(text: &str) {
    io::stderr().write_all(format!("{text}\n").as_bytes()).unwrap();
}

fn reports(child: &mut Child) -> impl Iterator<Item = String> {
    BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap)
}

/// Every third event is large.
fn event(number: u64) -> JournalEvent {
    match number % 3 {
        0 => called(number, "{}"),
        1 => JournalEvent::Sent { call: number },
        _ => ended(number, &noise(30_000, number)),
    }
}

#[test]
#[ignore = "is started by other tests"]
fn appends_until_it_cannot() {
    let Some(store) = given_store(ADDRESS) else { return };
    let now = Timestamp::now();
    let lease = store.take_lease(&id("a"), "child", now, Duration::ZERO).unwrap().unwrap();
    let journal = store.journal(&id("a")).unwrap();
    assert_eq!(journal.unreadable, 0);
    let mut next = u64::try_from(journal.events.len()).unwrap();
    loop {
        let events = (next..next + 4).map(event).collect();
        match store.append(&[batch("a", lease.fence, next, events)]) {
            Ok(appended) => assert_eq!(appended, [Ok(())]),
            Err(error) => {
                report(&format!("failed {}", error.to_string().replace('\n', " ")));
                break;
            }
        }
        next += 4;
        report(&next.to_string());
    }
    assert_intact(&*store, next);
}

/// The journal has exactly the first events, or at least `written` of them.
fn assert_intact(store: &dyn CompleteStore, written: u64) {
    let journal = store.journal(&id("a")).unwrap();
    assert_eq!(journal.unreadable, 0);
    let count = u64::try_from(journal.events.len()).unwrap();
    assert!(count >= written && count % 4 == 0, "{count} of {written}");
    let expected: Vec<_> = (0..count).map(event).collect();
    assert!(format!("{:?}", journal.events) == format!("{expected:?}"));
}

fn a_killed_process_leaves_what_it_was_told_is_written(place: &Place) {
    place.open().add_durable_runs(&[&durable_run("a")]).unwrap();
    let mut written = 0;
    for acknowledged in [1, 2, 5, 9, 14] {
        let mut child = start(this_binary(), "appends_until_it_cannot", place);
        let last = reports(&mut child).nth(acknowledged - 1).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let last: u64 = last.parse().unwrap_or_else(|_| panic!("{last}"));
        assert!(last > written, "{last}");
        written = last;
        assert_intact(&*place.open(), written);
    }
}

#[test]
#[ignore = "is started by other tests"]
fn adds_a_run_and_ends_another() {
    let Some(store) = given_store(ADDRESS) else { return };
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    store.add_durable_runs(&[&durable_run("b")]).unwrap();
    assert!(store.end_durable_run(&id("b"), 1, &answer(500)).unwrap());
    report("done");
    loop {
        std::thread::park();
    }
}

fn a_killed_process_leaves_beginnings_and_ends_of_runs(place: &Place) {
    let mut child = start(this_binary(), "adds_a_run_and_ends_another", place);
    assert_eq!(reports(&mut child).next().as_deref(), Some("done"));
    child.kill().unwrap();
    child.wait().unwrap();
    let ended = DurableState::Ended(answer(500));
    let expected = [durable_run("a"), DurableRun { state: ended, lease: None, ..durable_run("b") }];
    assert_eq!(place.open().durable_runs(true).unwrap(), expected);
}

#[test]
fn a_full_disk_loses_nothing_that_was_written() {
    let place = &Place::file();
    place.open().add_durable_runs(&[&durable_run("a")]).unwrap();
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 2000; exec \"$@\"", "sh"]);
    limited.arg(this_binary().get_program());
    let mut child = start(limited, "appends_until_it_cannot", place);
    let lines: Vec<String> = reports(&mut child).collect();
    assert!(child.wait().unwrap().success(), "{lines:?}");
    let [.., last, failed] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(failed.starts_with("failed the store"), "{failed}");
    let written: u64 = last.parse().unwrap_or_else(|_| panic!("{last}"));
    let store = place.open();
    assert_intact(&*store, written);
    assert_eq!(store.journal(&id("a")).unwrap().events.len(), usize::try_from(written).unwrap());
    // With more space it goes on where it was.
    let events = (written..written + 4).map(event).collect();
    assert_eq!(store.append(&[batch("a", 2, written, events)]).unwrap(), [Ok(())]);
}

#[test]
#[ignore = "is started by other tests"]
fn answers() {
    let Some(store) = given_store(ADDRESS) else { return };
    let by = std::process::id().to_string();
    let answer = given(Verdict::Deny { reason: None }, &by);
    let receipt = store.answer_question(&question("a", 1).item, &answer).unwrap();
    report(match receipt {
        AnswerReceipt::Accepted => "accepted",
        AnswerReceipt::AlreadyAnswered(_) => "already answered",
        _ => "something else",
    });
}

fn one_of_several_processes_answers(place: &Place) {
    let store = place.open();
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    store.add_question(&question("a", 1), None).unwrap();
    let mut children: Vec<Child> = (0..6).map(|_| start(this_binary(), "answers", place)).collect();
    let mut receipts = Vec::new();
    for child in &mut children {
        receipts.extend(reports(child));
        assert!(child.wait().unwrap().success());
    }
    receipts.sort();
    let mut expected = vec!["accepted"];
    expected.extend(["already answered"; 5]);
    assert_eq!(receipts, expected);
}
