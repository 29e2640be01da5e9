//! Runs that outlive their gateway: it is killed or lets them go, and another one continues them.

use std::time::Duration;

use onecall_core::storage::{AnswerReceipt, DurableState, Journals as _, LONGEST_CLOCK_ERROR};
use onecall_core::{ApprovalScope, QuestionKind, RunId, Timestamp, Verdict};
use serde_json::{Value, json};
use testkit::mcp::ToolAnswer;
use testkit::process::wait_until;

use super::{Agent, DELETE_ONE, DELETED_ONE, Desk, files, waiting_run};
use crate::support::{TIMEOUT, fixture, has_system_python};

/// How long a run of a killed gateway may take to be taken up: its lease has to end first.
const TAKEN_UP: Duration = Duration::from_secs(60);

/// Continues a run until it has ended.
fn finish(agent: &mut Agent, run: &str) -> ToolAnswer {
    let mut answer = agent.resume(run);
    wait_until(TAKEN_UP, || {
        let waits = answer.text.starts_with("[Script waiting");
        if waits {
            answer = agent.resume(run);
        }
        !waits
    });
    answer
}

#[test]
fn a_run_survives_the_death_of_its_gateway() {
    let desk = Desk::new(&json!({ "wait_seconds": 1 }));
    let mut agent = desk.agent();
    let run = waiting_run(&agent.execute(
        r#"
        first = await mcp__files__delete(path="/a")
        print(first, await mcp__files__read(path="/a"))
        print(await mcp__files__delete(path="/b"))
        "#,
    ));
    desk.approve(&desk.open_item());
    assert!(wait_until(TIMEOUT, || desk.deletions() == 1));
    let second = desk.open_item();
    agent.0.client().kill();
    assert_eq!(desk.state(&run), DurableState::Waiting);
    let mut agent = desk.agent();
    assert_eq!(waiting_run(&agent.resume(&run)), run);
    desk.approve(&second);
    let answer = finish(&mut agent, &run);
    assert_eq!(answer.text, "[Script executed successfully]\ndeleted read\ndeleted\n");
    assert_eq!((desk.deletions(), desk.received.calls("read")), (2, 1));
}

#[test]
fn a_run_that_waits_long_needs_no_worker() {
    let desk = Desk::new(&json!({ "wait_seconds": 0, "keep_seconds": 0 }));
    let mut agent = desk.agent();
    let run = waiting_run(&agent.execute(DELETE_ONE));
    let id = RunId::from_existing(&run);
    let is_let_go =
        || desk.store().durable_run(&id).is_ok_and(|it| it.is_some_and(|it| it.lease.is_none()));
    assert!(wait_until(TIMEOUT, is_let_go));
    let item = desk.open_item();
    assert_eq!(waiting_run(&agent.resume(&run)), run);
    desk.approve(&item);
    desk.wait_until_ended(&run);
    assert_eq!(agent.resume(&run).text, DELETED_ONE);
    assert_eq!(desk.deletions(), 1);
}

/// The lease of the killed gateway seems to last for two days more.
#[test]
fn a_clock_that_was_set_back_delays_no_run() {
    let desk = Desk::new(&json!({ "wait_seconds": 0 }));
    let mut agent = desk.agent();
    let run = waiting_run(&agent.execute(DELETE_ONE));
    agent.0.client().kill();
    let stored = desk.only_run();
    let (lease, length) = (stored.lease.expect("a lease"), Duration::from_secs(15));
    let later = Timestamp::now().after(2 * LONGEST_CLOCK_ERROR);
    let store = desk.store();
    let lost = store.renew_leases(&[(stored.id, lease.fence)], later, length).expect("a store");
    assert_eq!(lost, []);
    let runs = crate::support::finish(desk.home.onecall_with_config(&["runs"]));
    assert!(!runs.stdout.contains("running"), "{}", runs.stdout);
    desk.approve(&desk.open_item());
    let mut agent = desk.agent();
    assert_eq!(finish(&mut agent, &run).text, DELETED_ONE);
    assert_eq!(desk.deletions(), 1);
}

/// Two megabytes from a server, which the continued program gets from its journal.
#[test]
fn a_large_value_survives_its_gateway() {
    let log = tempfile::NamedTempFile::new().expect("a file");
    let path = log.path().display().to_string();
    let desk = Desk::new(&json!({ "wait_seconds": 0 }));
    let servers = [files(&desk.home.text_path("received")), fixture("fixture", &["--log", &path])];
    let approvals = json!({ "ask": ["mcp__files__delete"], "wait_seconds": 0 });
    desk.home.replace_config(&json!({ "servers": servers, "approvals": approvals }));
    let mut agent = desk.agent();
    let run = waiting_run(&agent.execute(
        r#"
        import hashlib
        value = await mcp__fixture__echo(value="".join(chr(97 + i * i % 26) for i in range(2_000_000)))
        print(len(value), hashlib.sha256(value.encode()).hexdigest()[:8])
        print(await mcp__files__delete(path="/a"))
        print(len(value), hashlib.sha256(value.encode()).hexdigest()[:8])
        "#,
    ));
    agent.0.client().kill();
    desk.end_leases();
    desk.approve(&desk.open_item());
    let text = finish(&mut desk.agent(), &run).text;
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let [before, "deleted", after] = lines[..] else { panic!("{text}") };
    assert!(before == after && before.starts_with("2000000 "), "{text}");
    let sent = std::fs::read_to_string(log.path()).expect("a log");
    assert_eq!((sent.matches("tools/call").count(), desk.deletions()), (1, 1));
}

#[test]
fn two_gateways_share_a_store() {
    let desk = Desk::new(&json!({ "wait_seconds": 1 }));
    let (mut one, mut other) = (desk.agent(), desk.agent());
    let run = waiting_run(&one.execute(DELETE_ONE));
    assert_eq!(waiting_run(&other.resume(&run)), run);
    desk.approve(&desk.open_item());
    desk.wait_until_ended(&run);
    assert_eq!(other.resume(&run).text, DELETED_ONE);
    assert_eq!(one.resume(&run).text, DELETED_ONE);
    assert_eq!(desk.deletions(), 1);
}

#[test]
fn a_gateway_that_ends_leaves_its_waiting_runs_to_the_next_one() {
    let desk = Desk::new(&json!({ "wait_seconds": 0 }));
    let mut agent = desk.agent();
    let run = waiting_run(&agent.execute(DELETE_ONE));
    let item = desk.open_item();
    agent.0.client().close_stdin();
    assert!(agent.0.client().wait(TIMEOUT).is_some());
    desk.approve(&item);
    let mut agent = desk.agent();
    desk.wait_until_ended(&run);
    assert_eq!(agent.resume(&run).text, DELETED_ONE);
    assert_eq!(desk.deletions(), 1);
}

#[test]
fn a_call_whose_outcome_is_unknown_is_not_repeated() {
    let desk = Desk::with_config(&json!({ "wait_seconds": 0 }), &json!({ "durable": true }));
    let mut agent = desk.agent();
    let call = agent.start(
        r#"
        await mcp__files__read(path="/a")
        print(await mcp__files__stuck(path="/a"))
        print(await mcp__files__read(path="/b"))
        "#,
    );
    desk.received.wait_for_call("stuck");
    let run = desk.store().durable_runs(false).expect("a store").remove(0).id;
    agent.0.client().kill();
    drop((agent, call));
    let mut agent = desk.agent();
    // The lease of the killed gateway has to end first.
    let answer = agent.resume(run.as_str());
    assert_eq!(waiting_run(&answer), run.as_str());
    let line = answer.text.lines().nth(2).expect("a call");
    assert!(line.contains("it may have happened or not"), "{line}");
    let question = desk.open_questions(1).remove(0).question;
    assert_eq!(question.kind, QuestionKind::Unknown);
    let happened = Verdict::Happened { result: json!("done before") };
    assert_eq!(desk.answer(&question.item, happened), AnswerReceipt::Accepted);
    desk.wait_until_ended(run.as_str());
    assert_eq!(
        agent.resume(run.as_str()).text,
        "[Script executed successfully]\ndone before\nread\n"
    );
    assert_eq!((desk.received.calls("stuck"), desk.received.calls("read")), (1, 2));
}

#[test]
fn a_call_with_edited_arguments_is_asked_about_and_repeated_with_them() {
    let desk = Desk::new(&json!({ "wait_seconds": 0, "ask": ["mcp__files__stuck"] }));
    let mut agent = desk.agent();
    let run = waiting_run(&agent.execute("print(await mcp__files__stuck(path='/a'))"));
    let arguments = Some(json!({ "path": "/edited" }));
    let edited = Verdict::Approve { scope: ApprovalScope::Once, arguments };
    assert_eq!(desk.answer(&desk.open_item(), edited), AnswerReceipt::Accepted);
    desk.received.wait_for_call("stuck");
    agent.0.client().kill();
    let mut agent = desk.agent();
    // The lease of the killed gateway has to end first.
    let answer = agent.resume(&run);
    let line = answer.text.lines().nth(2).expect("a call");
    assert!(line.ends_with(r#": {"path":"/edited"}"#), "{line}");
    let question = desk.open_questions(1).remove(0).question;
    assert_eq!(question.arguments, r#"{"path":"/edited"}"#);
    assert_eq!(desk.answer(&question.item, Verdict::NotHappened), AnswerReceipt::Accepted);
    assert!(wait_until(TIMEOUT, || desk.received.calls("stuck") == 2));
    let messages = desk.received.messages();
    let sent = messages.iter().filter(|message| message["params"]["name"] == "stuck");
    assert!(sent.clone().all(|it| it["params"]["arguments"] == json!({ "path": "/edited" })));
}

#[test]
fn a_run_whose_engine_is_gone_says_so() {
    if !has_system_python() {
        return;
    }
    let config = json!({ "engine": "cpython" });
    let desk = Desk::with_config(&json!({ "wait_seconds": 0 }), &config);
    let mut agent = desk.agent();
    let run = waiting_run(&agent.execute(DELETE_ONE));
    agent.0.client().close_stdin();
    assert!(agent.0.client().wait(TIMEOUT).is_some());
    let config = std::fs::read_to_string(desk.home.path("config.json")).expect("a configuration");
    let mut config: Value = serde_json::from_str(&config).expect("JSON");
    super::extend(&mut config, &json!({ "engine": "auto", "python": "/nowhere/python" }));
    desk.home.write("config.json", config.to_string());
    desk.approve(&desk.open_item());
    let answer = finish(&mut desk.agent(), &run);
    assert!(answer.is_error);
    for part in ["the run began on 'cpython' (Python 3.", "/nowhere/python", "as a new run"] {
        assert!(answer.text.contains(part), "{}", answer.text);
    }
    assert_eq!(desk.deletions(), 0);
}

#[test]
fn a_run_of_a_session_ends_with_its_gateway() {
    let desk = Desk::new(&json!({ "wait_seconds": 0 }));
    let mut agent = desk.agent();
    let arguments = json!({ "code": crate::support::dedent(DELETE_ONE), "session": "s" });
    let answer = agent.0.call_tool("execute_program", arguments);
    let run = waiting_run(&answer);
    let only_here = "This run can only be continued while this onecall runs, because the program \
                     belongs to a session.";
    assert!(answer.text.ends_with(only_here), "{}", answer.text);
    desk.approve(&desk.open_item());
    desk.wait_until_ended(&run);
    let arguments = json!({ "code": crate::support::dedent(DELETE_ONE), "session": "s" });
    let run = waiting_run(&agent.0.call_tool("execute_program", arguments));
    let item = desk.open_item();
    agent.0.client().close_stdin();
    assert!(agent.0.client().wait(TIMEOUT).is_some());
    desk.approve(&item);
    let mut agent = desk.agent();
    let answer = finish(&mut agent, &run);
    assert!(answer.is_error && answer.text.contains("belongs to a session"), "{}", answer.text);
    assert_eq!(desk.deletions(), 1);
}
