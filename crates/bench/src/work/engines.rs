//! The system's Python compared with the embedded one, on the same gateway.

use std::cell::RefCell;

use serde_json::json;

use super::HELLO;
use crate::rounds::{Contender, interleave};
use crate::section::Section;
use crate::subject::Subject;

const LOOP: &str = "s = 0\nfor i in range(1_000_000): s += i\nprint(s)";
const SUM: &str = "499999500000";

const CALLS: u32 = 200;
const CALLING: &str = "for _ in range(200): await mcp__fixture__add(a=1, b=2)\nprint('hello')";

const HELLO_EMBEDDED: &str = "hello, embedded";
const HELLO_SYSTEM: &str = "hello, cpython";
const CALL_EMBEDDED: &str = "one of 200 calls in a row, embedded";
const CALL_SYSTEM: &str = "one of 200 calls in a row, cpython";
const LOOP_EMBEDDED: &str = "a loop of 1,000,000 steps, embedded";
const LOOP_SYSTEM: &str = "a loop of 1,000,000 steps, cpython";

pub fn measure(subject: &Subject) -> Result<Section, String> {
    subject.python.as_ref().map_err(Clone::clone)?;
    let embedded = RefCell::new(subject.warm_gateway(&[])?);
    let system =
        RefCell::new(subject.warm_gateway_with("cpython", json!({ "engine": "cpython" }))?);
    let calls = f64::from(CALLS);
    let contenders = vec![
        Contender::new(HELLO_EMBEDDED, || embedded.borrow_mut().run(HELLO, "hello")),
        Contender::new(HELLO_SYSTEM, || system.borrow_mut().run(HELLO, "hello")),
        Contender::new(CALL_EMBEDDED, || Ok(embedded.borrow_mut().run(CALLING, "hello")? / calls)),
        Contender::new(CALL_SYSTEM, || Ok(system.borrow_mut().run(CALLING, "hello")? / calls)),
        Contender::new(LOOP_EMBEDDED, || embedded.borrow_mut().run(LOOP, SUM)),
        Contender::new(LOOP_SYSTEM, || system.borrow_mut().run(LOOP, SUM)),
    ];
    let mut section = Section::new("the engine `cpython` against the embedded one");
    section.add_times(interleave(subject.rounds(15), contenders)?);
    section.compare(HELLO_SYSTEM, HELLO_EMBEDDED);
    section.compare(CALL_SYSTEM, CALL_EMBEDDED);
    section.compare(LOOP_SYSTEM, LOOP_EMBEDDED);
    Ok(section)
}
