//! Journals that cannot be written, and writes that calls share.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use onecall_core::storage::{DurableState, FinalAnswer, Lease};
use onecall_core::{Program, Timestamp};
use onecall_runtime::{Journal, JournalError, JournalWriter};
use serde_json::{Value, json};

use super::desk::{Desk, approve};
use super::store::MemoryStore;
use super::world::{Process, durable_run};

const CODE: &str = "await mcp__s__read(id=1)
for name in (mcp__s__pay, mcp__s__delete):
    try:
        await name(id=2)
    except ToolError as error:
        print(error)
";

#[tokio::test]
async fn a_call_is_not_sent_if_its_intent_cannot_be_written() {
    let process = Process::new(Desk::always(approve()));
    process.break_store();
    let outcome = process.run(&Program::new(CODE)).await;
    assert_eq!(outcome.result, Ok(()));
    let full = "the journals of all runs would take more than 1 MB (`store.journal_mb`)";
    assert_eq!(
        outcome.stdout.text,
        format!(
            "'mcp__s__pay' failed: it was not called, because it cannot be written to the journal first: {full}\n\
             'mcp__s__delete' failed: it was not called, because nobody can be asked to approve it: \
             the journal cannot be written: {full}\n"
        )
    );
    assert_eq!(process.tools.effects(), Vec::<Value>::new());
    assert_eq!((process.tools.reads(), process.desk.questions().len()), (1, 0));
}

#[tokio::test]
async fn events_are_kept_until_they_can_be_written() {
    let process = Process::new(Desk::always(approve()));
    process.store.is_broken.store(true, Ordering::SeqCst);
    let code = "try:
    await mcp__s__pay(id=1)
except ToolError as error:
    print('the disk is gone' in str(error))
await mcp__s__slow_read(id=2)
await mcp__s__pay(id=3)";
    process.tools.gate.send_replace(false);
    let repair = async {
        process.tools.at_gate.subscribe().wait_for(|count| *count > 0).await.unwrap();
        process.store.is_broken.store(false, Ordering::SeqCst);
        process.tools.gate.send_replace(true);
    };
    let program = Program::new(code);
    let (outcome, ()) = tokio::join!(process.run(&program), repair);
    assert_eq!((&outcome.result, outcome.stdout.text.as_str()), (&Ok(()), "True\n"));
    assert_eq!(process.tools.effects(), [json!(3)]);
    let mut words = process.journal_words().await;
    words.retain(|word| word != "observed");
    assert_eq!(words.len(), 9, "{words:?}");
}

#[tokio::test]
async fn a_run_whose_lease_is_lost_stops_without_effects() {
    let process = Process::new(Desk::always(approve()));
    process.store.is_taken.store(true, Ordering::SeqCst);
    let outcome = process.run(&Program::new("await mcp__s__pay(id=1)")).await;
    let text = outcome.result.unwrap_err().to_string();
    assert!(text.contains("another process continues the run, or the run has ended"), "{text}");
    assert_eq!(process.tools.effects(), Vec::<Value>::new());
}

#[tokio::test]
async fn only_events_of_a_closed_journal_are_freed() {
    for is_closed in [false, true] {
        let store = Arc::new(MemoryStore::default());
        let writer = JournalWriter::start(store.clone());
        let journal = Journal::begin(durable_run(), 1, writer.clone());
        let process = Process { journal, store, ..Process::new(Desk::always(approve())) };
        let outcome = process.run(&Program::new("await mcp__s__read(id=1)")).await;
        assert_eq!(outcome.result, Ok(()));
        if is_closed {
            process.journal.close();
        }
        process.journal.free_events();
        assert!(writer.close(Duration::from_secs(30)));
        let is_written =
            process.store.events().iter().any(|it| super::world::word(it) == "ended 1");
        assert_eq!(is_written, !is_closed);
    }
}

#[tokio::test]
async fn a_run_begins_before_the_store_has_it() {
    let store = Arc::new(MemoryStore::default());
    store.is_broken.store(true, Ordering::SeqCst);
    let journal = Journal::begin(durable_run(), 1, JournalWriter::start(store.clone()));
    let process = Process { journal, store, ..Process::new(Desk::always(approve())) };
    let code = "await mcp__s__read(id=1)
try:
    await mcp__s__pay(id=2)
except ToolError as error:
    print('the disk is gone' in str(error))";
    let outcome = process.run(&Program::new(code)).await;
    assert_eq!((&outcome.result, outcome.stdout.text.as_str()), (&Ok(()), "True\n"));
    assert_eq!(process.tools.effects(), Vec::<Value>::new());
    assert!(!process.journal.is_stored() && process.journal.stored().await.is_err());
    process.store.is_broken.store(false, Ordering::SeqCst);
    assert_eq!(process.journal.stored().await, Ok(()));
    assert!(process.store.events().iter().any(|it| super::world::word(it) == "ended 1"));
}

#[tokio::test]
async fn a_closed_writer_has_written_everything() {
    let process = Process::new(Desk::always(approve()));
    let store = Arc::new(MemoryStore::default());
    let writer = JournalWriter::start(store.clone());
    let journal = Journal::begin(durable_run(), 1, writer.clone());
    let process = Process { journal, store, ..process };
    let outcome = process.run(&Program::new("await mcp__s__read(id=1)")).await;
    assert_eq!(outcome.result, Ok(()));
    assert!(writer.close(Duration::from_secs(30)));
    assert!(process.store.events().iter().any(|it| super::world::word(it) == "ended 1"));
    assert_eq!(process.journal.sync().await, Ok(()));
    let outcome = process.call("mcp__s__pay", &json!({ "id": 2 })).await;
    let closed = JournalError::Closed.to_string();
    assert!(outcome.unwrap_err().to_string().ends_with(&closed));
}

/// 64 intents at once take far fewer commits than one each.
#[tokio::test]
async fn calls_at_once_share_commits() {
    let process = Process::new(Desk::always(approve()));
    let code = "import asyncio
await asyncio.gather(*(mcp__s__delete(id=i) for i in range(100, 164)))";
    let outcome = process.run(&Program::new(code)).await;
    assert_eq!(outcome.result, Ok(()));
    assert_eq!(process.tools.effects().len(), 64);
    // One call is made at a time here, so that each intent is a commit; the 64 questions share theirs.
    let commits = process.store.commits.load(Ordering::SeqCst);
    assert!(commits < 2 * 64, "{commits}");
}

fn refused() -> FinalAnswer {
    FinalAnswer { result: "refused".to_owned(), at: Timestamp(9) }
}

/// Its client has been told that nothing happened. If the store got the run without its end, another process
/// would continue it.
#[tokio::test]
async fn a_run_that_ends_before_it_is_stored_is_stored_with_its_end() {
    let store = Arc::new(MemoryStore::default());
    store.is_broken.store(true, Ordering::SeqCst);
    let mut run = durable_run();
    let until = Timestamp(run.started.0 + 20_000);
    run.lease = Some(Lease { owner: "first".to_owned(), fence: 1, until });
    let journal = Journal::begin(run, 1, JournalWriter::start(store.clone()));
    let process = Process { journal, store, ..Process::new(Desk::always(approve())) };
    let outcome = process.run(&Program::new("await mcp__s__pay(id=1)")).await;
    assert!(outcome.result.unwrap_err().to_string().contains("the disk is gone"));
    assert!(process.journal.end_unstored(&refused()));
    process.store.is_broken.store(false, Ordering::SeqCst);
    assert_eq!(process.journal.stored().await, Ok(()));
    let added = process.store.added.lock().unwrap().clone().unwrap();
    assert_eq!((added.state, added.lease), (DurableState::Ended(refused()), None));
    assert_eq!(process.store.events().len(), 0);
}

#[tokio::test]
async fn a_run_that_may_be_stored_without_its_end_does_not_end_unstored() {
    for (is_broken, loses_answer) in [(false, false), (false, true), (true, false)] {
        let store = Arc::new(MemoryStore::default());
        let barrier = Arc::new(Barrier::new(2));
        *store.add_barrier.lock().unwrap() = Some(Arc::clone(&barrier));
        store.is_broken.store(is_broken, Ordering::SeqCst);
        store.loses_answer.store(loses_answer, Ordering::SeqCst);
        let journal = Journal::begin(durable_run(), 1, JournalWriter::start(store.clone()));
        barrier.wait();
        // The store may get the run at this moment.
        assert!(!journal.end_unstored(&refused()));
        *store.add_barrier.lock().unwrap() = None;
        barrier.wait();
        assert_eq!(journal.stored().await.is_ok(), !is_broken && !loses_answer);
        // Only an attempt that has failed for certain left the store without the run.
        assert_eq!(journal.end_unstored(&refused()), is_broken);
        store.is_broken.store(false, Ordering::SeqCst);
        store.loses_answer.store(false, Ordering::SeqCst);
        assert_eq!(journal.stored().await, Ok(()));
        let added = store.added.lock().unwrap().clone().unwrap();
        let expected =
            if is_broken { DurableState::Ended(refused()) } else { DurableState::Running };
        assert_eq!(added.state, expected);
        assert_eq!(journal.end_unstored(&refused()), is_broken);
    }
}

/// A run that is stored long after it began, because the store was unreachable, must not be taken over at
/// once.
#[tokio::test]
async fn the_lease_of_a_run_begins_when_the_store_gets_it() {
    let store = Arc::new(MemoryStore::default());
    let writer = JournalWriter::start(store.clone());
    let mut run = durable_run();
    let until = Timestamp(run.started.0 + 20_000);
    run.lease = Some(Lease { owner: "first".to_owned(), fence: 1, until });
    let before = Timestamp::now();
    Journal::begin(run, 1, writer).stored().await.unwrap();
    let lease = store.added.lock().unwrap().clone().unwrap().lease.unwrap();
    let latest = Timestamp::now().0 + 20_000;
    assert!((before.0 + 20_000..=latest).contains(&lease.until.0), "{lease:?}");
}
