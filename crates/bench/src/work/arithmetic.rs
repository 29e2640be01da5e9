//! Plain computing, which programs here are not meant for: shows the cost of the interpreters, for
//! variables of the top level and of a function.

use std::cell::RefCell;

use serde_json::json;

use crate::rounds::{Contender, interleave};
use crate::section::Section;
use crate::subject::Subject;

const TOP_LEVEL: &str = "s = 0\nfor i in range(1_000_000): s += i\nprint(s)";
const FUNCTION: &str = "\
def count():
    s = 0
    for i in range(1_000_000): s += i
    return s
print(count())";
const PRINTED: &str = "499999500000";

const EMBEDDED: &str = "at the top level, embedded";
const EMBEDDED_FUNCTION: &str = "inside a function, embedded";
const SYSTEM: &str = "at the top level, cpython";
const SYSTEM_FUNCTION: &str = "inside a function, cpython";
const EXEC: &str = "at the top level, CPython `exec` in a running process";

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let embedded = RefCell::new(subject.warm_gateway(&[])?);
    let system;
    let mut contenders = vec![
        Contender::new(EMBEDDED, || embedded.borrow_mut().run(TOP_LEVEL, PRINTED)),
        Contender::new(EMBEDDED_FUNCTION, || embedded.borrow_mut().run(FUNCTION, PRINTED)),
    ];
    if let Ok(python) = &subject.python {
        system =
            RefCell::new(subject.warm_gateway_with("cpython", json!({ "engine": "cpython" }))?);
        let mut executor = python.executor(None);
        contenders.extend([
            Contender::new(SYSTEM, || system.borrow_mut().run(TOP_LEVEL, PRINTED)),
            Contender::new(SYSTEM_FUNCTION, || system.borrow_mut().run(FUNCTION, PRINTED)),
            Contender::new(EXEC, move || executor.run(TOP_LEVEL, PRINTED)),
        ]);
    }
    let mut section = Section::new("a loop of 1,000,000 steps, for information");
    section.add_times(interleave(subject.rounds(9), contenders)?);
    for name in [EMBEDDED, EMBEDDED_FUNCTION, SYSTEM, SYSTEM_FUNCTION] {
        section.compare(name, EXEC);
    }
    Ok(section)
}
