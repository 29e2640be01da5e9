//! The tools an agent sees, and what they answer, to the letter.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod support;

use serde_json::{Value, json};
use support::Gateway;
use testkit::bins;
use testkit::mcp::{Session, ToolAnswer};

/// The whole answer of a program: its text and whether it is an error.
fn answer(gateway: &mut Gateway, code: &str) -> (String, bool) {
    let answer = gateway.execute(code);
    assert_eq!(
        answer.raw,
        json!({
            "content": [{ "type": "text", "text": answer.text }],
            "isError": answer.is_error,
        })
    );
    (answer.text, answer.is_error)
}

fn success(output: &str) -> (String, bool) {
    (format!("[Script executed successfully]\n{output}"), false)
}

fn failure(reason: &str) -> (String, bool) {
    (format!("[Script execution failed]\n{reason}"), true)
}

#[test]
fn three_tools_are_shown() {
    let names = Gateway::new().session.tool_names();
    assert_eq!(names, ["execute_program", "list_callable_tools", "inspect_tool"]);
}

#[test]
fn a_success_is_what_the_program_printed() {
    let mut gateway = Gateway::new();
    assert_eq!(answer(&mut gateway, "print('hi')"), success("hi\n"));
    assert_eq!(answer(&mut gateway, "print('é€😀', end='')"), success("é€😀"));
    assert_eq!(answer(&mut gateway, "print()"), success("\n"));
    assert_eq!(
        answer(&mut gateway, "print(await mcp__fixture__add(a=1, b=2))"),
        success("3\n"),
        "tool calls of a success are not counted"
    );
}

#[test]
fn nothing_printed_is_said() {
    let mut gateway = Gateway::new();
    for silent in ["x = 1", "", "\n# a comment\n", "'a' + 'b'", "await mcp__fixture__add(1, 2)"] {
        assert_eq!(answer(&mut gateway, silent), success("(no output)"), "{silent:?}");
    }
}

#[test]
fn the_last_expression_is_not_printed() {
    let mut gateway = Gateway::new();
    assert_eq!(answer(&mut gateway, "print(1)\n40 + 2"), success("1\n"));
}

#[test]
fn long_output_is_cut_between_characters() {
    let mut gateway = Gateway::with_limits(&json!({ "max_output_bytes": 10 }));
    let cases = [
        // Just within the limit.
        ("print('x' * 9)", "xxxxxxxxx\n"),
        ("print('x' * 10)", "xxxxxxxxxx\n... (truncated)"),
        // The limit is within the third character of three bytes, the third of four.
        ("print('ab' + '€' * 5)", "ab€€\n... (truncated)"),
        ("print('😀' * 3)", "😀😀\n... (truncated)"),
        ("print('é' * 5, end='')", "ééééé"),
        ("for n in range(100): print(n)", "0\n1\n2\n3\n4\n\n... (truncated)"),
        // No character is older than its bytes.
        (
            "import sys\nfor byte in '😀😀😀'.encode(): sys.stdout.buffer.write(bytes([byte]))",
            "😀😀\n... (truncated)",
        ),
    ];
    for (code, output) in cases {
        assert_eq!(answer(&mut gateway, code), success(output), "{code}");
    }
}

#[test]
fn a_failure_is_a_traceback() {
    let mut gateway = Gateway::new();
    let traceback = "\
Traceback (most recent call last):
  File \"<program>\", line 2, in <module>
    1 / 0
    ~~^~~
ZeroDivisionError: division by zero";
    assert_eq!(answer(&mut gateway, "x = 1\n1 / 0"), failure(traceback));
    assert_eq!(
        answer(&mut gateway, "print('a\\nb')\n1 / 0"),
        failure(&format!("{traceback}\n[Output before the failure]\na\nb\n"))
    );
    assert_eq!(
        answer(&mut gateway, "await mcp__fixture__add(1, 2); print('a', end='')\n1 / 0"),
        failure(&format!("{traceback}\n[Output before the failure]\na\n[Tool calls completed: 1]"))
    );
    assert_eq!(
        answer(&mut gateway, "for n in range(3): await mcp__fixture__add(n, n)\n1 / 0"),
        failure(&format!("{traceback}\n[Tool calls completed: 3]"))
    );
}

#[test]
fn output_before_a_failure_is_cut_too() {
    let mut gateway = Gateway::with_limits(&json!({ "max_output_bytes": 4 }));
    let reason = "SystemExit: no\n[Output before the failure]\nabcd\n... (truncated)";
    assert_eq!(answer(&mut gateway, "print('abcdef')\nraise SystemExit('no')"), failure(reason));
}

#[test]
fn a_timeout_names_the_limit() {
    let mut gateway = Gateway::with_limits(&json!({ "timeout_seconds": 1 }));
    let reason = "TimeoutError: Execution exceeded 1s limit";
    assert_eq!(answer(&mut gateway, "while True: pass"), failure(reason));
    let mut gateway = Gateway::with_limits(&json!({ "timeout_seconds": 0.5 }));
    let reason = "TimeoutError: Execution exceeded 0.5s limit\n[Tool calls completed: 1]";
    let code = "await mcp__fixture__add(1, 2)\nawait mcp__fixture__hang()";
    assert_eq!(answer(&mut gateway, code), failure(reason));
}

#[test]
fn output_before_a_timeout_is_kept() {
    let mut gateway = Gateway::with_limits(&json!({ "timeout_seconds": 1 }));
    let reason =
        "TimeoutError: Execution exceeded 1s limit\n[Output before the failure]\nstep one\n";
    for waiting in ["while True: pass", "import time; time.sleep(60)"] {
        let code = format!("print('step one')\n{waiting}");
        assert_eq!(answer(&mut gateway, &code), failure(reason), "{waiting}");
    }
}

#[test]
fn stderr_is_kept_apart() {
    let mut gateway = Gateway::new();
    let code = "
        import sys, warnings
        print('to stderr', file=sys.stderr)
        sys.stderr.write('more')
        warnings.warn('careful')
        print('to stdout')
    ";
    assert_eq!(answer(&mut gateway, code), success("to stdout\n"));
}

#[test]
fn an_exit_ends_only_its_program() {
    let mut gateway = Gateway::new();
    for quiet in ["sys.exit()", "sys.exit(0)", "raise SystemExit", "exit()", "quit()"] {
        let code = format!("import sys\nprint('before')\n{quiet}\nprint('after')");
        assert_eq!(answer(&mut gateway, &code), success("before\n"), "{quiet}");
    }
    let cases = [
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("raise SystemExit('no data')", "SystemExit: no data"),
        (
            "raise KeyboardInterrupt",
            "Traceback (most recent call last):\n  File \"<program>\", line 1, in <module>\n    \
             raise KeyboardInterrupt\nKeyboardInterrupt",
        ),
    ];
    for (code, reason) in cases {
        assert_eq!(answer(&mut gateway, code), failure(reason), "{code}");
    }
    // What a process cannot survive, its gateway can.
    let killed = gateway.fails("import os; os._exit(0)");
    assert!(!killed.contains("Traceback"), "{killed}");
    gateway.fails("import os, signal; os.kill(os.getpid(), signal.SIGKILL)");
    assert_eq!(answer(&mut gateway, "print('alive')"), success("alive\n"));
}

#[test]
fn nothing_leaks_into_the_next_program() {
    let mut gateway = Gateway::new();
    let leaky = "
        import builtins, json, os, sys
        leaked = builtins.leaked = json.leaked = os.environ['LEAKED'] = 'leaked'
        sys.modules['leaked'] = json
        print = ToolError = mcp__fixture__add = None
        json.dumps = None
    ";
    let clean = "
        import builtins, json, os, sys
        print(hasattr(builtins, 'leaked'), hasattr(json, 'leaked'), 'LEAKED' in os.environ)
        print('leaked' in globals(), 'leaked' in sys.modules, json.dumps(1), ToolError.__name__)
        print(await mcp__fixture__add(1, 2))
    ";
    for _ in 0..4 {
        assert_eq!(answer(&mut gateway, leaky), success("(no output)"));
        assert_eq!(
            answer(&mut gateway, clean),
            success("False False False\nFalse False 1 ToolError\n3\n")
        );
    }
}

#[test]
fn callable_tools_are_listed_in_order() {
    let mut fixture = Session::open(bins::fixture_command(&[]));
    let mut expected: Vec<String> = fixture
        .tool_names()
        .iter()
        .map(|name| format!("mcp__fixture__{}", name.replace(['-', '.'], "_")))
        .collect();
    expected.sort();
    let answer = Gateway::new().session.call_tool("list_callable_tools", json!({}));
    assert_eq!((answer.text, answer.is_error), (json!(expected).to_string(), false));
}

fn inspect(gateway: &mut Gateway, name: &str) -> ToolAnswer {
    gateway.session.call_tool("inspect_tool", json!({ "tool_name": name }))
}

#[test]
fn a_tool_can_be_inspected() {
    let mut gateway = Gateway::new();
    let with_output: Value =
        serde_json::from_str(&inspect(&mut gateway, "mcp__fixture__add").text).unwrap();
    assert_eq!(
        with_output,
        json!({
            "name": "mcp__fixture__add",
            "description": "Adds two numbers.",
            "signature": "await mcp__fixture__add(a: float, b: float) -> float",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "a": { "type": "number", "description": "First number" },
                    "b": { "type": "number", "description": "Second number" },
                },
                "required": ["a", "b"],
            },
            "outputSchema": {
                "type": "object",
                "properties": { "result": { "type": "number" } },
                "required": ["result"],
            },
        })
    );
    let without: Value =
        serde_json::from_str(&inspect(&mut gateway, "mcp__fixture__nothing").text).unwrap();
    assert_eq!(
        without,
        json!({
            "name": "mcp__fixture__nothing",
            "description": "Answers without any content.",
            "signature": "await mcp__fixture__nothing() -> Any",
            "inputSchema": { "type": "object", "properties": {} },
            "outputSchema": null,
            "note": "The server declares no output schema: print a small result first to see its \
                     shape.",
        })
    );
}

#[test]
fn an_unknown_tool_is_answered_with_the_nearest() {
    let mut gateway = Gateway::new();
    let cases = [
        ("mcp__fixture__ad", "\nDid you mean: 'mcp__fixture__add'?"),
        ("mcp__fixture__Weather", "\nDid you mean: 'mcp__fixture__weather'?"),
        ("zzz", ""),
        ("", ""),
    ];
    for (name, nearest) in cases {
        let answer = inspect(&mut gateway, name);
        let text = format!("[Tool not found] '{name}' is not available in execute_program");
        assert_eq!((answer.text, answer.is_error), (text + nearest, true));
    }
}

#[test]
fn wrong_arguments_are_explained() {
    let mut gateway = Gateway::new();
    let cases = [
        (
            "execute_program",
            json!({}),
            "[Script execution failed]\nexecute_program: 'code' is missing",
        ),
        (
            "execute_program",
            json!({ "code": ["print(1)"] }),
            "[Script execution failed]\nexecute_program: 'code' must be a string",
        ),
        (
            "execute_program",
            json!({ "code": null }),
            "[Script execution failed]\nexecute_program: 'code' must be a string",
        ),
        ("inspect_tool", json!({}), "inspect_tool: 'tool_name' is missing"),
        ("inspect_tool", json!({ "tool_name": 5 }), "inspect_tool: 'tool_name' must be a string"),
    ];
    for (tool, arguments, text) in cases {
        let answer = gateway.session.call_tool(tool, arguments);
        assert_eq!((answer.text.as_str(), answer.is_error), (text, true));
    }
    let error = gateway.session.try_call_tool("no_such_tool", json!({})).unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (
            -32602,
            "unknown tool 'no_such_tool'; this server has execute_program, list_callable_tools \
             and inspect_tool"
        )
    );
}
