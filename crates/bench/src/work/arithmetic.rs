//! Plain computing, which programs here are not meant for: shows the cost of the embedded
//! interpreter.

use std::cell::RefCell;

use crate::rounds::{Contender, interleave};
use crate::section::Section;
use crate::subject::Subject;

const LOOP: &str = "s = 0\nfor i in range(1_000_000): s += i\nprint(s)";
const PRINTED: &str = "499999500000";

const OURS: &str = "onecall";
const CPYTHON: &str = "CPython `exec` in a running process";

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let gateway = RefCell::new(subject.warm_gateway(&[])?);
    let mut contenders = vec![Contender::new(OURS, || gateway.borrow_mut().run(LOOP, PRINTED))];
    if let Ok(python) = &subject.python {
        let mut executor = python.executor(None);
        contenders.push(Contender::new(CPYTHON, move || executor.run(LOOP, PRINTED)));
    }
    let mut section = Section::new("a loop of 1,000,000 steps, for information");
    section.add_times(interleave(subject.rounds(9), contenders)?);
    section.compare(OURS, CPYTHON);
    Ok(section)
}
