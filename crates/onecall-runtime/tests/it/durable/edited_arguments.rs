//! Calls that a person approves with other arguments, and whose gateway ends before they are answered.

use onecall_core::{ApprovalScope, AskPolicy, ItemId, Program, QuestionKind, Verdict};
use serde_json::json;

use super::desk::Desk;
use super::world::{Process, run_id};

const CODE: &str = "print((await mcp__s__slow_delete(id=1))['id'])";

/// The process after one that ended when the call was under way, with the arguments of a person.
async fn after_kill() -> Process {
    let process = Process::new(Desk::default());
    process.tools.gate.send_replace(false);
    let arguments = Some(json!({ "id": 2 }));
    let edited = Verdict::Approve { scope: ApprovalScope::Once, arguments };
    process.desk.answer(&ItemId::of(&run_id(), 1), edited);
    let program = Program::new(CODE);
    tokio::select! {
        outcome = process.run(&program) => panic!("it did not wait: {outcome:?}"),
        _ = async { process.tools.at_gate.subscribe().wait_for(|it| *it > 0).await.unwrap(); } => {}
    }
    assert_eq!(process.tools.effects(), [json!(2)]);
    process.tools.gate.send_replace(true);
    process.killed().await
}

/// Answers that the call did not happen, and checks what the person read and what was sent.
async fn check_repetition(process: &Process) {
    process.desk.answer(&ItemId::of_attempt(&run_id(), 1, 1), Verdict::NotHappened);
    let outcome = process.run(&Program::new(CODE)).await;
    assert_eq!((outcome.result, outcome.stdout.text.as_str()), (Ok(()), "2\n"));
    let questions = process.desk.questions();
    let unknown = questions.iter().find(|it| it.kind == QuestionKind::Unknown).unwrap();
    assert_eq!(unknown.arguments, r#"{"id":2}"#);
    // The approval is about the call that the program made.
    let approvals: Vec<_> =
        questions.iter().filter(|it| it.kind == QuestionKind::Approve).collect();
    assert!(approvals.iter().all(|it| it.arguments == r#"{"id":1}"#), "{approvals:?}");
    assert_eq!(process.tools.effects(), [json!(2), json!(2)]);
}

#[tokio::test]
async fn a_person_reads_and_repeats_what_was_sent() {
    check_repetition(&after_kill().await).await;
}

#[tokio::test]
async fn the_arguments_stay_if_the_call_needs_no_approval_any_more() {
    let process = after_kill().await;
    let runtime = process.runtime.with_approvals(AskPolicy::default(), process.desk.clone());
    check_repetition(&Process { runtime, ..process }).await;
}
