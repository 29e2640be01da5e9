//! Many programs at once on one connection.

use std::collections::HashSet;

use serde_json::json;
use testkit::mcp::CallId;

use crate::support::{Gateway, printed};

const PROGRAMS: u64 = 64;
const CALLS: u64 = 20;

#[test]
fn no_reply_is_crossed_or_lost() {
    let mut gateway = Gateway::new();
    let calls: Vec<CallId> = (0..PROGRAMS)
        .map(|program| {
            let first = program * 1000;
            // Half of them one call after the other, half of them all at once.
            let ask = match program % 2 {
                0 => format!("[await mcp__fixture__add({first}, n) for n in range({CALLS})]"),
                _ => format!(
                    "await asyncio.gather(*(mcp__fixture__add({first}, n) for n in range({CALLS})))"
                ),
            };
            gateway.start(&format!("import asyncio\nprint({program}, {ask})"))
        })
        .collect();
    // Answers may be taken in any order.
    for (program, call) in (0..PROGRAMS).rev().zip(calls.into_iter().rev()) {
        let sums: Vec<u64> = (0..CALLS).map(|n| program * 1000 + n).collect();
        let answer = gateway.session.finish_call(call);
        assert_eq!(printed(&answer), format!("{program} {sums:?}\n"));
    }
    assert_eq!(gateway.session.client().unexpected_lines(), [""; 0]);
}

/// Ends when sixteen of it run, or fails to.
const TOGETHER: &str = "print(await mcp__fixture__in_flight(ms=60_000, until=16))";

#[test]
fn programs_wait_for_each_others_calls_side_by_side() {
    // So many fit on any machine.
    let mut gateway = Gateway::with_limits(&json!({ "memory_mb": 64 }));
    let calls: Vec<CallId> = (0..16).map(|_| gateway.start(TOGETHER)).collect();
    let most: Vec<u32> = calls
        .into_iter()
        .map(|call| printed(&gateway.session.finish_call(call)).trim().parse().unwrap())
        .collect();
    assert_eq!(most.iter().max(), Some(&16));
}

#[test]
fn every_call_of_every_program_is_made_once() {
    let mut gateway = Gateway::new();
    let code = format!("print([await mcp__fixture__counter() for _ in range({CALLS})])");
    let calls: Vec<CallId> = (0..32).map(|_| gateway.start(&code)).collect();
    let mut seen = HashSet::new();
    for call in calls {
        let numbers: Vec<u64> =
            serde_json::from_str(printed(&gateway.session.finish_call(call)).trim()).unwrap();
        seen.extend(numbers);
    }
    assert_eq!(seen, (1..=32 * CALLS).collect());
}

#[test]
fn quick_requests_overtake_a_slow_program() {
    let mut gateway = Gateway::new();
    let slow = gateway.start("await mcp__fixture__hang()");
    assert_eq!(gateway.prints("print('quick')"), "quick\n");
    assert_eq!(gateway.callable_tools().len(), 35);
    let inspected =
        gateway.session.call_tool("inspect_tool", json!({ "tool_name": "mcp__fixture__add" }));
    assert!(!inspected.is_error);
    gateway.session.cancel(slow);
}
