//! Plans compared with programs that make the same calls.

use std::cell::RefCell;

use serde_json::{Value, json};

use crate::rounds::{Contender, Samples, interleave};
use crate::section::{Section, Unit};
use crate::subject::Subject;

const DEPTH: usize = 40;

const WIDTH: usize = 100;

/// The default of `max_parallel_calls`.
const AT_ONCE: f64 = 64.0;
const SLEEP: f64 = 0.1;

const CHAIN: &str = "a plan of 41 calls in a row";
const CHAIN_BY_HAND: &str = "the same as a program, 41 in a row";
const WIDE: &str = "a plan of 100 calls side by side";
const WIDE_BY_HAND: &str = "the same as a program, 100 side by side";
const SLEEPS: &str = "a plan of 100 calls of 100 ms";
const SLEEPS_AT_BEST: &str = "what 64 at once allow";

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let gateway = RefCell::new(subject.warm_gateway(&[])?);
    let proxy = |plan: &Value, expected: &str| -> Result<f64, String> {
        let answer = gateway.borrow_mut().call("proxy", plan)?;
        match answer.text == expected {
            true => Ok(answer.seconds),
            false => Err(format!("answered '{}' instead of '{expected}'", answer.text)),
        }
    };
    let (chain, wide, sleeps) = (chain(), wide(), sleeps());
    let (chain_program, wide_program) = (chain_program(), wide_program());
    let contenders = vec![
        Contender::new(CHAIN, || proxy(&chain, "41")),
        Contender::new(CHAIN_BY_HAND, || gateway.borrow_mut().run(&chain_program, "41")),
        Contender::new(WIDE, || proxy(&wide, "1")),
        Contender::new(WIDE_BY_HAND, || gateway.borrow_mut().run(&wide_program, "1")),
    ];
    let mut section = Section::new("a plan against the same calls written by hand");
    section.add_times(interleave(subject.rounds(40), contenders)?);
    // Measured separately: after waiting, the processor is slow at first for the next contender.
    let sleeping = vec![Contender::new(SLEEPS, || proxy(&sleeps, "0"))];
    section.add_times(interleave(subject.rounds(15), sleeping)?);
    let best = (WIDTH as f64 / AT_ONCE).ceil() * SLEEP;
    section.add(SLEEPS_AT_BEST, Unit::Seconds, Samples::from(vec![best; subject.rounds(15)]));
    let chain = section.compare(CHAIN, CHAIN_BY_HAND);
    let wide = section.compare(WIDE, WIDE_BY_HAND);
    let sleeps = section.compare(SLEEPS, SLEEPS_AT_BEST);
    section.promise_ratio("a plan in a row against the program", chain, 1.1);
    section.promise_ratio("a plan side by side against the program", wide, 1.1);
    section.promise_ratio("100 calls of 100 ms against what is allowed at once", sleeps, 1.5);
    Ok(section)
}

fn add(a: &Value, b: u64) -> Value {
    json!({ "__tool__": "add", "args": { "a": a, "b": b } })
}

fn chain() -> Value {
    let inner = (0..DEPTH - 1).fold(add(&json!(0), 1), |inner, _| add(&inner, 1));
    json!({ "target_tool": "add", "tool_args": { "a": add(&inner, 0), "b": 1 } })
}

/// The program that a person would write for 41 different calls, without a loop.
fn chain_program() -> String {
    let mut program = "value = await mcp__fixture__add(a=0, b=1)\n".to_owned();
    program.push_str(&"value = await mcp__fixture__add(a=value, b=1)\n".repeat(DEPTH));
    program + "print(value)"
}

fn wide_program() -> String {
    let calls: Vec<String> =
        (0..WIDTH).map(|number| format!("mcp__fixture__add(a={number}, b=1)")).collect();
    format!(
        "import asyncio\nfirst, *others = await asyncio.gather({})\n\
         print(await mcp__fixture__add(a=first, b=0, others=others))",
        calls.join(", ")
    )
}

/// An argument whose first result is all that the target needs.
fn first_of(calls: &[Value]) -> Value {
    let (first, rest) = calls.split_first().map_or((&Value::Null, &[][..]), |parts| parts);
    let others: Vec<&Value> = rest.iter().collect();
    json!({ "target_tool": "add", "tool_args": { "a": first, "b": 0, "others": others } })
}

fn wide() -> Value {
    let calls: Vec<Value> = (0..WIDTH).map(|number| add(&json!(number), 1)).collect();
    first_of(&calls)
}

fn sleeps() -> Value {
    let sleep =
        json!({ "__tool__": "sleep", "args": { "ms": 100 }, "__transform__": "lambda r: 0" });
    first_of(&vec![sleep; WIDTH])
}
