//! Questions that nobody answers in time.

use onecall_core::storage::{Approvals as _, FinalAnswer, Journals as _, QuestionState};
use onecall_core::{
    ApprovalQuestion, ApprovalWay, CallableName, ItemId, QuestionKind, Timestamp, Verdict,
};
use serde_json::json;

use super::{Desk, waiting_run};

/// A time at which a question has expired long ago.
const PAST: Timestamp = Timestamp(2_000);

#[test]
fn a_program_can_catch_that_nobody_answered() {
    let desk = Desk::new(&json!({ "wait_seconds": 0 }));
    let mut agent = desk.agent();
    waiting_run(&agent.execute(
        r#"
        try:
            await mcp__files__delete(path="/a")
        except ToolError as error:
            print(error)
        print(await mcp__files__read(path="/a"))
        "#,
    ));
    let asked = desk.open_questions(1).remove(0).question;
    agent.0.client().kill();
    let run = desk.add_copy(&desk.only_run(), "01expired00000");
    let item = ItemId::of(&run, asked.call);
    let expired = ApprovalQuestion {
        item: item.clone(),
        run: run.clone(),
        asked: Timestamp(1_000),
        expires: PAST,
        ..asked
    };
    desk.store().add_question(&expired, None).expect("the store can be written");
    let _agent = desk.agent();
    assert_eq!(
        desk.final_text(&run),
        "[Script executed successfully]\n\
         'mcp__files__delete' was denied: nobody answered in time\nread\n"
    );
    let QuestionState::Answered(answer) = desk.question_state(&item) else {
        panic!("it is not answered")
    };
    assert_eq!((answer.by.as_str(), answer.way), ("onecall", ApprovalWay::Rule));
    assert_eq!(desk.deletions(), 0);
}

#[test]
fn a_run_is_given_up_if_nobody_says_whether_its_call_happened() {
    let desk = Desk::with_config(&json!({ "wait_seconds": 0 }), &json!({ "durable": true }));
    let mut agent = desk.agent();
    let call = agent.start(r#"print(await mcp__files__stuck(path="/a"))"#);
    desk.received.wait_for_call("stuck");
    agent.0.client().kill();
    drop((agent, call));
    let template = desk.only_run();
    let run = desk.add_copy(&template, "01expired00000");
    let store = desk.store();
    let cancelled = FinalAnswer { result: "{}".to_owned(), at: Timestamp::now() };
    store.cancel_durable_run(&template.id, &cancelled).expect("the store can be written");
    let question = ApprovalQuestion {
        item: ItemId::of_attempt(&run, 1, 1),
        run: run.clone(),
        call: 1,
        kind: QuestionKind::Unknown,
        name: CallableName::new("mcp__files__stuck"),
        line: Some(1),
        arguments: r#"{"path":"/a"}"#.to_owned(),
        rule: String::new(),
        asked: Timestamp(1_000),
        expires: PAST,
        ways: ApprovalWay::CONFIGURABLE.to_vec(),
    };
    store.add_question(&question, None).expect("the store can be written");
    let _agent = desk.agent();
    let text = desk.final_text(&run);
    let given_up = "GivenUp: nobody answered in time whether 'mcp__files__stuck' (line 1) happened; \
                    the run was given up";
    assert!(text.starts_with(&format!("[Script execution failed]\n{given_up}")), "{text}");
    let state = desk.question_state(&question.item);
    assert!(matches!(&state, QuestionState::Answered(it) if it.verdict == Verdict::GiveUp));
    assert_eq!(desk.received.calls("stuck"), 1);
}

/// No gateway runs that could have closed the question.
#[test]
fn an_answer_that_comes_too_late_is_refused() {
    let desk = Desk::new(&json!({ "wait_seconds": 0 }));
    let mut agent = desk.agent();
    waiting_run(&agent.execute(super::DELETE_ONE));
    let asked = desk.open_questions(1).remove(0).question;
    agent.0.client().kill();
    let run = desk.add_copy(&desk.only_run(), "01expired00000");
    let item = ItemId::of(&run, asked.call);
    let expired = ApprovalQuestion {
        item: item.clone(),
        run,
        asked: Timestamp(1_000),
        expires: PAST,
        ..asked
    };
    desk.store().add_question(&expired, None).expect("the store can be written");
    let late = desk.home.onecall_with_config(&["approvals", "approve", item.as_str()]);
    let late = crate::support::finish(late);
    assert_eq!(late.code, Some(1));
    assert_eq!(
        late.stderr,
        "error: 'mcp__files__delete' (01expired00000.1) is not answered: the question has \
         expired ('expire_seconds' in approvals)\n"
    );
    assert_eq!(desk.question_state(&item), QuestionState::Open);
}
