//! What `execute_program` answers, to the letter.

use serde_json::json;

use crate::support::Gateway;

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
    for silent in ["x = 1", "", "\n# a comment\n", "None", "[].append(1)", "x = 1\n'a comment'"] {
        assert_eq!(answer(&mut gateway, silent), success("(no output)"), "{silent:?}");
    }
    for (unseen, kind) in [
        ("'a' + 'b'", "str"),
        ("rows = [1]\nrows", "list"),
        ("await mcp__fixture__add(1, 2)", "int"),
        ("return {}", "dict"),
        ("class Total: pass\nTotal()", "Total"),
    ] {
        let expected = format!(
            "(no output)\nOnly what is printed comes back; the last expression has a value of type \
             {kind}."
        );
        assert_eq!(answer(&mut gateway, unseen), success(&expected), "{unseen:?}");
    }
    assert_eq!(answer(&mut gateway, "print(1)\n2"), success("1\n"));
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
    let mut gateway = Gateway::with_limits(&json!({ "timeout_seconds": 3.5 }));
    let reason = "TimeoutError: Execution exceeded 3.5s limit\n[Tool calls completed: 1]";
    let code = "await mcp__fixture__add(1, 2)\nawait mcp__fixture__hang()";
    assert_eq!(answer(&mut gateway, code), failure(reason));
}

#[test]
fn output_before_a_timeout_is_kept() {
    let mut gateway = Gateway::with_limits(&json!({ "timeout_seconds": 3 }));
    let reason =
        "TimeoutError: Execution exceeded 3s limit\n[Output before the failure]\nstep one\n";
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
    for quiet in ["sys.exit()", "sys.exit(0)", "raise SystemExit", "exit()"] {
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
    let reason = "the program ended its own process with exit code 7";
    assert_eq!(answer(&mut gateway, "import os; os._exit(7)"), failure(reason));
    gateway.fails("import os; os.abort()");
    assert_eq!(answer(&mut gateway, "print('alive')"), success("alive\n"));
}

#[test]
fn quit_ends_a_program_like_exit() {
    let mut gateway = Gateway::new();
    assert_eq!(answer(&mut gateway, "print('before')\nquit()\nprint(1)"), success("before\n"));
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
fn a_program_ends_when_its_threads_and_exit_handlers_have() {
    let mut gateway = Gateway::new();
    let code = "
        import atexit, threading, time
        atexit.register(print, 'at exit')
        def work():
            time.sleep(0.1)
            print('thread')
        threading.Thread(target=work).start()
        threading.Thread(target=time.sleep, args=[1000], daemon=True).start()
        print('main')
    ";
    assert_eq!(answer(&mut gateway, code), success("main\nthread\nat exit\n"));
}

#[test]
fn there_is_nothing_to_read() {
    let mut gateway = Gateway::new();
    let code = "
        import sys
        print(repr(sys.stdin.read()), sys.argv, __name__, __file__)
        try:
            input()
        except EOFError as error:
            print(error)
    ";
    assert_eq!(
        answer(&mut gateway, code),
        success("'' ['<program>'] __main__ <program>\nEOF when reading a line\n")
    );
}
