//! Programs whose calls a person decides about.

use std::sync::Arc;
use std::time::Duration;

use onecall_core::{
    ApprovalScope, Language, Outcome, Program, QuestionKind, SessionRequest, Verdict,
};
use serde_json::json;

use super::desk::{Desk, approve, deny};
use super::world::Process;

fn typescript(code: &str) -> Program {
    Program { language: Language::TypeScript, ..Program::new(code) }
}

fn printed(outcome: &Outcome) -> &str {
    assert_eq!(outcome.result, Ok(()), "{}", outcome.stdout.text);
    &outcome.stdout.text
}

#[tokio::test]
async fn an_approved_call_is_made() {
    for program in [
        Program::new("x = await mcp__s__delete(id=1)\nprint(x['id'])"),
        typescript("const x = await mcp__s__delete({id: 1});\nconsole.log(x.id)"),
    ] {
        let process = Process::new(Desk::default());
        let answer = async {
            let questions = process.desk.asked(1).await;
            assert_eq!(process.tools.effects(), Vec::<serde_json::Value>::new());
            // The journal up to the question is on disk.
            assert!(process.store.events().iter().any(|it| super::world::word(it) == "called 1"));
            process.desk.answer(&questions[0].item, approve());
            questions
        };
        let (outcome, questions) = tokio::join!(process.run(&program), answer);
        assert_eq!(printed(&outcome), "1\n");
        assert_eq!(process.tools.effects(), [json!(1)]);
        let question = &questions[0];
        assert_eq!(
            (question.kind, question.name.as_str(), question.arguments.as_str()),
            (QuestionKind::Approve, "mcp__s__delete", r#"{"id":1}"#)
        );
        assert_eq!(question.rule, "approvals.ask: *delete*");
        assert_eq!(question.expires.since(question.asked), Duration::from_secs(60));
        assert_eq!(process.desk.withdrawn(), []);
    }
}

#[tokio::test]
async fn a_program_can_catch_a_denial() {
    let process = Process::new(Desk::always(deny("not today")));
    let code = "try:\n    await mcp__s__delete(id=1)\nexcept ToolError as error:\n    print(error)";
    let outcome = process.run(&Program::new(code)).await;
    assert_eq!(printed(&outcome), "'mcp__s__delete' was denied: not today\n");
    assert_eq!(process.tools.effects(), Vec::<serde_json::Value>::new());
    let words = process.journal_words().await;
    assert!(!words.contains(&"sent 1".to_owned()), "{words:?}");
}

#[tokio::test]
async fn edited_arguments_are_checked_again() {
    let edited =
        |arguments| Verdict::Approve { scope: ApprovalScope::Once, arguments: Some(arguments) };
    let code = "try:\n    print((await mcp__s__delete(id=1))['id'])\nexcept ToolError as e:\n    print(str(e).splitlines()[0])";
    for (arguments, expected, effects) in [
        (json!({ "id": 2 }), "2\n", vec![json!(2)]),
        (
            json!({ "id": "two" }),
            "'mcp__s__delete' failed: it was not called, because its arguments do not fit:\n",
            vec![],
        ),
        (
            json!([2]),
            "'mcp__s__delete' failed: it was not called, because the edited arguments are no object\n",
            vec![],
        ),
    ] {
        let process = Process::new(Desk::always(edited(arguments)));
        let outcome = process.run(&Program::new(code)).await;
        assert_eq!(printed(&outcome), expected);
        assert_eq!(process.tools.effects(), effects);
    }
}

#[tokio::test]
async fn a_person_is_not_asked_about_arguments_that_cannot_fit() {
    let process = Process::new(Desk::default());
    let code = "ids = ['one']\ntry:\n    await mcp__s__delete(id=ids[0])\nexcept ToolError:\n    print('no')";
    let outcome = process.run(&Program::new(code)).await;
    assert_eq!(printed(&outcome), "no\n");
    assert_eq!(process.desk.questions(), []);
}

#[tokio::test]
async fn an_earlier_approval_covers_a_call() {
    let process = Process::new(Desk::default());
    *process.desk.covers.lock().unwrap() = Some(r#"{"id":1}"#.to_owned());
    let outcome = process.run(&Program::new("print((await mcp__s__delete(id=1))['id'])")).await;
    assert_eq!(printed(&outcome), "1\n");
    assert_eq!(process.desk.questions(), []);
}

#[tokio::test]
async fn a_cancelled_call_withdraws_its_question() {
    let process = Process::new(Desk::default());
    process.tools.gate.send_replace(false);
    let code = "import asyncio
task = asyncio.create_task(mcp__s__delete(id=1))
await mcp__s__slow_read(id=2)
task.cancel()
await mcp__s__read(id=3)
print('done')";
    let answer = async {
        let questions = process.desk.asked(1).await;
        process.tools.gate.send_replace(true);
        process.desk.has_withdrawn().await;
        questions
    };
    let program = Program::new(code);
    let (outcome, questions) = tokio::join!(process.run(&program), answer);
    assert_eq!(printed(&outcome), "done\n");
    assert_eq!(process.desk.withdrawn(), [questions[0].item.clone()]);
    assert_eq!(process.tools.effects(), Vec::<serde_json::Value>::new());
    let call = questions[0].call;
    assert!(process.journal_words().await.contains(&format!("cancelled {call}")));
}

/// Calls that wait for a person leave room for others, although one call is made at a time.
#[tokio::test]
async fn three_calls_wait_at_once_and_leave_room_for_another() {
    let process = Process::new(Desk::default());
    let code = "import asyncio
ids = await asyncio.gather(*(mcp__s__delete(id=i) for i in (1, 2, 3)), mcp__s__read(id=4))
print([it['id'] for it in ids])";
    let answer = async {
        let questions = process.desk.asked(3).await;
        while process.tools.reads() == 0 {
            tokio::task::yield_now().await;
        }
        questions.iter().for_each(|question| process.desk.answer(&question.item, approve()));
    };
    let program = Program::new(code);
    let (outcome, ()) = tokio::join!(process.run(&program), answer);
    assert_eq!(printed(&outcome), "[1, 2, 3, 4]\n");
    let mut effects: Vec<i64> =
        process.tools.effects().iter().filter_map(serde_json::Value::as_i64).collect();
    effects.sort_unstable();
    assert_eq!(effects, [1, 2, 3]);
}

#[tokio::test]
async fn the_wait_does_not_count_against_the_time_limit() {
    let limit = Duration::from_millis(1500);
    let process = Process::new(Desk::default());
    let program = Program {
        timeout: Some(limit),
        ..Program::new("print((await mcp__s__delete(id=1))['id'])")
    };
    let answer = async {
        let questions = process.desk.asked(1).await;
        tokio::time::sleep(limit + Duration::from_millis(500)).await;
        process.desk.answer(&questions[0].item, approve());
    };
    let (outcome, ()) = tokio::join!(process.run(&program), answer);
    assert_eq!(printed(&outcome), "1\n");
}

#[tokio::test]
async fn a_run_that_waits_is_continued_by_another_process() {
    for program in [
        Program::new(
            "a = await mcp__s__pay(id=1)\nb = await mcp__s__delete(id=2)\nprint(a['id'], b['id'])",
        ),
        typescript(
            "const a = await mcp__s__pay({id: 1});\nconst b = await mcp__s__delete({id: 2});\nconsole.log(a.id, b.id)",
        ),
    ] {
        let process = Process::new(Desk::default());
        tokio::select! {
            outcome = process.run(&program) => panic!("it did not wait: {outcome:?}"),
            _ = process.desk.asked(1) => {}
        }
        // The future of the run was dropped, and its question stays open.
        assert_eq!(process.desk.withdrawn(), []);
        let words = process.journal_words().await;
        assert!(!words.iter().any(|it| it.starts_with("cancelled")), "{words:?}");
        let next = process.killed().await;
        assert!(next.journal.is_resumed() && !next.journal.is_live());
        let item = next.desk.questions()[0].item.clone();
        next.desk.answer(&item, approve());
        let outcome = next.run(&program).await;
        assert_eq!(printed(&outcome), "1 2\n");
        assert_eq!(next.tools.effects(), [json!(1), json!(2)]);
        assert!(next.desk.questions().iter().all(|question| question.item == item));
    }
}

#[tokio::test]
async fn a_call_under_way_is_asked_about_and_each_attempt_anew() {
    let program = Program::new("print((await mcp__s__slow_pay(id=1))['id'])");
    let mut process = Process::new(Desk::default());
    process.tools.gate.send_replace(false);
    for attempt in 1..=3_usize {
        tokio::select! {
            outcome = process.run(&program) => panic!("it did not wait: {outcome:?}"),
            _ = async {
                let tools = &process.tools;
                tools.at_gate.subscribe().wait_for(|count| *count >= attempt).await.unwrap();
            } => {}
            _ = async {
                let questions = process.desk.asked(attempt).await;
                assert_eq!(questions[attempt - 1].kind, QuestionKind::Unknown);
            } => {}
        }
        assert_eq!(process.tools.effects().len(), attempt, "each effect was decided");
        process = process.killed().await;
        let attempts = format!("run1.1.{attempt}");
        let item = onecall_core::ItemId::known(attempts);
        match attempt {
            // The person says twice that the call did not happen, and then that it did.
            1 | 2 => process.desk.answer(&item, Verdict::NotHappened),
            _ => process.desk.answer(&item, Verdict::Happened { result: json!({ "id": 7 }) }),
        }
    }
    let outcome = process.run(&program).await;
    assert_eq!(printed(&outcome), "7\n");
    assert_eq!(process.tools.effects().len(), 3);
}

#[tokio::test]
async fn repeatable_calls_under_way_are_made_again_without_a_question() {
    for (name, effects) in [("slow_read", 0), ("put", 1)] {
        let program = Program::new(format!("print((await mcp__s__{name}(id=1))['id'])"));
        let process = Process::new(Desk::default());
        let (calls, ended) = {
            let outcome = process.run(&program).await;
            assert_eq!(printed(&outcome), "1\n");
            process.journal.sync().await.unwrap();
            let events = process.store.events().clone();
            let end = events.iter().position(|it| super::world::word(it) == "ended 1").unwrap();
            (events[..end].to_vec(), events.len())
        };
        assert!(calls.len() < ended);
        let store = super::store::MemoryStore::with(&calls);
        let next = Process::with(Arc::default(), process.desk, store);
        assert_eq!(printed(&next.run(&program).await), "1\n");
        assert_eq!((next.tools.effects().len(), next.desk.questions().len()), (effects, 0));
    }
}

#[tokio::test]
async fn a_run_can_be_given_up() {
    let program = Program::new("print((await mcp__s__slow_pay(id=1))['id'])");
    let process = Process::new(Desk::always(Verdict::GiveUp));
    process.tools.gate.send_replace(false);
    tokio::select! {
        outcome = process.run(&program) => panic!("it did not wait: {outcome:?}"),
        _ = async { process.tools.at_gate.subscribe().wait_for(|it| *it > 0).await.unwrap(); } => {}
    }
    let next = process.killed().await;
    let outcome = next.run(&program).await;
    let text = outcome.result.unwrap_err().to_string();
    assert!(
        text.starts_with("GivenUp: ada gave the run up when it was asked about 'mcp__s__slow_pay'"),
        "{text}"
    );
    assert_eq!(next.tools.effects().len(), 1);
}

#[tokio::test]
async fn questions_of_a_program_are_journalled() {
    let program = Program::new("print(tools.search('x'))\nawait mcp__s__delete(id=1)");
    let process = Process::new(Desk::always(approve()));
    let outcome = process.run(&program).await;
    assert_eq!(outcome.result, Ok(()));
    process.journal.sync().await.unwrap();
    let names: Vec<String> = (process.store.events().iter())
        .filter_map(|event| match event {
            onecall_core::JournalEvent::Called(call) => Some(call.name.to_string()),
            _ => None,
        })
        .collect();
    assert!(names.contains(&"question:search".to_owned()), "{names:?}");
    let next = process.killed().await;
    assert_eq!(next.run(&program).await.stdout.text, outcome.stdout.text);
    assert_eq!(next.tools.effects(), [json!(1)]);
}

#[tokio::test]
async fn a_program_of_a_session_can_only_be_continued_in_place() {
    let process = Process::new(Desk::always(approve()));
    let session = SessionRequest::named(onecall_core::ClientId(1), "s", false);
    let program = Program { session: Some(session), ..Program::new("print(1)") };
    printed(&process.run(&program).await);
    process.journal.sync().await.unwrap();
    let reason = Some(onecall_core::InPlaceReason::Session);
    assert_eq!((process.journal.in_place(), process.store.in_place()), (reason, reason));
}
