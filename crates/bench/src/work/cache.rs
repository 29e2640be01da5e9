//! The cost of a cached answer, compared with the call that it saves.

use std::cell::RefCell;

use serde_json::{Value, json};

use crate::rounds::{Contender, interleave};
use crate::section::Section;
use crate::server::Server;
use crate::subject::Subject;

const CALLS: u32 = 1000;
const PROGRAM: &str = "\
total = 0
for i in range(1000):
    total += await mcp__fixture__add(a=7, b=1)
print(total)";
const PRINTED: &str = "8000";

/// How many calls `SLOW_PROGRAM` makes to a server that takes a moment to answer, as most do.
const SLOW_CALLS: u32 = 100;
const SLOW_PROGRAM: &str = "\
for i in range(100):
    await mcp__fixture__sleep(ms=1)
print('slept')";

const CALL: &str = "a call, at the gateway";
const HIT: &str = "a kept answer, at the gateway";
const SHARED_HIT: &str = "a kept answer, `scope: shared`, at the gateway";
const CALL_SEEN: &str = "a call, as the program sees it";
const HIT_SEEN: &str = "a kept answer, as the program sees it";
const SLOW_CALL_SEEN: &str = "a call of 1 ms, as the program sees it";
const SLOW_HIT_SEEN: &str = "its kept answer, as the program sees it";

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let gateway = |name: &str, mut config: Value| {
        config["expose"] = json!(["programmatic_tool_calling"]);
        // A separate file, not the user's store.
        config["store"] = json!({ "path": subject.folder.join(format!("{name}.db")) });
        subject.warm_gateway_with(name, config).map(RefCell::new)
    };
    let plain = gateway("uncached", json!({}))?;
    let cached = gateway("cached", json!({ "cache": {} }))?;
    let shared = gateway("cached-shared", json!({ "cache": { "scope": "shared" } }))?;
    let calls = f64::from(CALLS);
    let slow_calls = f64::from(SLOW_CALLS);
    let slow = |gateway: &RefCell<Server>| {
        Ok(gateway.borrow_mut().run(SLOW_PROGRAM, "slept")? / slow_calls)
    };
    let contenders = vec![
        Contender::new(CALL, || at_gateway(&mut plain.borrow_mut())),
        Contender::new(HIT, || at_gateway(&mut cached.borrow_mut())),
        Contender::new(SHARED_HIT, || at_gateway(&mut shared.borrow_mut())),
        Contender::new(CALL_SEEN, || Ok(plain.borrow_mut().run(PROGRAM, PRINTED)? / calls)),
        Contender::new(HIT_SEEN, || Ok(cached.borrow_mut().run(PROGRAM, PRINTED)? / calls)),
        Contender::new(SLOW_CALL_SEEN, || slow(&plain)),
        Contender::new(SLOW_HIT_SEEN, || slow(&cached)),
    ];
    let mut section = Section::new("1,000 calls of `add` that ask the same, one after the other");
    section.add_times(interleave(subject.rounds(9), contenders)?);
    let ratio = section.compare(HIT, CALL);
    section.compare(SHARED_HIT, CALL);
    section.compare(HIT_SEEN, CALL_SEEN);
    let slow = section.compare(SLOW_HIT_SEEN, SLOW_CALL_SEEN);
    section.promise_ratio("a kept answer against the call that it saves", ratio, 0.1);
    section.promise_ratio("the same in a program, where the call takes 1 ms", slow, 0.1);
    Ok(section)
}

/// The mean time from a call's arrival at the gateway to its answer, from the record of the run.
/// The way from the program and back is the same for every call.
pub(super) fn at_gateway(gateway: &mut Server) -> Result<f64, String> {
    let answer = gateway.call("programmatic_tool_calling", &json!({ "code": PROGRAM }))?;
    let record: Value = serde_json::from_str(&answer.text).map_err(|error| error.to_string())?;
    let made = record["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    let durations: Option<Vec<f64>> =
        made.iter().map(|call| call["duration_seconds"].as_f64()).collect();
    match durations {
        Some(durations) if durations.len() == CALLS as usize => {
            Ok(durations.iter().sum::<f64>() / f64::from(CALLS))
        }
        _ => Err(format!("the record has no times of {CALLS} calls")),
    }
}
