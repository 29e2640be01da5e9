//! Answers of people, and what programs make of them.

use std::thread;
use std::time::{Duration, Instant};

use onecall_core::storage::{AnswerReceipt, QuestionState};
use onecall_core::{ApprovalScope, ApprovalWay, ItemId, Verdict};
use serde_json::{Value, json};

use super::{DELETE_ONE, DELETED_ONE, Desk, approval, waiting_run};
use crate::support::finish;

#[test]
fn a_call_is_made_when_a_person_approves_it() {
    let desk = Desk::new(&json!({}));
    let mut agent = desk.agent();
    let call = agent.start(DELETE_ONE);
    let question = desk.open_questions(1).remove(0).question;
    assert_eq!(
        (
            question.name.as_str(),
            question.line,
            question.arguments.as_str(),
            question.rule.as_str()
        ),
        ("mcp__files__delete", Some(2), r#"{"path":"/a"}"#, "approvals.ask: mcp__files__delete")
    );
    assert_eq!(desk.deletions(), 0);
    let answered = Instant::now();
    desk.approve(&question.item);
    assert_eq!(agent.0.finish_call(call).text, DELETED_ONE);
    assert!(answered.elapsed() < Duration::from_secs(5), "{:?}", answered.elapsed());
    assert_eq!(desk.deletions(), 1);
}

#[test]
fn an_answer_on_the_command_line_reaches_the_request_that_waits() {
    let desk = Desk::new(&json!({}));
    let mut agent = desk.agent();
    let call = agent.start(DELETE_ONE);
    let item = desk.open_item();
    let answered = desk.home.onecall_with_config(&["approvals", "approve", item.as_str()]);
    let ended = finish(answered);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(agent.0.finish_call(call).text, DELETED_ONE);
}

#[test]
fn hints_of_servers_decide_what_asks() {
    for (hint, read_asks) in [("destructive", false), ("writes", false), ("open-world", true)] {
        let desk = Desk::new(&json!({ "wait_seconds": 0, "ask": [], "hints": [hint] }));
        let mut agent = desk.agent();
        for (tool, asks) in [("delete", true), ("read", read_asks)] {
            let answer = agent.execute(&format!("print(await mcp__files__{tool}(path='/a'))"));
            if !asks {
                assert_eq!(answer.text, "[Script executed successfully]\nread\n", "{hint}");
                continue;
            }
            let run = waiting_run(&answer);
            let asked = desk.open_questions(1).remove(0).question;
            assert_eq!(asked.rule, format!("approvals.hints: {hint}"));
            desk.deny(&asked.item, "no");
            desk.wait_until_ended(&run);
        }
        assert_eq!(desk.deletions(), 0);
    }
}

#[test]
fn a_dry_run_says_which_calls_would_ask() {
    let desk = Desk::new(&json!({ "hints": ["destructive"] }));
    let mut agent = desk.agent();
    let code = r#"
        await mcp__files__delete(path="/a")
        await mcp__files__stuck(path="/a")
        await mcp__files__read(path="/a")
    "#;
    let arguments = json!({ "code": crate::support::dedent(code), "dry_run": true });
    insta::assert_snapshot!(agent.0.call_tool("execute_program", arguments).text, @r"
    [Dry run: nothing was executed]
    mcp__files__delete: changes something, perhaps destructive; at most once, line 1; asks a person first (approvals.ask: mcp__files__delete)
    mcp__files__read: read-only; at most once, line 3
    mcp__files__stuck: changes something, perhaps destructive; at most once, line 2; asks a person first (approvals.hints: destructive)
    ");
    assert_eq!((desk.deletions(), desk.open_questions(0).len()), (0, 0));
}

#[test]
fn edited_arguments_are_checked_like_those_of_the_program() {
    let desk = Desk::new(&json!({}));
    let mut agent = desk.agent();
    for arguments in [json!({ "path": 7 }), json!({ "path": ["/a"] })] {
        let call = agent.start(DELETE_ONE);
        let arguments = Some(arguments);
        let edited = Verdict::Approve { scope: ApprovalScope::Once, arguments };
        assert_eq!(desk.answer(&desk.open_item(), edited), AnswerReceipt::Accepted);
        let answer = agent.0.finish_call(call);
        assert!(answer.is_error && answer.text.contains("mcp__files__delete"), "{}", answer.text);
        assert_eq!(desk.deletions(), 0);
    }
}

#[test]
fn an_agent_that_does_not_wait_reads_how_to_go_on() {
    let desk = Desk::new(&json!({ "wait_seconds": 0 }));
    let mut agent = desk.agent();
    let answer = agent.execute(DELETE_ONE);
    let run = waiting_run(&answer);
    insta::assert_snapshot!(answer.text.replace(&run, "RUN"));
    assert_eq!(waiting_run(&agent.resume(&run)), run);
    desk.approve(&desk.open_item());
    desk.wait_until_ended(&run);
    for _ in 0..2 {
        let answer = agent.resume(&run);
        assert_eq!((answer.text.as_str(), answer.is_error), (DELETED_ONE, false));
    }
    assert_eq!(desk.deletions(), 1);
}

#[test]
fn continuing_waits_for_the_answer() {
    let desk = Desk::new(&json!({ "wait_seconds": 1 }));
    let mut agent = desk.agent();
    let run = waiting_run(&agent.execute(DELETE_ONE));
    let item = desk.open_item();
    let call = agent.0.start_call("continue_program", json!({ "run": run }));
    desk.approve(&item);
    assert_eq!(agent.0.finish_call(call).text, DELETED_ONE);
}

#[test]
fn a_program_can_catch_a_denial() {
    let desk = Desk::new(&json!({}));
    let mut agent = desk.agent();
    let call = agent.start(
        r#"
        try:
            await mcp__files__delete(path="/a")
        except ToolError as error:
            print(error)
        print(await mcp__files__read(path="/a"))
        "#,
    );
    desk.deny(&desk.open_item(), "it is still needed");
    assert_eq!(
        agent.0.finish_call(call).text,
        "[Script executed successfully]\n\
         'mcp__files__delete' was denied: it is still needed\nread\n"
    );
    assert_eq!(desk.deletions(), 0);
}

#[test]
fn parallel_calls_are_one_question() {
    let desk = Desk::new(&json!({ "wait_seconds": 1 }));
    let mut agent = desk.agent();
    let answer = agent.execute(
        r#"
        import asyncio
        calls = [mcp__files__delete(path=f"/{name}") for name in "abc"]
        print(await asyncio.gather(*calls, return_exceptions=True))
        "#,
    );
    let run = waiting_run(&answer);
    let lines: Vec<&str> = answer.text.lines().skip(2).take(3).collect();
    let line = |name| format!(r#"mcp__files__delete, line 2: {{"path":"/{name}"}}"#);
    assert_eq!(lines, [line("a"), line("b"), line("c")]);
    let items: Vec<ItemId> =
        desk.open_questions(3).into_iter().map(|it| it.question.item).collect();
    desk.approve(&items[0]);
    desk.deny(&items[1], "no");
    desk.approve(&items[2]);
    assert_eq!(
        agent.resume(&run).text,
        "[Script executed successfully]\n\
         ['deleted', ToolError(\"'mcp__files__delete' was denied: no\"), 'deleted']\n"
    );
    assert_eq!(desk.deletions(), 2);
}

#[test]
fn time_stands_still_while_a_person_is_awaited() {
    let desk = Desk::with_config(&json!({}), &json!({ "execution": { "timeout_seconds": 2 } }));
    let mut agent = desk.agent();
    let call = agent.start(
        r#"
        import asyncio
        print(await asyncio.wait_for(mcp__files__delete(path="/a"), 0.5))
        "#,
    );
    let item = desk.open_item();
    thread::sleep(Duration::from_secs(3));
    desk.approve(&item);
    assert_eq!(agent.0.finish_call(call).text, "[Script executed successfully]\ndeleted\n");
}

#[test]
fn a_call_that_its_program_cancels_asks_no_more() {
    let desk = Desk::new(&json!({}));
    let mut agent = desk.agent();
    let call = agent.start(
        r#"
        import asyncio
        task = asyncio.create_task(mcp__files__delete(path="/a"))
        for _ in range(20):
            await mcp__files__read(path="/a")
        task.cancel()
        print(await mcp__files__delete(path="/b"))
        "#,
    );
    let mut second = None;
    testkit::process::wait_until(crate::support::TIMEOUT, || {
        let open = desk.open_questions(1).remove(0).question;
        second = (open.arguments == r#"{"path":"/b"}"#).then_some(open.item);
        second.is_some()
    });
    desk.approve(&second.expect("the second call asks"));
    assert_eq!(agent.0.finish_call(call).text, "[Script executed successfully]\ndeleted\n");
    assert_eq!(desk.deletions(), 1);
}

#[test]
fn the_first_of_two_answers_counts() {
    let desk = Desk::new(&json!({}));
    let mut agent = desk.agent();
    let call = agent.start(DELETE_ONE);
    let item = desk.open_item();
    let receipts: Vec<AnswerReceipt> = thread::scope(|scope| {
        let answer = || desk.answer(&item, approval());
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(answer)).collect();
        threads.into_iter().map(|thread| thread.join().expect("an answer")).collect()
    });
    let accepted = receipts.iter().filter(|it| **it == AnswerReceipt::Accepted).count();
    assert_eq!(accepted, 1, "{receipts:?}");
    assert_eq!(agent.0.finish_call(call).text, DELETED_ONE);
    assert_eq!(desk.deletions(), 1);
}

#[test]
fn an_approval_can_cover_later_calls_of_the_run() {
    let desk = Desk::new(&json!({}));
    let mut agent = desk.agent();
    let call = agent.start(
        r#"
        for name in "abc":
            print(await mcp__files__delete(path=name))
        "#,
    );
    let verdict = Verdict::Approve { scope: ApprovalScope::Run, arguments: None };
    assert_eq!(desk.answer(&desk.open_item(), verdict), AnswerReceipt::Accepted);
    assert_eq!(
        agent.0.finish_call(call).text,
        "[Script executed successfully]\ndeleted\ndeleted\ndeleted\n"
    );
    assert_eq!(desk.deletions(), 3);
    let next = agent.start(DELETE_ONE);
    desk.deny(&desk.open_item(), "another run asks again");
    assert!(agent.0.finish_call(next).is_error);
}

#[test]
fn a_person_can_change_the_arguments() {
    let desk = Desk::new(&json!({}));
    let mut agent = desk.agent();
    let call = agent.start(DELETE_ONE);
    let arguments = Some(json!({ "path": "/other" }));
    let verdict = Verdict::Approve { scope: ApprovalScope::Once, arguments };
    assert_eq!(desk.answer(&desk.open_item(), verdict), AnswerReceipt::Accepted);
    assert_eq!(agent.0.finish_call(call).text, DELETED_ONE);
    let sent = desk.received.wait_for_call("delete");
    assert_eq!(sent["params"]["arguments"], json!({ "path": "/other" }));
}

#[test]
fn runs_that_ended_or_never_were_are_told_apart() {
    let desk = Desk::new(&json!({ "wait_seconds": 0 }));
    let mut agent = desk.agent();
    let run = waiting_run(&agent.execute(DELETE_ONE));
    let item = desk.open_item();
    desk.deny(&item, "no");
    desk.wait_until_ended(&run);
    assert!(matches!(desk.answer(&item, approval()), AnswerReceipt::AlreadyAnswered(_)));
    let unknown = agent.resume("01nosuchrun000");
    assert!(unknown.is_error);
    assert_eq!(
        unknown.text,
        "[Script execution failed]\n\
         there is no run '01nosuchrun000' that waited for approval or could be continued"
    );
    let missing = agent.0.call_tool("continue_program", json!({}));
    assert_eq!(missing.text, "[Script execution failed]\ncontinue_program: 'run' is missing");
    assert!(matches!(desk.question_state(&item), QuestionState::Answered(_)));
}

#[test]
fn programs_that_cannot_ask_are_not_stored() {
    let desk = Desk::new(&json!({}));
    let mut agent = desk.agent();
    let answer = agent.execute(r#"print(await mcp__files__read(path="/a"))"#);
    assert_eq!(answer.text, "[Script executed successfully]\nread\n");
    use onecall_core::storage::Journals as _;
    assert_eq!(desk.store().durable_runs(true).expect("a store"), []);
}

#[test]
fn plans_and_exposed_tools_wait_as_well() {
    let desk = Desk::with_config(
        &json!({ "wait_seconds": 0 }),
        &json!({ "expose_tools": ["mcp__files__delete"] }),
    );
    let mut agent = desk.agent();
    let plan = json!({ "target_tool": "mcp__files__delete", "tool_args": { "path": "/a" } });
    for (tool, arguments) in [("proxy", plan), ("mcp__files__delete", json!({ "path": "/b" }))] {
        let answer = agent.0.call_tool(tool, arguments);
        let run = waiting_run(&answer);
        desk.approve(&desk.open_item());
        desk.wait_until_ended(&run);
        let answer = agent.resume(&run);
        assert_eq!((answer.text.as_str(), answer.is_error), ("deleted", false));
    }
    assert_eq!(desk.deletions(), 2);
}

/// Clients refuse an answer without the structured content that a schema promises.
#[test]
fn exposed_tools_that_may_wait_promise_no_structured_content() {
    let exposed = json!({ "expose_tools": ["mcp__files__delete", "mcp__files__read"] });
    let desk = Desk::with_config(&json!({ "wait_seconds": 0 }), &exposed);
    let config = std::fs::read_to_string(desk.home.path("config.json")).expect("a configuration");
    let mut config: Value = serde_json::from_str(&config).expect("JSON");
    let script = &mut config["servers"][0]["args"][1];
    let mut typed: Value = serde_json::from_str(script.as_str().expect("text")).expect("JSON");
    for tool in typed["tools"].as_array_mut().expect("tools") {
        tool["outputSchema"] = json!({ "type": "object", "required": ["result"] });
    }
    *script = json!(typed.to_string());
    desk.home.write("config.json", config.to_string());
    let mut agent = desk.agent();
    let has_schema = |tool: &Value| (tool["name"].clone(), tool["outputSchema"].is_object());
    let listed: Vec<_> = agent.0.list_tools().iter().map(has_schema).collect();
    assert!(listed.contains(&(json!("mcp__files__delete"), false)), "{listed:?}");
    assert!(listed.contains(&(json!("mcp__files__read"), true)), "{listed:?}");
    waiting_run(&agent.0.call_tool("mcp__files__delete", json!({ "path": "/a" })));
}

#[test]
fn another_configuration_gives_the_command_line_no_say() {
    let desk = Desk::new(&json!({ "ways": ["client"] }));
    let mut agent = desk.agent();
    let call = agent.start(DELETE_ONE);
    let item = desk.open_item();
    let other = desk.home.write("other.json", r#"{"servers":[]}"#);
    let other = other.to_str().expect("a path");
    for answer in ["approve", "deny"] {
        let ended = finish(desk.home.onecall(&["--config", other, "approvals", answer, "--all"]));
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains("does not accept answers on the command line"), "{ended:?}");
    }
    assert_eq!(desk.question_state(&item), QuestionState::Open);
    assert_eq!(desk.deletions(), 0);
    desk.answer_by(&item, approval(), ApprovalWay::Client);
    assert_eq!(agent.0.finish_call(call).text, DELETED_ONE);
}

#[test]
fn the_tool_to_continue_is_shown_only_where_calls_can_wait() {
    let names = |desk: &Desk| desk.agent().0.tool_names();
    let with = names(&Desk::new(&json!({})));
    let without = Desk::new(&json!({}));
    let config = json!({ "servers": [super::files(&without.home.text_path("received"))] });
    without.home.write("config.json", config.to_string());
    let without = names(&without);
    assert_eq!(with.last().map(String::as_str), Some("continue_program"));
    assert_eq!(with[..with.len() - 1], without);
}
