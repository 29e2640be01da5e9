//! The cost of the sandbox, and how soon a program that exceeds its time limit is ended.

use std::cell::RefCell;

use serde_json::json;

use super::HELLO;
use crate::rounds::{Contender, interleave};
use crate::section::Section;
use crate::subject::Subject;

const JAILED: &str = "hello, jailed";
const FREE: &str = "hello, `sandbox: off`";
const KILL: &str = "from the time limit to the answer";

const LIMIT: f64 = 0.2;

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let jailed = RefCell::new(subject.warm_gateway(&[])?);
    let free = RefCell::new(subject.warm_gateway_with("sandbox-off", json!({ "sandbox": "off" }))?);
    let limits = json!({ "execution": { "timeout_seconds": LIMIT } });
    let limited = RefCell::new(subject.warm_gateway_with("limited", limits)?);
    let timed_out =
        format!("[Script execution failed]\nTimeoutError: Execution exceeded {LIMIT}s limit");
    let contenders = vec![
        Contender::new(JAILED, || jailed.borrow_mut().run(HELLO, "hello")),
        Contender::new(FREE, || free.borrow_mut().run(HELLO, "hello")),
        Contender::new(KILL, || {
            let seconds =
                limited.borrow_mut().run_expecting_failure("while True: pass", &timed_out)?;
            Ok((seconds - LIMIT).max(0.0))
        }),
    ];
    let mut section = Section::new("the walls around a program");
    section.add_times(interleave(subject.rounds(30), contenders)?);
    let jail = section.compare(JAILED, FREE);
    section.promise_ratio("a jailed hello against one without walls", jail, 1.5);
    section.promise_at_most("a kill after its limit", KILL, 0.25);
    Ok(section)
}
