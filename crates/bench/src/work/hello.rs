//! A program that prints one line: the cost of running a program at all.

use std::cell::RefCell;

use super::HELLO;
use crate::rounds::{Contender, interleave};
use crate::section::Section;
use crate::subject::Subject;

const SINGLE: &str = "onecall, one at a time";
const SDK_SINGLE: &str = "SDK server, one at a time";
const FLOOR: &str = "CPython `exec` in a running process";
const NEW_PROCESS: &str = "CPython started anew";

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let gateway = RefCell::new(subject.warm_gateway(&[])?);
    let sdk = subject.sdk_server().transpose()?.map(RefCell::new);
    let mut contenders = vec![Contender::new(SINGLE, || gateway.borrow_mut().run(HELLO, "hello"))];
    if let Some(sdk) = &sdk {
        contenders.push(Contender::new(SDK_SINGLE, || sdk.borrow_mut().run(HELLO, "hello")));
    }
    if let Ok(python) = &subject.python {
        let mut executor = python.executor(None);
        contenders.push(Contender::new(FLOOR, move || executor.run(HELLO, "hello")));
        contenders.push(Contender::new(NEW_PROCESS, || python.hello_in_new_process()));
    }
    let mut section = Section::new("a program that prints one line, on a warm server");
    section.add_times(interleave(subject.rounds(30), contenders)?);
    let single = section.compare(SINGLE, SDK_SINGLE);
    section.compare(NEW_PROCESS, FLOOR);
    section.promise_ratio("hello against an in-process `exec` server", single, 1.0);
    Ok(section)
}
