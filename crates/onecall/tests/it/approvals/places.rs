//! Runs that are continued while other programs have all places.

use onecall_core::RunId;
use onecall_core::storage::Journals as _;
use serde_json::json;
use testkit::mcp::Session;
use testkit::process::wait_until;

use super::{Agent, Desk, waiting_run};
use crate::support::TIMEOUT;

const EFFECT_AND_DELETE: &str = "\
print(await mcp__files__read(path='/a'))
print(await mcp__files__delete(path='/a'))";

/// The approved run waits for its turn longer than a new program would: it must not be lost, and
/// its answer must not say that nothing of it was executed.
#[test]
fn an_approved_run_waits_for_a_place() {
    let desk = Desk::with_config(
        &json!({ "wait_seconds": 0, "keep_seconds": 0 }),
        &json!({
            "execution": { "max_programs": 1 },
            "optional_tools": ["programmatic_tool_calling"],
            "durable": true,
        }),
    );
    let mut agent =
        Agent(Session::open(desk.home.onecall_with_config(&["serve", "--log", "info"])));
    let short = |code: &str| json!({ "code": code, "timeout": 0.5 });
    let answer = agent.0.call_tool("programmatic_tool_calling", short(EFFECT_AND_DELETE));
    let run = waiting_run(&answer);
    let id = RunId::from_existing(&run);
    let is_let_go =
        || desk.store().durable_run(&id).is_ok_and(|it| it.is_some_and(|it| it.lease.is_none()));
    assert!(wait_until(TIMEOUT, is_let_go));
    let occupant = agent.start("await mcp__files__stuck(path='/b')");
    desk.received.wait_for_call("stuck");
    desk.approve(&desk.open_item());
    let waits = || agent.0.client().stderr().contains("a program waits: 1 run, 1 wait");
    assert!(wait_until(TIMEOUT, waits));
    // A new program that came later gives up.
    let refused = agent.0.call_tool("programmatic_tool_calling", short("print(1)"));
    assert!(refused.text.contains("too many programs run at once"), "{}", refused.text);
    assert_eq!(desk.deletions(), 0);
    agent.0.cancel(occupant);
    let text = desk.final_text(&id);
    assert!(text.contains(r"read\ndeleted\n"), "{text}");
    assert_eq!((desk.deletions(), desk.received.calls("read")), (1, 1));
}
