//! Variables that outlive a program, and how they are lost.

use serde_json::{Value, json};
use testkit::mcp::ToolAnswer;
use testkit::process::{is_alive, wait_until};

use crate::support::{self, Gateway, Home, TIMEOUT, failed, fixture, printed};

fn gateway(sessions: &Value) -> Gateway {
    Gateway::with_config(&json!({
        "servers": [fixture("fixture", &[])],
        "sessions": sessions,
        "execution": { "timeout_seconds": 20, "memory_mb": 128 },
    }))
}

fn run(gateway: &mut Gateway, session: &str, code: &str) -> ToolAnswer {
    gateway.session.call_tool("execute_program", json!({ "code": code, "session": session }))
}

#[test]
fn a_session_keeps_what_its_programs_define() {
    let mut gateway = gateway(&json!({}));
    let first =
        "import math\ntotal = await mcp__fixture__add(1, 2)\ndef double(x):\n    return x * 2";
    assert_eq!(printed(&run(&mut gateway, "a", first)), "(no output)");
    let second = "print(double(total), math.floor(1.5))\ntotal += 1";
    assert_eq!(printed(&run(&mut gateway, "a", second)), "6 1\n");
    let third = "print(total, await mcp__fixture__add(total, 1), tools.add(total, 2))";
    assert_eq!(printed(&run(&mut gateway, "a", third)), "4 5 6\n");
    let elsewhere = failed(&run(&mut gateway, "b", "print(total)"));
    assert!(elsewhere.ends_with("NameError: name 'total' is not defined"), "{elsewhere}");
    assert!(gateway.fails("print(total)").ends_with("NameError: name 'total' is not defined"));
}

#[test]
fn a_session_survives_an_exception_and_names_the_program_of_each_frame() {
    let mut gateway = gateway(&json!({}));
    run(&mut gateway, "a", "x = 1\ndef fail():\n    raise ValueError('no')");
    insta::assert_snapshot!(failed(&run(&mut gateway, "a", "x += 1\n\nfail()")), @r#"
    Traceback (most recent call last):
      File "<program 2>", line 3, in <module>
        fail()
        ~~~~^^
      File "<program>", line 3, in fail
        raise ValueError('no')
    ValueError: no
    "#);
    assert_eq!(printed(&run(&mut gateway, "a", "print(x)")), "2\n");
    assert_eq!(failed(&run(&mut gateway, "a", "import sys\nsys.exit('bye')")), "SystemExit: bye");
    assert_eq!(printed(&run(&mut gateway, "a", "print(x)")), "2\n");
}

#[test]
fn a_session_can_begin_anew() {
    let mut gateway = gateway(&json!({}));
    run(&mut gateway, "a", "x = 1");
    let code = "print('x' in globals())";
    let arguments = json!({ "code": code, "session": "a", "reset": true });
    assert_eq!(printed(&gateway.session.call_tool("execute_program", arguments)), "False\n");
    let arguments = json!({ "code": code, "reset": true });
    let refused = failed(&gateway.session.call_tool("execute_program", arguments));
    assert_eq!(refused, "execute_program: 'reset' must be given together with 'session'");
}

#[test]
fn a_session_whose_process_dies_is_lost_and_that_is_said() {
    let mut gateway = gateway(&json!({}));
    let lost = "[Session 'a' has ended: its variables are gone]";
    for code in ["import os\nos._exit(3)", "x = bytearray(10**9)"] {
        run(&mut gateway, "a", "x = 1");
        let message = failed(&run(&mut gateway, "a", code));
        assert!(message.ends_with(lost), "{message}");
        assert_eq!(printed(&run(&mut gateway, "a", "print('x' in globals())")), "False\n");
    }
}

#[test]
fn a_session_that_times_out_is_lost_and_that_is_said() {
    let mut gateway = Gateway::with_config(&json!({ "execution": { "timeout_seconds": 1 } }));
    run(&mut gateway, "a", "x = 1");
    let message = failed(&run(&mut gateway, "a", "while True: pass"));
    let expected = "TimeoutError: Execution exceeded 1s limit\n\
                    [Session 'a' has ended: its variables are gone]";
    assert_eq!(message, expected);
}

#[test]
fn an_idle_session_ends_and_its_client_hears_of_it_once() {
    let home = Home::with_config(&json!({
        "sessions": { "idle_seconds": 0.2 },
        "workspace": { "path": "data", "mode": "read-only" },
    }));
    std::fs::create_dir(home.path("data")).unwrap();
    let mut gateway = Gateway::in_home(home);
    // Its program goes on until its process was found.
    let code = "import os\nx = 1\nwhile not os.path.exists('found'): pass";
    let call =
        gateway.session.start_call("execute_program", json!({ "code": code, "session": "a" }));
    let worker = gateway.busy_worker();
    gateway.home.write("data/found", "");
    assert_eq!(printed(&gateway.session.finish_call(call)), "(no output)");
    assert!(wait_until(TIMEOUT, || !is_alive(worker)), "its process ends");
    let message = failed(&run(&mut gateway, "a", "print(x)"));
    let expected = "SessionEnded: session 'a' has ended: it was not used for 0 seconds. Its \
                    variables are gone and nothing was executed; run it again to begin a new \
                    session of that name";
    assert_eq!(message, expected);
    assert_eq!(printed(&run(&mut gateway, "a", "print('x' in globals())")), "False\n");
}

#[test]
fn a_cancelled_program_ends_its_session() {
    let mut gateway = gateway(&json!({}));
    run(&mut gateway, "a", "x = 1");
    let code = "print(x)\nwhile True: pass";
    let call =
        gateway.session.start_call("execute_program", json!({ "code": code, "session": "a" }));
    gateway.busy_worker();
    gateway.session.cancel(call);
    let message = failed(&run(&mut gateway, "a", "print(x)"));
    assert!(message.contains("its last program was cancelled"), "{message}");
}

#[test]
fn there_are_only_so_many_sessions() {
    let mut gateway = gateway(&json!({ "max": 2 }));
    run(&mut gateway, "one", "x = 1");
    run(&mut gateway, "two", "x = 2");
    assert_eq!(
        failed(&run(&mut gateway, "three", "x = 3")),
        "SessionLimit: there are 2 sessions already, and no more are allowed; yours: one, two"
    );
    assert_eq!(printed(&run(&mut gateway, "two", "print(x)")), "2\n");
}

#[test]
fn bad_names_are_refused() {
    let mut gateway = gateway(&json!({}));
    let cases = [
        ("", "ValueError: the name of a session must not be empty"),
        ("a\nb", "ValueError: the name of a session must not have control characters"),
    ];
    for (name, expected) in cases {
        assert_eq!(failed(&run(&mut gateway, name, "x = 1")), expected);
    }
    assert_eq!(
        failed(&run(&mut gateway, &"n".repeat(10_000), "x = 1")),
        "ValueError: the name of a session has at most 100 characters, not 10000"
    );
}

#[test]
fn programs_of_one_session_take_turns() {
    let mut gateway = gateway(&json!({}));
    run(&mut gateway, "a", "seen = []");
    let code =
        |n: usize| format!("await mcp__fixture__sleep(ms={})\nseen.append({n})", 200 - 40 * n);
    let calls: Vec<_> = (0..4)
        .map(|n| {
            let arguments = json!({ "code": code(n), "session": "a" });
            gateway.session.start_call("execute_program", arguments)
        })
        .collect();
    for call in calls {
        printed(&gateway.session.finish_call(call));
    }
    assert_eq!(printed(&run(&mut gateway, "a", "print(sorted(seen))")), "[0, 1, 2, 3]\n");
}

#[test]
fn what_a_thread_leaves_behind_does_not_disturb_the_next_program() {
    let mut gateway = gateway(&json!({}));
    let code = "
import threading
got = []
def ask():
    got.append(tools.add(1, 2))
    got.append(tools.sleep(ms=300))
thread = threading.Thread(target=ask, daemon=True)
thread.start()
";
    // What the thread does just when one program ends and the next comes is a matter of luck.
    for _ in 0..10 {
        run(&mut gateway, "a", code);
        assert_eq!(printed(&run(&mut gateway, "a", "print(tools.add(2, 3))")), "5\n");
        let awaited = run(&mut gateway, "a", "print(await mcp__fixture__add(3, 4))");
        assert_eq!(printed(&awaited), "7\n");
    }
}

#[test]
fn another_engine_needs_another_session() {
    if !support::has_system_python() {
        return;
    }
    let mut gateway = gateway(&json!({}));
    let on = |engine: &str, code: &str| json!({ "code": code, "session": "a", "engine": engine });
    let first = gateway.session.call_tool("execute_program", on("cpython", "x = 1"));
    assert_eq!(printed(&first), "(no output)");
    let auto = gateway.session.call_tool("execute_program", on("auto", "print(x)"));
    assert_eq!(printed(&auto), "1\n");
    let other = gateway.session.call_tool("execute_program", on("python", "print(x)"));
    let expected = "ValueError: this session runs on cpython; reset it to use another engine";
    assert_eq!(failed(&other), expected);
    let auto = gateway.session.call_tool("execute_program", on("auto", "print(x + 1)"));
    assert_eq!(printed(&auto), "2\n");
}

#[test]
fn typescript_programs_share_their_variables() {
    let mut gateway = gateway(&json!({}));
    let mut run = |code: &str| {
        let arguments = json!({ "code": code, "session": "a", "language": "typescript" });
        gateway.session.call_tool("execute_program", arguments)
    };
    let first = "import { add } from './servers/fixture';
        const rows: number[] = [1, 2];
        let total = await add({ a: 1, b: 2 });
        class Point { constructor(public x: number) {} }
        function double(x: number) { return x * factor; }
        const factor = 2;";
    printed(&run(first));
    let second = "rows.push(total); total += 1; const factor = 10;
        console.log(rows, total, new Point(3), double(4), await add({ a: total, b: 0 }));";
    assert_eq!(printed(&run(second)), "[ 1, 2, 3 ] 4 Point { x: 3 } 40 4\n");
    assert!(failed(&run("rows.nothing.at(0)")).contains("TypeError: cannot read property 'at'"));
    assert_eq!(
        printed(&run("class Point {}; console.log(new Point(), rows.length)")),
        "Point {} 3\n"
    );
    let broken =
        failed(&run("// The function of an earlier program fails.\ndouble.call(null, BigInt(1));"));
    assert!(
        broken.starts_with("<program>:5:") && broken.contains("    at <program 5>:2:"),
        "{broken}"
    );
    // What a program leaves behind does not disturb the next one.
    assert!(
        failed(&run("setTimeout(() => console.log('late'), 5); throw new Error('no')"))
            .contains("no")
    );
    assert_eq!(
        printed(&run("await new Promise((done) => setTimeout(done, 20)); console.log(1)")),
        "1\n"
    );
}
