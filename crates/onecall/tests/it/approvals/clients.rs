//! Clients that ask their users: by a form while the request is open, or by a result that asks for
//! input.

use std::time::Duration;

use onecall_core::storage::QuestionState;
use onecall_core::{ApprovalWay, Timestamp};
use serde_json::{Value, json};
use testkit::mcp::Session;
use testkit::process::wait_until;

use super::{Agent, DELETE_ONE, DELETED_ONE, Desk, STORE, waiting_run};
use crate::support::TIMEOUT;

impl Desk {
    /// An agent whose user answers forms like this; `null` is no answer.
    pub(super) fn agent_with_forms(&self, answer: &Value) -> Agent {
        let capabilities = json!({ "elicitation": {} });
        let answers = [("elicitation/create", answer.clone())];
        let command = self.home.onecall_with_config(&["serve"]);
        Agent(Session::open_with_capabilities(command, &capabilities, &answers))
    }
}

#[test]
fn a_user_approves_by_a_form() {
    let desk = Desk::new(&json!({}));
    let accept = json!({ "action": "accept", "content": { "call_1": "approve" } });
    let mut agent = desk.agent_with_forms(&accept);
    assert_eq!(agent.execute(DELETE_ONE).text, DELETED_ONE);
    let asked = agent.0.client().server_requests();
    assert_eq!(asked.len(), 1);
    let mut params = asked[0]["params"].clone();
    params.as_object_mut().map(|params| params.remove("_meta"));
    insta::assert_snapshot!(serde_json::to_string_pretty(&params).expect("JSON"));
}

#[test]
fn a_user_denies_by_a_form() {
    let deny = json!({ "action": "accept", "content": { "call_1": "deny", "reason": "not now" } });
    for (answer, reason) in [(deny, ": not now"), (json!({ "action": "decline" }), "")] {
        let desk = Desk::new(&json!({}));
        let mut agent = desk.agent_with_forms(&answer);
        let answer = agent.execute(DELETE_ONE);
        let denied = format!("'mcp__files__delete' was denied{reason}");
        assert!(answer.is_error && answer.text.contains(&denied), "{}", answer.text);
        assert_eq!(desk.deletions(), 0);
    }
}

#[test]
fn a_user_who_closes_the_form_leaves_the_question_open() {
    let desk = Desk::new(&json!({ "wait_seconds": 1 }));
    let mut agent = desk.agent_with_forms(&json!({ "action": "cancel" }));
    let run = waiting_run(&agent.execute(DELETE_ONE));
    assert_eq!(agent.0.client().server_requests().len(), 1);
    desk.approve(&desk.open_item());
    assert_eq!(agent.resume(&run).text, DELETED_ONE);
}

#[test]
fn an_answer_from_elsewhere_closes_the_form() {
    let desk = Desk::new(&json!({}));
    let mut agent = desk.agent_with_forms(&Value::Null);
    let call = agent.start(DELETE_ONE);
    let item = desk.open_item();
    // The form is on its way before the answer is given.
    std::thread::sleep(Duration::from_millis(500));
    desk.approve(&item);
    assert_eq!(agent.0.finish_call(call).text, DELETED_ONE);
    let form = agent.0.client().server_requests()[0]["id"].clone();
    let cancelled = agent.0.client().wait_notification("notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], form);
}

#[test]
fn a_client_is_not_asked_where_it_may_not_answer() {
    let desk = Desk::new(&json!({ "ways": ["cli"], "wait_seconds": 0 }));
    let accept = json!({ "action": "accept", "content": { "call_1": "approve" } });
    let mut agent = desk.agent_with_forms(&accept);
    waiting_run(&agent.execute(DELETE_ONE));
    assert_eq!(agent.0.client().server_requests(), [Value::Null; 0]);
    assert_eq!(desk.deletions(), 0);
}

/// A client of protocol version 2026-07-28.
pub(super) struct Modern {
    session: Session,
    name: &'static str,
}

impl Modern {
    pub(super) fn new(desk: &Desk, name: &'static str) -> Self {
        let command = desk.home.onecall_with_config(&["serve"]);
        Self { session: Session::new(testkit::rpc::Client::spawn(command)), name }
    }

    /// Runs a program, with more parameters of the request.
    fn execute(&mut self, code: &str, more: &Value) -> Result<Value, testkit::rpc::RpcError> {
        let arguments = json!({ "code": crate::support::dedent(code) });
        self.call("execute_program", &arguments, more)
    }

    /// Calls a tool, with more parameters of the request.
    pub(super) fn call(
        &mut self,
        tool: &str,
        arguments: &Value,
        more: &Value,
    ) -> Result<Value, testkit::rpc::RpcError> {
        let mut params = json!({
            "name": tool,
            "arguments": arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": self.name, "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
            },
        });
        super::extend(&mut params, more);
        self.session.client().try_request("tools/call", params)
    }

    /// Runs a program that has to ask, and returns the state that comes with the question.
    fn asks(&mut self, code: &str, more: &Value) -> String {
        let asked = self.execute(code, more).expect("a result");
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let form = &asked["inputRequests"]["approval"];
        assert_eq!(form["method"], "elicitation/create");
        asked["requestState"].as_str().expect("a state").to_owned()
    }
}

pub(super) fn reply(state: &str, answer: &Value) -> Value {
    json!({ "requestState": state, "inputResponses": { "approval": answer } })
}

pub(super) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

#[test]
fn a_result_asks_for_input_and_its_answer_decides_once() {
    let desk = Desk::new(&json!({}));
    let mut client = Modern::new(&desk, "modern");
    let state = client.asks(DELETE_ONE, &json!({}));
    let item = desk.open_item();
    let approve = json!({ "action": "accept", "content": { "call_1": "approve" } });
    let answered = client.execute(DELETE_ONE, &reply(&state, &approve)).expect("a result");
    assert_eq!(text(&answered), DELETED_ONE);
    let QuestionState::Answered(verdict) = desk.question_state(&item) else {
        panic!("it is answered")
    };
    assert_eq!((verdict.way, verdict.by.as_str()), (ApprovalWay::Client, "modern 1"));
    // Sent again, with whatever answer, it returns the state of the run.
    let deny = json!({ "action": "decline" });
    for again in [reply(&state, &approve), reply(&state, &deny), json!({ "requestState": state })] {
        let again = client.execute(DELETE_ONE, &again).expect("a result");
        assert_eq!(text(&again), DELETED_ONE);
    }
    assert_eq!(desk.deletions(), 1);
}

#[test]
fn a_state_of_another_client_request_or_making_is_refused() {
    let desk = Desk::new(&json!({}));
    let mut client = Modern::new(&desk, "modern");
    let state = client.asks(DELETE_ONE, &json!({}));
    let item = desk.open_item();
    let approve = json!({ "action": "accept", "content": { "call_1": "approve" } });
    let mut forged = state.clone();
    forged.replace_range(10..11, if &state[10..11] == "A" { "B" } else { "A" });
    let mut other = Modern::new(&desk, "other");
    let refusals = [
        client.execute(DELETE_ONE, &reply(&forged, &approve)),
        client.execute(DELETE_ONE, &reply("", &approve)),
        client.execute("print(1)", &reply(&state, &approve)),
        other.execute(DELETE_ONE, &reply(&state, &approve)),
    ];
    for refusal in refusals {
        let error = refusal.expect_err("it is refused");
        assert!(error.message.contains("requestState is not valid"), "{error:?}");
    }
    assert_eq!(desk.question_state(&item), QuestionState::Open);
    assert_eq!(desk.open_questions(1).len(), 1);
    assert_eq!(desk.deletions(), 0);
    let answered = client.execute(DELETE_ONE, &reply(&state, &approve)).expect("a result");
    assert_eq!(text(&answered), DELETED_ONE);
}

#[test]
fn after_eight_rounds_a_client_gets_the_text() {
    let desk = Desk::new(&json!({ "wait_seconds": 0 }));
    let mut client = Modern::new(&desk, "modern");
    let mut state = client.asks(DELETE_ONE, &json!({}));
    for _ in 1..8 {
        state = client.asks(DELETE_ONE, &json!({ "requestState": state }));
    }
    let last = client.execute(DELETE_ONE, &json!({ "requestState": state })).expect("a result");
    assert!(text(&last).starts_with("[Script waiting for approval]\nrun: "), "{last}");
    let run = desk.open_questions(1).remove(0).question.run;
    desk.approve(&desk.open_item());
    assert!(wait_until(TIMEOUT, || desk.deletions() == 1));
    desk.wait_until_ended(run.as_str());
}

#[test]
fn a_user_who_closes_the_form_of_a_result_is_not_asked_again() {
    let desk = Desk::new(&json!({ "wait_seconds": 0 }));
    let mut client = Modern::new(&desk, "modern");
    let state = client.asks(DELETE_ONE, &json!({}));
    let closed = client.execute(DELETE_ONE, &reply(&state, &json!({ "action": "cancel" })));
    assert!(text(&closed.expect("a result")).starts_with("[Script waiting for approval]\n"));
    assert_eq!(desk.deletions(), 0);
}

#[test]
fn a_state_that_has_expired_names_the_run() {
    let desk = Desk::new(&json!({ "wait_seconds": 0 }));
    let mut agent = desk.agent();
    let run = waiting_run(&agent.execute(DELETE_ONE));
    let item = desk.open_item();
    agent.0.client().kill();
    let database = rusqlite::Connection::open(desk.home.path(STORE)).expect("a store");
    let soon = Timestamp::now().after(Duration::from_secs(4)).0;
    let update = "UPDATE questions SET expires_ms = ?1";
    assert_eq!(database.execute(update, [soon]).expect("a question"), 1);
    drop(database);
    let mut client = Modern::new(&desk, "modern");
    let arguments = json!({ "run": run });
    let asked = client.call("continue_program", &arguments, &json!({})).expect("a result");
    let state = asked["requestState"].as_str().expect("a state").to_owned();
    let is_closed = || desk.question_state(&item) != QuestionState::Open;
    assert!(wait_until(TIMEOUT, is_closed));
    let approve = json!({ "action": "accept", "content": { "call_1": "approve" } });
    let stale = client.call("continue_program", &arguments, &reply(&state, &approve));
    let error = stale.expect_err("it is refused");
    let message = format!("the requestState has expired: call continue_program with run \"{run}\"");
    assert!(error.message.contains(&message), "{error:?}");
    assert_eq!(desk.deletions(), 0);
}
