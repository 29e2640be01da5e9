//! Calls that may have happened before a crash: who may say what became of them, and when that is not
//! asked any more.

use onecall_core::QuestionKind;
use onecall_core::storage::{AnswerReceipt, QuestionState};
use onecall_core::{ApprovalScope, RunId, Verdict};
use serde_json::{Value, json};
use testkit::process::wait_until;

use super::clients::{Modern, reply, text};
use super::{Desk, waiting_run};
use crate::support::TIMEOUT;

const STUCK: &str = r#"
    print(await mcp__files__stuck(path="/a"))
"#;

/// A desk at which only clients may answer, with a run whose gateway was killed during a call.
fn interrupted(wait_seconds: u64) -> (Desk, RunId) {
    let approvals = json!({ "ways": ["client"], "wait_seconds": wait_seconds });
    let desk = Desk::with_config(&approvals, &json!({ "durable": true }));
    let mut agent = desk.agent();
    let call = agent.start(STUCK);
    desk.received.wait_for_call("stuck");
    let run = desk.only_run().id;
    agent.0.client().kill();
    drop((agent, call));
    desk.end_leases();
    (desk, run)
}

fn says(decision: &str, result: &str) -> Value {
    json!({ "action": "accept", "content": { "call_1": decision, "result_1": result } })
}

#[test]
fn a_user_says_by_a_form_that_a_call_happened() {
    let (desk, run) = interrupted(60);
    let mut agent = desk.agent_with_forms(&says("it happened", r#"{"deleted": [1]}"#));
    let answer = agent.resume(run.as_str());
    assert_eq!(answer.text, "[Script executed successfully]\n{'deleted': [1]}\n");
    let asked = agent.0.client().server_requests()[0].clone();
    assert_eq!(
        asked["params"]["message"],
        "Find out what became of this call:\nmcp__files__stuck, line 1 (onecall ended during this \
         call: it may have happened or not): {\"path\":\"/a\"}"
    );
    assert_eq!(desk.received.calls("stuck"), 1);
}

#[test]
fn a_user_has_a_call_made_or_gives_the_run_up_by_a_form() {
    let (desk, run) = interrupted(60);
    let mut agent = desk.agent_with_forms(&Value::Null);
    let call = agent.0.start_call("continue_program", json!({ "run": run.as_str() }));
    let asked = agent.0.client().wait_server_request(1);
    agent.0.client().answer(&asked, &says("it did not happen: call it now", ""));
    assert!(wait_until(TIMEOUT, || desk.received.calls("stuck") == 2));
    agent.0.client().kill();
    drop((agent, call));
    desk.end_leases();
    let mut agent = desk.agent_with_forms(&says("give the run up", ""));
    let answer = agent.resume(run.as_str());
    assert!(answer.is_error && answer.text.contains("gave the run up"), "{}", answer.text);
    assert_eq!(desk.received.calls("stuck"), 2);
}

#[test]
fn a_result_asks_what_became_of_a_call() {
    let (desk, run) = interrupted(1);
    let mut client = Modern::new(&desk, "modern");
    let arguments = json!({ "run": run.as_str() });
    let asked = client.call("continue_program", &arguments, &json!({})).expect("a result");
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let state = asked["requestState"].as_str().expect("a state");
    // Declining says nothing about what happened.
    let declined = reply(state, &json!({ "action": "decline" }));
    let waits = client.call("continue_program", &arguments, &declined).expect("a result");
    assert!(text(&waits).starts_with("[Script waiting for approval]\n"), "{waits}");
    let happened = reply(state, &says("it happened", "done before"));
    let answered = client.call("continue_program", &arguments, &happened).expect("a result");
    assert_eq!(text(&answered), "[Script executed successfully]\ndone before\n");
    assert_eq!(desk.received.calls("stuck"), 1);
}

#[test]
fn a_call_that_its_program_cancels_after_a_crash_asks_no_more() {
    let desk = Desk::with_config(&json!({ "wait_seconds": 0 }), &json!({ "durable": true }));
    let mut agent = desk.agent();
    let run = waiting_run(&agent.execute(
        r#"
        import asyncio
        task = asyncio.create_task(mcp__files__stuck(path="/a"))
        print(await mcp__files__delete(path="/b"))
        print(await mcp__files__delete(path="/c"))
        task.cancel()
        print(await mcp__files__delete(path="/d"))
        "#,
    ));
    desk.received.wait_for_call("stuck");
    let first = desk.open_item();
    agent.0.client().kill();
    desk.end_leases();
    let mut agent = desk.agent();
    desk.approve(&first);
    let questions = desk.open_questions(2).into_iter().map(|asked| asked.question);
    let (unknown, second): (Vec<_>, Vec<_>) =
        questions.partition(|question| question.kind == QuestionKind::Unknown);
    assert_eq!(unknown[0].name.as_str(), "mcp__files__stuck");
    desk.approve(&second[0].item);
    assert!(wait_until(TIMEOUT, || desk.deletions() == 2));
    // The run waits for the third call that deletes, and for nothing else.
    let state = || desk.question_state(&unknown[0].item);
    assert!(wait_until(TIMEOUT, || state() == QuestionState::Withdrawn), "{:?}", state());
    let last = desk.open_questions(1).remove(0).question;
    assert_eq!(last.arguments, r#"{"path":"/d"}"#);
    desk.approve(&last.item);
    desk.wait_until_ended(&run);
    let printed = "[Script executed successfully]\ndeleted\ndeleted\ndeleted\n";
    assert_eq!(agent.resume(&run).text, printed);
    assert_eq!(desk.received.calls("stuck"), 1);
}

/// The approval of a tool for the whole run covers its calls after a crash, too.
#[test]
fn an_approval_for_the_run_covers_a_call_that_is_made_again() {
    let asks = json!(["mcp__files__stuck", "mcp__files__delete"]);
    let desk = Desk::new(&json!({ "wait_seconds": 0, "ask": asks }));
    let mut agent = desk.agent();
    let run = waiting_run(&agent.execute(
        r#"
        import asyncio
        first = asyncio.create_task(mcp__files__stuck(path="/a"))
        await mcp__files__delete(path="/a")
        await mcp__files__stuck(path="/b")
        "#,
    ));
    let questions = desk.open_questions(2).into_iter().map(|asked| asked.question);
    let (stuck, delete): (Vec<_>, Vec<_>) =
        questions.partition(|question| question.name.as_str() == "mcp__files__stuck");
    let for_run = Verdict::Approve { scope: ApprovalScope::Run, arguments: None };
    assert_eq!(desk.answer(&stuck[0].item, for_run), AnswerReceipt::Accepted);
    assert!(wait_until(TIMEOUT, || desk.received.calls("stuck") == 1));
    desk.approve(&delete[0].item);
    assert!(wait_until(TIMEOUT, || desk.received.calls("stuck") == 2));
    agent.0.client().kill();
    desk.end_leases();
    let mut agent = desk.agent();
    waiting_run(&agent.resume(&run));
    for asked in desk.open_questions(2) {
        assert_eq!(asked.question.kind, QuestionKind::Unknown);
        let receipt = desk.answer(&asked.question.item, Verdict::NotHappened);
        assert_eq!(receipt, AnswerReceipt::Accepted);
    }
    assert!(wait_until(TIMEOUT, || desk.received.calls("stuck") == 4));
}
