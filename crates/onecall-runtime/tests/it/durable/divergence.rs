//! Runs that do something else than before: they stop, and nothing is executed.

use std::sync::Arc;

use onecall_core::{CallSite, CallableName, JournalCall, JournalEvent, Program};
use onecall_runtime::Difference;
use serde_json::Value;

use super::desk::{Desk, approve};
use super::store::MemoryStore;
use super::world::{Process, Tools};

const CODE: &str = "await mcp__s__read(id=1)\nawait mcp__s__delete(id=2)";

/// The journal of a run of `CODE` that waits for its second call.
async fn waiting() -> Vec<JournalEvent> {
    let process = Process::new(Desk::default());
    let program = Program::new(CODE);
    tokio::select! {
        outcome = process.run(&program) => panic!("it did not wait: {outcome:?}"),
        _ = process.desk.asked(1) => {}
    }
    process.journal.sync().await.unwrap();
    let events = process.store.events().clone();
    assert!(events.len() >= 3);
    events
}

/// Continues a run with this program; the result is the text of its failure.
async fn resumed(
    events: &[JournalEvent],
    code: &str,
    description: &'static str,
) -> (Process, String) {
    let tools = Tools::default();
    *tools.description.lock().unwrap() = description;
    let desk = Arc::new(Desk::always(approve()));
    let process = Process::with(Arc::new(tools), desk, MemoryStore::with(events));
    let outcome = process.run(&Program::new(code)).await;
    let text = outcome.result.unwrap_err().to_string();
    assert_eq!(process.tools.effects(), Vec::<Value>::new(), "{text}");
    assert_eq!(process.tools.reads(), 0, "{text}");
    assert_eq!(process.desk.questions(), [], "{text}");
    assert!(text.starts_with("ReplayError: the run cannot be continued"), "{text}");
    (process, text)
}

/// The worker notices that the program does something else.
#[tokio::test]
async fn another_program() {
    let events = waiting().await;
    for (code, expected) in [
        ("await mcp__s__put(id=1)", "in line 1 the program uses the name 'mcp__s__put'"),
        ("await mcp__s__read(id=3)", "(line 1): it calls 'mcp__s__read' with other arguments"),
        ("await mcp__s__read(id=1)\nprint(2)", "the program ends"),
    ] {
        let (process, text) = resumed(&events, code, "A tool").await;
        assert!(text.contains(expected), "{text}");
        assert!(process.journal.divergence().is_some());
    }
}

/// The calls alone show that the program does something else.
#[tokio::test]
async fn another_program_without_observations() {
    let mut events = waiting().await;
    events.retain(|event| !matches!(event, JournalEvent::Observed { .. }));
    for (code, expected) in [
        ("await mcp__s__put(id=1)", "it calls 'mcp__s__put', and it called 'mcp__s__read'"),
        ("await mcp__s__read(id=1)\nprint(2)", "(line 2): it did not call 'mcp__s__delete' again"),
        (
            "await mcp__s__read(id=1)\n1 / 0",
            "it did not call 'mcp__s__delete' again. It ended with: ZeroDivisionError: division by zero",
        ),
    ] {
        let (process, text) = resumed(&events, code, "A tool").await;
        assert!(text.contains(expected), "{text}");
        assert!(process.journal.divergence().is_some());
    }
}

#[tokio::test]
async fn another_definition_of_the_tool() {
    let (process, text) = resumed(&waiting().await, CODE, "Another tool").await;
    assert!(text.contains("the definition of 'mcp__s__read' has changed"), "{text}");
    let difference = process.journal.divergence().unwrap().difference;
    let name = CallableName::new("mcp__s__read");
    assert_eq!(difference, Difference::Definition { name });
}

/// The first call of a journal.
fn first_call(events: &mut [JournalEvent]) -> &mut JournalCall {
    let mut calls = events.iter_mut().filter_map(|event| match event {
        JournalEvent::Called(call) => Some(call),
        _ => None,
    });
    calls.next().expect("a call")
}

#[tokio::test]
async fn another_tool() {
    let mut events = waiting().await;
    first_call(&mut events).name = CallableName::new("mcp__s__put");
    let (_, text) = resumed(&events, CODE, "A tool").await;
    let expected = "(line 1): it calls 'mcp__s__read', and it called 'mcp__s__put'";
    assert!(text.contains(expected), "{text}");
}

#[tokio::test]
async fn another_site() {
    let mut events = waiting().await;
    let site = CallSite { task: "0.3".to_owned(), line: 7, column: 2 };
    assert!(first_call(&mut events).site.replace(site).is_some());
    let (_, text) = resumed(&events, CODE, "A tool").await;
    assert!(text.contains("it called it at line 7, column 2 in task 0.3"), "{text}");
}

#[tokio::test]
async fn a_call_that_was_not_made() {
    let mut events = waiting().await;
    let first = first_call(&mut events).id;
    // The journal has no first call, but later ones.
    events.retain(|event| match event {
        JournalEvent::Called(call) => call.id != first,
        JournalEvent::Ended { call, .. } => *call != first,
        _ => true,
    });
    let (_, text) = resumed(&events, CODE, "A tool").await;
    let expected = "(line 1): it calls 'mcp__s__read', which it did not call at this point";
    assert!(text.contains(expected), "{text}");
}

#[tokio::test]
async fn a_damaged_journal() {
    let events = waiting().await;
    let process = Process::new(Desk::always(approve()));
    let stored =
        onecall_core::storage::StoredJournal { events: events[..1].to_vec(), unreadable: 2 };
    let writer = onecall_runtime::JournalWriter::start(process.store.clone());
    let journal = onecall_runtime::Journal::resume(&super::world::durable_run(), 1, stored, writer);
    let process = Process { journal, ..process };
    let outcome = process.run(&Program::new(CODE)).await;
    let text = outcome.result.unwrap_err().to_string();
    assert!(text.contains("of its 3 events only the first 1 can be read"), "{text}");
    assert_eq!((process.tools.reads(), process.tools.effects()), (0, Vec::new()));
}
