//! Many runs that wait in one store.

use std::time::{Duration, Instant};

use onecall_core::storage::{Approvals as _, DurableRun, DurableState, Journals as _};
use onecall_core::{ApprovalQuestion, ItemId, RunId};
use serde_json::{Value, json};
use testkit::process::wait_until;

use super::{DELETE_ONE, DELETED_ONE, Desk, waiting_run};
use crate::support::{TIMEOUT, finish};

/// How many runs wait.
const RUNS: usize = 1_000;

/// How long each step may take on a busy machine. Alone, the slowest takes about half a second.
const LONGEST: Duration = Duration::from_secs(10);

#[test]
fn a_thousand_runs_can_wait() {
    let desk = Desk::new(&json!({ "wait_seconds": 0 }));
    let mut agent = desk.agent();
    waiting_run(&agent.execute(DELETE_ONE));
    let asked = desk.open_questions(1).remove(0).question;
    agent.0.client().kill();
    drop(agent);
    let (store, template) = (desk.store(), desk.only_run());
    let ids: Vec<RunId> =
        (1..RUNS).map(|number| RunId::from_existing(format!("01copy{number:08}"))).collect();
    for id in &ids {
        let (state, lease) = (DurableState::Waiting, None);
        let copy = DurableRun { id: id.clone(), state, lease, ..template.clone() };
        store.add_durable_runs(&[&copy]).expect("the store can be written");
        let (item, run) = (ItemId::of(id, asked.call), id.clone());
        let question = ApprovalQuestion { item, run, ..asked.clone() };
        store.add_question(&question, None).expect("the store can be written");
    }
    let begun = Instant::now();
    let mut agent = desk.agent();
    assert!(agent.0.tool_names().contains(&"continue_program".to_owned()));
    let started = begun.elapsed();
    let begun = Instant::now();
    let listed = finish(desk.home.onecall_with_config(&["approvals", "list", "--json"]));
    let listing = begun.elapsed();
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    assert_eq!(listed.as_array().map(Vec::len), Some(RUNS));
    let run = ids[RUNS / 2].as_str();
    let begun = Instant::now();
    desk.approve(&ItemId::of(&ids[RUNS / 2], asked.call));
    assert!(wait_until(TIMEOUT, || desk.deletions() == 1));
    let answered = begun.elapsed();
    assert_eq!(desk.final_text(&ids[RUNS / 2]), DELETED_ONE);
    assert_eq!(agent.resume(run).text, DELETED_ONE);
    let steps = [started, listing, answered];
    assert!(steps.iter().all(|step| *step < LONGEST), "{steps:?}");
    assert_eq!((desk.open_questions(RUNS - 1).len(), desk.deletions()), (RUNS - 1, 1));
}
