//! Journals and approvals as several processes use them: shared, killed, damaged, full.

mod approvals;
mod crash;
mod damage;
mod journals;
mod leases;
mod migration;

use std::sync::Arc;

use onecall_core::storage::{
    CompleteStore, DurableRun, DurableState, FinalAnswer, JournalBatch, Lease,
};
use onecall_core::{
    ApprovalQuestion, ApprovalWay, CallSite, CallableName, Digest, ItemId, JournalCall,
    JournalEvent, QuestionKind, RunId, Timestamp, ToolValue,
};
use onecall_store::{DEFAULT_JOURNAL_MB, SqliteStore, open_durable};

use crate::sqlite::StoreFolder;

/// A store with connections of its own, as another process would have.
fn opened(folder: &StoreFolder) -> Arc<SqliteStore> {
    open_durable(folder.file(), DEFAULT_JOURNAL_MB)
}

fn id(name: &str) -> RunId {
    RunId::from_existing(name)
}

/// A run whose lease has the fencing number 1 and ends at 1,000.
pub(crate) fn durable_run(name: &str) -> DurableRun {
    DurableRun {
        id: id(name),
        kind: "program".to_owned(),
        principal: onecall_core::Principal::local(),
        client: "tests".to_owned(),
        started: Timestamp(100),
        request: "{\"program\":\"print(1)\"}".to_owned(),
        configuration: "c0ffee".to_owned(),
        seed: [7; 32],
        state: DurableState::Running,
        in_place: None,
        lease: Some(Lease { owner: "first".to_owned(), fence: 1, until: Timestamp(1_000) }),
        resumed: 0,
        interruptions: 0,
    }
}

fn answer(at: i64) -> FinalAnswer {
    FinalAnswer { result: "{\"content\":[]}".to_owned(), at: Timestamp(at) }
}

fn tool(name: &str) -> CallableName {
    CallableName::new(name)
}

fn question(run: &str, call: u64) -> ApprovalQuestion {
    ApprovalQuestion {
        item: ItemId::of(&id(run), call),
        run: id(run),
        call,
        kind: QuestionKind::Approve,
        name: tool("mcp__files__delete_all"),
        line: Some(3),
        arguments: "{\"path\":\"/\"}".to_owned(),
        rule: "approvals.ask: mcp__*__delete_*".to_owned(),
        asked: Timestamp(200),
        expires: Timestamp(900),
        ways: ApprovalWay::CONFIGURABLE.to_vec(),
    }
}

fn called(call: u64, arguments: &str) -> JournalEvent {
    JournalEvent::Called(JournalCall {
        id: call,
        name: tool("mcp__a__b"),
        site: Some(CallSite { task: "0.2".to_owned(), line: 4, column: 9 }),
        arguments: arguments.to_owned(),
        definition: Some(Digest::of("definition")),
    })
}

fn ended(call: u64, text: &str) -> JournalEvent {
    JournalEvent::Ended { call, result: Ok(ToolValue::Text(text.to_owned())) }
}

fn batch(run: &str, fence: u64, first: u64, events: Vec<JournalEvent>) -> JournalBatch {
    JournalBatch { run: id(run), fence, first, events }
}

/// Appends events that must be accepted.
fn append(store: &dyn CompleteStore, run: &str, fence: u64, first: u64, events: Vec<JournalEvent>) {
    assert_eq!(store.append(&[batch(run, fence, first, events)]).unwrap(), [Ok(())]);
}

/// Text that hardly gets smaller by compression.
fn noise(length: usize, seed: u64) -> String {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let letters = std::iter::repeat_with(|| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b' ' + u8::try_from((state >> 58) & 63).unwrap())
    });
    letters.take(length).collect()
}
