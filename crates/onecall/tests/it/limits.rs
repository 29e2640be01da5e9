//! Programs that take too much of something: they end, and the gateway lives on.

#![allow(clippy::print_stderr, reason = "a skipped check is to be seen")]

use std::time::Duration;

use serde_json::json;
use testkit::process::{Process, is_alive, wait_until};

use crate::support::{self, Gateway, dedent, failed, fixture, has_system_python};

const MEBIBYTE: u64 = 1024 * 1024;

fn assert_alive(gateway: &mut Gateway) {
    assert_eq!(gateway.prints("print(await mcp__fixture__add(1, 2))"), "3\n");
}

#[test]
fn a_timeout_cannot_be_caught() {
    let mut gateway = Gateway::with_limits(&json!({ "timeout_seconds": 1 }));
    let stubborn = [
        "
        while True:
            try:
                while True: pass
            except BaseException: pass
        ",
        "
        import signal, threading, time
        for number in range(1, 32):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        threading.Thread(target=lambda: time.sleep(1000)).start()
        ",
        "
        import atexit, asyncio
        @atexit.register
        def again():
            while True: pass
        await asyncio.sleep(0)
        ",
        "
        import asyncio
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(1000)
        ",
        "
        import re
        re.match('(a+)+$', 'a' * 40 + 'b')
        ",
    ];
    for code in stubborn {
        assert_eq!(gateway.fails(code), "TimeoutError: Execution exceeded 1s limit", "{code}");
    }
    assert_alive(&mut gateway);
}

#[test]
fn a_timeout_ends_the_process() {
    let mut gateway = Gateway::with_limits(&json!({ "timeout_seconds": 6 }));
    gateway.prints("print(1)");
    let call = gateway.start("while True: pass");
    let burning = gateway.busy_worker();
    let answer = gateway.session.finish_call(call);
    assert_eq!(failed(&answer), "TimeoutError: Execution exceeded 6s limit");
    assert!(wait_until(support::TIMEOUT, || !is_alive(burning)));
}

#[test]
fn a_timeout_cancels_the_calls_under_way() {
    let (mut gateway, log) = Gateway::with_message_log(&json!({ "timeout_seconds": 4 }));
    let code = "
        try:
            await mcp__fixture__hang()
        except BaseException:
            await mcp__fixture__counter()
    ";
    assert_eq!(gateway.fails(code), "TimeoutError: Execution exceeded 4s limit");
    log.wait_for_cancel(&log.wait_for_call("hang"));
    assert_alive(&mut gateway);
}

#[test]
fn too_much_memory_is_refused() {
    let mut gateway = Gateway::with_limits(&json!({ "memory_mb": 256, "timeout_seconds": 60 }));
    for code in ["x = 'x' * 10**12", "x = [0] * 10**11", "x = bytearray(10**11)"] {
        let reason = gateway.fails(code);
        assert!(reason.ends_with("\nMemoryError"), "{code}: {reason}");
    }
    for code in [
        "rows = []\nwhile True: rows.append('y' * 1000)",
        "text = 'x'\nwhile True: text += text",
        "x = 10 ** 10 ** 9",
    ] {
        let reason = gateway.fails(code);
        let first = reason.lines().next().unwrap_or_default();
        let is_killed = first.starts_with("the program's process was ended by SIG")
            && first.ends_with("; it may have used more than its 256 MB of memory");
        assert!(is_killed || reason.contains("\nMemoryError"), "{code}: {reason}");
    }
    assert_eq!(
        gateway.prints("try: 'x' * 10**12\nexcept MemoryError: print('caught')"),
        "caught\n"
    );
    assert_alive(&mut gateway);
}

#[test]
fn endless_output_is_cut_and_costs_the_gateway_nothing() {
    // Without records, whose tokens are counted meanwhile.
    let mut gateway = Gateway::with_config(&json!({
        "servers": [fixture("fixture", &[])],
        "execution": { "timeout_seconds": 3, "max_output_bytes": 1000 },
        "records": "off",
    }));
    assert_alive(&mut gateway);
    let gateway_process = Process::read(gateway.pid()).unwrap();
    let before = gateway_process.resident_bytes().unwrap();
    let call = gateway.start("while True: print('x' * 10_000)");
    let mut most = before;
    let answer = loop {
        most = most.max(gateway_process.resident_bytes().unwrap());
        let pause = Duration::from_millis(20);
        if let Some(answer) = gateway.session.finish_call_within(call, pause) {
            break answer.unwrap();
        }
    };
    let output = "x".repeat(1000);
    assert_eq!(
        failed(&answer),
        format!(
            "TimeoutError: Execution exceeded 3s limit\n[Output before the failure]\n{output}\n\
             ... (truncated)"
        )
    );
    assert!(most - before < 32 * MEBIBYTE, "from {before} to {most} bytes");
}

#[test]
fn calls_over_the_quota_are_refused() {
    let mut gateway = Gateway::with_limits(&json!({ "max_tool_calls": 3 }));
    let code = "
        import asyncio
        async def count():
            try:
                return await mcp__fixture__counter()
            except ToolError as error:
                return error
        print(*[await count() for _ in range(4)], sep='\\n')
        print(*await asyncio.gather(count(), count()), sep='\\n')
    ";
    let refusal = "'mcp__fixture__counter' was not called: the limit of 3 tool calls per program \
                   is reached";
    assert_eq!(gateway.prints(code), format!("1\n2\n3\n{refusal}\n{refusal}\n{refusal}\n"));
    // The next program has a quota of its own, and no refused call was made.
    assert_eq!(gateway.prints("print(await mcp__fixture__counter())"), "4\n");
}

#[test]
fn no_more_calls_run_at_once_than_allowed() {
    let mut gateway = Gateway::with_limits(&json!({ "max_parallel_calls": 4 }));
    let code = "
        import asyncio
        async def most(count, **options):
            calls = [mcp__fixture__in_flight(**options) for _ in range(count)]
            return max(await asyncio.gather(*calls))
        print(await most(20, ms=60_000, until=4), await most(8, ms=50, until=5))
    ";
    assert_eq!(gateway.prints(code), "4 4\n");
}

#[test]
fn a_program_of_ten_megabytes_runs() {
    let mut gateway = Gateway::new();
    let code = format!("text = '{}'\nprint(len(text))", "é".repeat(5_000_000));
    assert_eq!(gateway.prints(&code), "5000000\n");
    assert_alive(&mut gateway);
}

#[test]
fn a_program_of_twenty_megabytes_gets_an_answer() {
    let mut gateway = Gateway::new();
    let code = format!("text = '{}'\nprint(len(text))", "x".repeat(20_000_000));
    let answer = gateway.execute(&code);
    assert!(
        answer.text == "[Script executed successfully]\n20000000\n" || answer.is_error,
        "{}",
        answer.text
    );
    assert_alive(&mut gateway);
}

#[test]
fn source_that_is_nested_beyond_reason_is_an_error() {
    let mut gateway = Gateway::new();
    let depth = 100_000;
    let nested = |open: &str, close: &str| open.repeat(depth) + "x" + &close.repeat(depth);
    let cases = [
        (nested("(", ")"), "SyntaxError: too many nested parentheses"),
        (nested("[", "]"), "SyntaxError: too many nested parentheses"),
        (nested("-", ""), "RecursionError: maximum recursion depth exceeded during compilation"),
        (nested("", ".a"), "RecursionError: maximum recursion depth exceeded during compilation"),
        (nested("", "+1"), "RecursionError: maximum recursion depth exceeded during compilation"),
        ("print(1)\0".to_owned(), "SyntaxError: source code string cannot contain null bytes"),
    ];
    for (code, error) in cases {
        let reason = gateway.fails(&code);
        assert_eq!(reason.lines().last(), Some(error));
    }
    assert_alive(&mut gateway);
}

#[test]
fn endless_recursion_is_an_error() {
    let mut gateway = Gateway::with_limits(&json!({ "timeout_seconds": 5 }));
    let deep = "
        def deeper(n):
            return deeper(n + 1)
        deeper(0)
    ";
    let reason = gateway.fails(deep);
    assert!(reason.contains("RecursionError: maximum recursion depth exceeded"), "{reason}");
    // A program that raises the recursion limit fails, and no other program is affected.
    gateway.fails(&format!("import sys\nsys.setrecursionlimit(10**9)\n{}", dedent(deep)));
    assert_alive(&mut gateway);
}

#[test]
fn threads_of_the_systems_python_are_counted_whoever_runs_the_gateway() {
    if !has_system_python() {
        eprintln!("skipped: no CPython from 3.11 on is on PATH");
        return;
    }
    // With small stacks, so that the memory limit does not end it first.
    let code = "
        import threading
        threading.stack_size(64 * 1024)
        wait, started = threading.Event(), 0
        try:
            while started < 9_000:
                threading.Thread(target=wait.wait, daemon=True).start()
                started += 1
        except RuntimeError as error:
            print(error, started <= 4_096)
        wait.set()
    ";
    let execution = json!({ "memory_mb": 4096, "max_total_memory_mb": 8192 });
    let mut gateway = Gateway::with_config(&json!({ "engine": "cpython", "execution": execution }));
    assert_eq!(gateway.prints(code), "can't start new thread True\n");
}
