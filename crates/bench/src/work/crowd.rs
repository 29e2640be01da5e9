//! Many programs at once: none should wait much longer than its share.

use std::cell::RefCell;
use std::process::{Child, Stdio};

use super::HELLO;
use crate::peers::Python;
use crate::rounds::{Contender, interleave, timed};
use crate::section::Section;
use crate::subject::Subject;

const PROGRAMS: u32 = 64;

/// Enough to keep all cores busy.
const INTERPRETERS: u32 = 16;

const AT_ONCE: &str = "onecall, 64 at once, per program";
const IN_A_ROW: &str = "onecall, 64 back to back, per program";
const PROCESSES: &str = "16 CPython processes at once, per process";

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let gateway = RefCell::new(subject.warm_gateway(&[])?);
    let programs = f64::from(PROGRAMS);
    let mut contenders = vec![
        Contender::new(AT_ONCE, || {
            Ok(gateway.borrow_mut().run_at_once(PROGRAMS, HELLO, "hello")? / programs)
        }),
        Contender::new(IN_A_ROW, || {
            Ok(gateway.borrow_mut().run_in_a_row(PROGRAMS, HELLO, "hello")? / programs)
        }),
    ];
    if let Ok(python) = &subject.python {
        contenders
            .push(Contender::new(PROCESSES, || Ok(processes(python)? / f64::from(INTERPRETERS))));
    }
    let mut section = Section::new("64 programs that print one line");
    section.add_times(interleave(subject.rounds(6), contenders)?);
    section.compare(AT_ONCE, IN_A_ROW);
    section.compare(PROCESSES, IN_A_ROW);
    if let Some(samples) = section.samples(AT_ONCE) {
        let wall = samples.median() * programs * 1e3;
        section.note(format!("All 64 at once are answered after {wall:.0} ms."));
    }
    Ok(section)
}

/// Starts all interpreters and waits for all of them.
fn processes(python: &Python) -> Result<f64, String> {
    let (ended, seconds) = timed(|| {
        let start = |_| {
            let mut command = python.command();
            command.args(["-c", HELLO]).stdin(Stdio::null()).stdout(Stdio::null()).spawn()
        };
        let children: Vec<_> = (0..INTERPRETERS).map(start).collect();
        children
            .into_iter()
            .try_for_each(|child| child.and_then(|mut child: Child| child.wait().map(|_| ())))
    });
    ended.map_err(|error| format!("python3 cannot be started: {error}"))?;
    Ok(seconds)
}
