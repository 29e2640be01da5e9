//! Thousands of programs through one gateway: it ends as it began.

use std::collections::VecDeque;

use serde_json::json;
use testkit::mcp::CallId;
use testkit::process::{Process, wait_until};

use crate::support::resource_usage::ResourceUsage;
use crate::support::{Gateway, TIMEOUT};

/// Enough to have used everything once, on every thread of the gateway.
const WARM_UP: usize = 200;

const PROGRAMS: usize = 2_000;

/// Programs under way at any moment.
const AT_ONCE: usize = 6;

/// Of these, three in all end by their time limit.
const ENDLESS: [usize; 3] = [500, 1_000, 1_500];

/// What gateway and zygote may have grown by in the end, in hundredths of what it had.
const MOST_GROWTH: u64 = 5;

/// A program and the answer to it.
fn program(number: usize) -> (String, String) {
    let success = |output: String| format!("[Script executed successfully]\n{output}");
    if ENDLESS.contains(&number) {
        let answer = "[Script execution failed]\nTimeoutError: Execution exceeded 8s limit";
        return ("while True: pass".to_owned(), answer.to_owned());
    }
    match number % 6 {
        0 => (format!("print('hello', {number})"), success(format!("hello {number}\n"))),
        1 => (
            format!("print(await mcp__fixture__add({number}, 1))"),
            success(format!("{}\n", number + 1)),
        ),
        2 => (
            "import asyncio\n\
             rows = await mcp__fixture__rows(count=50)\n\
             calls = [mcp__fixture__add(n, n) for n in range(10)]\n\
             print(len(rows), sum(await asyncio.gather(*calls)))"
                .to_owned(),
            success("50 90\n".to_owned()),
        ),
        3 => (
            format!("raise SystemExit('failure {number}')"),
            format!("[Script execution failed]\nSystemExit: failure {number}"),
        ),
        4 => (
            "for n in range(200): print(n, 'x' * 50)".to_owned(),
            success((0..200).map(|n| format!("{n} {}\n", "x".repeat(50))).collect()),
        ),
        _ => (
            "import os\nos._exit(3)".to_owned(),
            "[Script execution failed]\nthe program ended its own process with exit code 3"
                .to_owned(),
        ),
    }
}

/// Runs programs, a few at once, and checks every answer.
fn run(gateway: &mut Gateway, numbers: impl Iterator<Item = usize>) {
    let mut under_way: VecDeque<(usize, CallId)> = VecDeque::new();
    let finish = |gateway: &mut Gateway, (number, call): (usize, CallId)| {
        assert_eq!(gateway.session.finish_call(call).text, program(number).1, "program {number}");
    };
    for number in numbers {
        if under_way.len() == AT_ONCE {
            finish(gateway, under_way.pop_front().unwrap());
        }
        under_way.push_back((number, gateway.start(&program(number).0)));
    }
    for last in under_way {
        finish(gateway, last);
    }
}

fn resource_usage(gateway: &mut Gateway) -> ResourceUsage {
    ResourceUsage::read(gateway.pid(), &[], "nothing is marked")
}

/// Of the gateway and of the zygote.
fn memory(gateway: &mut Gateway) -> [u64; 2] {
    let processes = [Process::read(gateway.pid()).unwrap(), gateway.zygote()];
    processes.map(|process| process.resident_bytes().unwrap())
}

#[test]
fn a_gateway_ends_as_it_began() {
    let mut gateway = Gateway::with_limits(&json!({ "timeout_seconds": 8 }));
    run(&mut gateway, 0..WARM_UP);
    let before = ResourceUsage::when_idle(|| resource_usage(&mut gateway));
    let memory_before = memory(&mut gateway);
    run(&mut gateway, 0..PROGRAMS);
    let mut after = resource_usage(&mut gateway);
    wait_until(TIMEOUT, || {
        after = resource_usage(&mut gateway);
        after == before
    });
    assert_eq!(after, before, "{}", after.difference(&before));
    for (before, after) in memory_before.into_iter().zip(memory(&mut gateway)) {
        assert!(after <= before + before * MOST_GROWTH / 100, "from {before} to {after} bytes");
    }
}
