//! Clients that cancel or leave while a program waits for a person.

use std::thread;
use std::time::Duration;

use onecall_core::Timestamp;
use onecall_core::storage::{DurableState, FinalAnswer, Journals as _, QuestionState};
use serde_json::json;

use super::{DELETE_ONE, Desk};
use crate::support::http_gateway::{HttpGateway, stateless, stateless_request, text};
use crate::support::raw_http::Request;

#[test]
fn a_cancelled_request_cancels_its_run_even_if_it_waits() {
    let desk = Desk::new(&json!({}));
    let mut agent = desk.agent();
    let call = agent.start(DELETE_ONE);
    let question = desk.open_questions(1).remove(0).question;
    agent.0.cancel(call);
    desk.wait_until_ended(question.run.as_str());
    assert_eq!(desk.question_state(&question.item), QuestionState::Withdrawn);
    let answer = agent.resume(question.run.as_str());
    assert!(answer.is_error);
    assert_eq!(
        answer.text.lines().nth(1),
        Some("Cancelled: the program was cancelled"),
        "{}",
        answer.text
    );
    assert_eq!(desk.deletions(), 0);
}

#[test]
fn a_run_that_another_process_cancels_does_nothing_more() {
    let desk = Desk::new(&json!({}));
    let mut agent = desk.agent();
    let call = agent.start(
        r#"
        try:
            await mcp__files__delete(path="/a")
        except ToolError:
            pass
        await mcp__files__read(path="/a")
        "#,
    );
    let run = desk.open_questions(1).remove(0).question.run;
    let result = json!({ "content": [{ "type": "text", "text": "stopped" }], "isError": true });
    let answer = FinalAnswer { result: result.to_string(), at: Timestamp::now() };
    assert!(desk.store().cancel_durable_run(&run, &answer).expect("a store"));
    let answer = agent.0.finish_call(call);
    assert_eq!((answer.text.as_str(), answer.is_error), ("stopped", true));
    assert_eq!((desk.deletions(), desk.received.calls("read")), (0, 0));
}

fn gateway_that_asks() -> HttpGateway {
    let approvals = json!({ "ask": ["mcp__fixture__counter"] });
    HttpGateway::with_settings(&json!({ "approvals": approvals }))
}

#[test]
fn a_client_that_leaves_does_not_cancel_a_run_that_waits() {
    let gateway = gateway_that_asks();
    let desk = Desk::of(&gateway);
    let client = gateway.client();
    let answer = client.start(1, "print('n', await mcp__fixture__counter())", "t");
    let question = desk.open_questions(1).remove(0).question;
    drop(answer);
    // Longer than it takes to notice that a client has left.
    thread::sleep(Duration::from_secs(2));
    desk.approve(&question.item);
    desk.wait_until_ended(question.run.as_str());
    assert_eq!(desk.received.calls("counter"), 1);
    let DurableState::Ended(answer) = desk.state(question.run.as_str()) else { panic!("it ended") };
    assert!(answer.result.contains("n 1"), "{}", answer.result);
}

#[test]
fn a_client_that_leaves_cancels_a_run_that_does_not_wait() {
    let gateway = gateway_that_asks();
    let desk = Desk::of(&gateway);
    let client = gateway.client();
    let code = "await mcp__fixture__hang()\nawait mcp__fixture__counter()";
    let answer = client.start(1, code, "t");
    let request = desk.received.wait_for_call("hang");
    drop(answer);
    desk.received.wait_for_cancel(&request);
    let runs = desk.store().durable_runs(true).expect("a store");
    desk.wait_until_ended(runs[0].id.as_str());
}

/// Over HTTP, clients of the revision without sessions are not told apart: anybody could send this
/// notification.
#[test]
fn a_notification_without_a_session_cancels_no_run() {
    let gateway = gateway_that_asks();
    let desk = Desk::of(&gateway);
    let message = stateless(7, "print('n', await mcp__fixture__counter())");
    let address = gateway.address;
    // The head of the response comes with the answer.
    let answer = thread::spawn(move || stateless_request(&message).send(address).message());
    let question = desk.open_questions(1).remove(0).question;
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": 7, "reason": "cancelled by the test" },
    });
    let cancel = cancel.to_string();
    let accepted = Request::message(&cancel)
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "notifications/cancelled")
        .send(gateway.address);
    assert_eq!(accepted.status, 202);
    desk.approve(&question.item);
    let answer = answer.join().expect("an answer");
    assert_eq!(text(&answer), "[Script executed successfully]\nn 1\n");
}
