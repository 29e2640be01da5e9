//! Concurrent calls: fifty that take 100 ms each should take little longer than one.

use std::cell::RefCell;

use crate::rounds::{Contender, interleave};
use crate::section::Section;
use crate::subject::Subject;

const ONE_CALL: &str = "print(await mcp__fixture__sleep(ms=100))";
const FIFTY_CALLS: &str = "\
import asyncio
answers = await asyncio.gather(*(mcp__fixture__sleep(ms=100) for _ in range(50)))
print(len(answers))";

const FIFTY: &str = "onecall, 50 calls at once";
const ONE: &str = "onecall, one call";

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let gateway = RefCell::new(subject.warm_gateway(&[])?);
    let contenders = vec![
        Contender::new(FIFTY, || gateway.borrow_mut().run(FIFTY_CALLS, "50")),
        Contender::new(ONE, || gateway.borrow_mut().run(ONE_CALL, "slept")),
    ];
    let mut section = Section::new("calls that take 100 ms each");
    section.add_times(interleave(subject.rounds(9), contenders)?);
    let ratio = section.compare(FIFTY, ONE);
    section.promise_ratio("50 parallel 100 ms calls against one", ratio, 1.3);
    Ok(section)
}
