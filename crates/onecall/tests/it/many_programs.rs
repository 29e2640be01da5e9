//! Many programs at once: they share one total of places and memory, over all engines.

use serde_json::{Value, json};
use testkit::mcp::{CallId, Session, ToolAnswer};
use testkit::process::{descendants, wait_until};

use crate::support::{Gateway, Home, ReceivedMessages, TIMEOUT, failed, fixture, printed};

const HANGS: &str = "await mcp__fixture__hang()";

/// A gateway that logs which programs wait, and what its one server receives.
fn gateway(mut config: Value) -> (Gateway, ReceivedMessages) {
    let home = Home::new();
    config["servers"] = json!([fixture("fixture", &["--log", &home.text_path("received")])]);
    home.write("config.json", config.to_string());
    let received = ReceivedMessages::in_file(home.path("received"));
    let session = Session::open(home.onecall_with_config(&["serve", "--log", "info"]));
    (Gateway { session, home }, received)
}

/// A gateway on which two programs run, on two engines.
fn full(execution: &Value) -> (Gateway, ReceivedMessages, [CallId; 2]) {
    let (mut gateway, received) = gateway(json!({ "execution": execution }));
    let python = gateway.start(HANGS);
    let typescript = gateway.session.start_call(
        "execute_program",
        json!({ "code": "await mcp__fixture__hang({})", "language": "typescript" }),
    );
    let begun = || received.calls("hang") == 2;
    assert!(wait_until(TIMEOUT, begun), "both programs run");
    (gateway, received, [python, typescript])
}

fn run(gateway: &mut Gateway, session: &str, code: &str) -> ToolAnswer {
    gateway.session.call_tool("execute_program", json!({ "code": code, "session": session }))
}

/// A program that has to wait begins when another one ends, whatever engine they use and
/// whatever there is too little of.
#[test]
fn programs_that_do_not_fit_wait_for_others() {
    for execution in
        [json!({ "max_programs": 2 }), json!({ "memory_mb": 64, "max_total_memory_mb": 191 })]
    {
        let (mut gateway, received, [python, typescript]) = full(&execution);
        let arguments = json!({ "code": "print(await mcp__fixture__add(1, 2))" });
        let third = gateway.session.start_call_with_progress("execute_program", arguments, "third");
        gateway.wait_for_log(&["INFO", "a program waits: 2 run, 1 wait"]);
        let plan = json!({ "target_tool": "add", "tool_args": { "a": 3, "b": 4 } });
        let plan = gateway.session.start_call("proxy", plan);
        gateway.wait_for_log(&["INFO", "a program waits: 2 run, 2 wait"]);
        assert_eq!(gateway.callable_tools().len(), 35, "what is no program does not wait");
        assert_eq!(received.calls("add"), 0);
        let reports = gateway.session.progress("third");
        assert_eq!(reports[0]["message"], "the program waits until others end", "{reports:?}");
        gateway.session.cancel(typescript);
        assert_eq!(printed(&gateway.session.finish_call(third)), "3\n");
        assert_eq!(gateway.session.finish_call(plan).text, "7");
        gateway.session.cancel(python);
    }
}

#[test]
fn a_program_that_waits_can_be_cancelled() {
    let (mut gateway, received, [python, _]) = full(&json!({ "max_programs": 2 }));
    let cancelled = gateway.start("await mcp__fixture__counter()");
    gateway.wait_for_log(&["a program waits: 2 run, 1 wait"]);
    let next = gateway.start("print('next')");
    gateway.wait_for_log(&["a program waits: 2 run, 2 wait"]);
    gateway.session.cancel(cancelled);
    gateway.session.cancel(python);
    assert_eq!(printed(&gateway.session.finish_call(next)), "next\n");
    assert_eq!(received.calls("counter"), 0);
}

/// Nothing of it has run when it gives up, and it says what to do.
#[test]
fn a_program_waits_no_longer_than_it_may_run() {
    let (mut gateway, received) = gateway(json!({
        "execution": { "max_programs": 1 },
        "optional_tools": ["programmatic_tool_calling"],
    }));
    let hangs = gateway.start(HANGS);
    received.wait_for_call("hang");
    let arguments = json!({ "code": "await mcp__fixture__counter()", "timeout": 0.5 });
    let answer = gateway.session.call_tool("programmatic_tool_calling", arguments);
    let outcome: Value = serde_json::from_str(&answer.text).unwrap();
    assert_eq!(
        [&outcome["error"]["type"], &outcome["error"]["message"]],
        [
            "TooManyPrograms",
            "too many programs run at once: 1 still run after it waited 0.5s for them; nothing of \
             it was executed; run it again later, or raise 'max_programs' and \
             'max_total_memory_mb' in execution"
        ],
        "{outcome}"
    );
    gateway.session.cancel(hangs);
    assert_eq!(gateway.prints("print(await mcp__fixture__counter())"), "1\n");
}

#[test]
fn other_limits_let_programs_begin_that_wait() {
    let (mut gateway, ..) = full(&json!({ "max_programs": 2 }));
    let third = gateway.start("print('third')");
    gateway.wait_for_log(&["a program waits: 2 run, 1 wait"]);
    let text = std::fs::read_to_string(gateway.home.path("config.json")).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    config["execution"]["max_programs"] = json!(3);
    gateway.home.write("config.json", config.to_string());
    assert_eq!(printed(&gateway.session.finish_call(third)), "third\n");
}

/// However many come at once, there are never more processes than places, and every program
/// is answered.
#[test]
fn a_flood_of_programs_is_answered_by_few_processes() {
    let mut gateway = Gateway::with_limits(&json!({ "max_programs": 3 }));
    gateway.prints("print(1)");
    let zygote = gateway.zygote().pid;
    let calls: Vec<CallId> = (0..100)
        .map(|number| gateway.start(&format!("print(await mcp__fixture__add({number}, 1))")))
        .collect();
    let mut most = 0;
    for (number, call) in calls.into_iter().enumerate() {
        most = most.max(descendants(zygote).iter().filter(|it| !it.is_zombie()).count());
        let answer = gateway.session.finish_call(call);
        assert_eq!(printed(&answer), format!("{}\n", number + 1));
    }
    // Those that run, those that have just ended, which on a busy machine are those of two turns, two
    // that wait for programs, and the keeper of their namespace.
    assert!(most <= 3 + 2 * 3 + 2 + 1, "{most} processes");
}

/// The session that was not used for longest makes room, and its next program hears of it.
#[test]
fn an_idle_session_ends_when_a_program_needs_its_memory() {
    let (mut gateway, received) = gateway(json!({
        "execution": { "memory_mb": 64, "max_total_memory_mb": 192 },
        "sessions": { "max": 2 },
    }));
    assert_eq!(printed(&run(&mut gateway, "a", "x = 'of a'\nprint(1)")), "1\n");
    assert_eq!(printed(&run(&mut gateway, "b", "x = 'of b'\nprint(2)")), "2\n");
    assert_eq!(gateway.prints("print('alone')"), "alone\n", "two sessions and a program fit");
    assert_eq!(printed(&run(&mut gateway, "a", "print(x)")), "of a\n");
    // A second program beside another one takes the memory of `b`.
    let hangs = gateway.start(HANGS);
    received.wait_for_call("hang");
    assert_eq!(gateway.prints("print('second')"), "second\n");
    assert_eq!(
        failed(&run(&mut gateway, "b", "print(x)")),
        "SessionEnded: session 'b' has ended: another program needed its memory. Its variables are \
         gone and nothing was executed; run it again to begin a new session of that name"
    );
    assert_eq!(printed(&run(&mut gateway, "a", "print(x)")), "of a\n", "it was used later");
    // Its place among the sessions is free.
    assert_eq!(printed(&run(&mut gateway, "c", "print('new')")), "new\n");
    gateway.session.cancel(hangs);
}

/// A session that is in use is not ended: the program waits for it.
#[test]
fn a_session_in_use_keeps_its_memory() {
    let execution = json!({ "memory_mb": 64, "max_total_memory_mb": 64 });
    let (mut gateway, received) = gateway(json!({ "execution": execution }));
    let arguments = json!({ "code": HANGS, "session": "a" });
    let hangs = gateway.session.start_call("execute_program", arguments);
    received.wait_for_call("hang");
    let waits = gateway.start("print('after')");
    gateway.wait_for_log(&["a program waits: 1 run, 1 wait"]);
    gateway.session.cancel(hangs);
    assert_eq!(printed(&gateway.session.finish_call(waits)), "after\n");
}
