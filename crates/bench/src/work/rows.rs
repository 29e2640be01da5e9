//! Data: 20,000 rows are fetched, filtered and summed up in a program.

use std::cell::RefCell;

use crate::rounds::{Contender, interleave, timed};
use crate::section::Section;
use crate::subject::Subject;

const BRIDGED: &str = "rows = await mcp__fixture__rows(count=20000)\n";
const IN_PROCESS: &str = "rows = call('rows', count=20000)\n";
const COUNT: &str = "print(len(rows))";
const SUM: &str = "\
totals = {}
for row in rows:
    if row['quantity'] >= 10:
        region = row['region']
        totals[region] = totals.get(region, 0) + row['quantity'] * row['price']
print(*(f'{region} {totals[region]:.2f}' for region in sorted(totals)))";

const OURS: &str = "onecall";
const OURS_FETCH: &str = "onecall, only fetched";
const FLOOR: &str = "CPython in-process";
const FLOOR_FETCH: &str = "CPython in-process, only fetched";
const NEW_PROCESS: &str = "CPython and its server started anew";
const SDK: &str = "SDK server";

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let gateway = RefCell::new(subject.warm_gateway(&[])?);
    let sdk = subject.sdk_server().transpose()?.map(RefCell::new);
    let python = subject.python.as_ref().ok();
    let executor = python.map(|python| RefCell::new(python.executor(Some(&subject.fixture))));
    let bridged = |rest: &str| format!("{BRIDGED}{rest}");
    let in_process = |rest: &str| format!("{IN_PROCESS}{rest}");
    let sums = sums(subject)?;
    let mut contenders = vec![
        Contender::new(OURS, || gateway.borrow_mut().run(&bridged(SUM), &sums)),
        Contender::new(OURS_FETCH, || gateway.borrow_mut().run(&bridged(COUNT), "20000")),
    ];
    if let Some(executor) = &executor {
        contenders
            .push(Contender::new(FLOOR, || executor.borrow_mut().run(&in_process(SUM), &sums)));
        contenders.push(Contender::new(FLOOR_FETCH, || {
            executor.borrow_mut().run(&in_process(COUNT), "20000")
        }));
    }
    if let Some(python) = python {
        contenders.push(Contender::new(NEW_PROCESS, || {
            let work = || python.executor(Some(&subject.fixture)).run(&in_process(SUM), &sums);
            let (result, seconds) = timed(work);
            result.map(|_| seconds)
        }));
    }
    if let Some(sdk) = &sdk {
        contenders.push(Contender::new(SDK, || sdk.borrow_mut().run(&bridged(SUM), &sums)));
    }
    let measured = interleave(subject.rounds(12), contenders)?;
    let mut section = Section::new("20,000 rows (1.9 MB of JSON) fetched, filtered and summed");
    section.add_times(measured);
    let ratio = section.compare(OURS, FLOOR);
    section.compare(OURS_FETCH, FLOOR_FETCH);
    section.compare(NEW_PROCESS, FLOOR);
    section.compare(SDK, FLOOR);
    section.promise_ratio("20,000 rows against CPython in-process", ratio, 1.2);
    Ok(section)
}

/// The output that every contender has to print.
fn sums(subject: &Subject) -> Result<String, String> {
    let mut gateway = subject.warm_gateway(&[])?;
    let code = format!("{BRIDGED}{SUM}");
    let answer = gateway.call("execute_program", &serde_json::json!({ "code": code }))?;
    Ok(answer.text.lines().nth(1).unwrap_or_default().to_owned())
}
