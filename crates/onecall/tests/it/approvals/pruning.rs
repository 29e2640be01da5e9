//! Runs that ended long ago are removed from the store; those that wait stay.

use onecall_core::storage::{DurableRun, DurableState, FinalAnswer, Journals as _};
use onecall_core::{RunId, Timestamp};
use serde_json::json;
use testkit::process::wait_until;

use super::{DELETE_ONE, DELETED_ONE, Desk, waiting_run};
use crate::support::TIMEOUT;

#[test]
fn old_runs_are_removed_and_waiting_ones_stay() {
    let desk = Desk::with_config(
        &json!({ "wait_seconds": 0, "keep_seconds": 0 }),
        &json!({ "records": "off", "store": { "keep_days": 1 } }),
    );
    let mut agent = desk.agent();
    let waiting = waiting_run(&agent.execute(DELETE_ONE));
    agent.0.client().close_stdin();
    assert!(agent.0.client().wait(TIMEOUT).is_some());
    let template = desk.only_run();
    let started = Timestamp(1_000);
    let store = desk.store();
    let ended = |at| DurableState::Ended(FinalAnswer { result: "{}".to_owned(), at });
    let add = |id: &str, state| {
        let id = RunId::from_existing(id);
        let run = DurableRun { id: id.clone(), state, started, lease: None, ..template.clone() };
        store.add_durable_runs(&[&run]).expect("the store can be written");
        id
    };
    let old = add("01old000000000", ended(Timestamp(2_000)));
    let recent = add("01recent000000", ended(Timestamp::now()));
    let waits = add("01waits0000000", DurableState::Waiting);
    let mut agent = desk.agent();
    let is_stored = |run: &RunId| store.durable_run(run).expect("a store").is_some();
    assert!(wait_until(TIMEOUT, || !is_stored(&old)));
    assert!(is_stored(&recent) && is_stored(&waits));
    desk.approve(&desk.open_item());
    desk.wait_until_ended(&waiting);
    assert_eq!(agent.resume(&waiting).text, DELETED_ONE);
}
