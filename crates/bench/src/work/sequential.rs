//! Sequential tool calls: the cost of a call through a program's process and the gateway, compared
//! with a direct call to the server. Measured with the leanest possible server, which shows the
//! cost of onecall itself, and with one on the official SDK, which shows how much of it matters.

use std::cell::RefCell;

use serde_json::json;
use testkit::rpc::BareClient;

use super::HELLO;
use crate::peers::Peer;
use crate::rounds::{Contender, Ratio, interleave, timed};
use crate::section::{Section, Unit};
use crate::subject::Subject;

/// How many calls a program or a client makes.
pub(super) const CALLS: u32 = 1000;
const PROGRAM: &str = "\
total = 0
for i in range(1000):
    total += await mcp__fixture__add(a=i, b=1)
print(total)";
const PRINTED: &str = "500500";

/// The cost of a call that the design allows, and that an in-process `exec` server was found to
/// have: both as multiples of a bare call, to a server that was less lean than the fixture.
const ALLOWED: f64 = 2.5;
const NEEDED_BY_EXEC: f64 = 7.6;

const OURS: &str = "onecall, per call";
const BARE: &str = "bare client, per call";
const SDK: &str = "SDK server, per call";
const HELLO_ALONE: &str = "onecall, a program without calls";
const NET: &str = "onecall, per call, net of that";
const OURS_TO_SDK: &str = "onecall, per call of a tool on the Python SDK";
const BARE_TO_SDK: &str = "bare client, per call of a tool on the Python SDK";

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let gateway = RefCell::new(subject.warm_gateway(&[])?);
    let mut bare = subject.bare();
    let sdk = subject.sdk_server().transpose()?.map(RefCell::new);
    let calls = f64::from(CALLS);
    let mut contenders = vec![
        Contender::new(OURS, || Ok(gateway.borrow_mut().run(PROGRAM, PRINTED)? / calls)),
        Contender::new(BARE, || {
            let (calls_answered, seconds) = timed(|| call_all(&mut bare));
            calls_answered.map(|()| seconds / calls)
        }),
        Contender::new(HELLO_ALONE, || gateway.borrow_mut().run(HELLO, "hello")),
    ];
    if let Some(sdk) = &sdk {
        contenders
            .push(Contender::new(SDK, || Ok(sdk.borrow_mut().run(PROGRAM, PRINTED)? / calls)));
    }
    let measured = interleave(subject.rounds(9), contenders)?;
    let mut section = Section::new("1,000 calls of `add`, one after the other, in one program");
    section.add_times(measured);
    if let (Some(ours), Some(hello)) = (section.samples(OURS), section.samples(HELLO_ALONE)) {
        let net = ours.minus(&hello.per(calls));
        section.add(NET, Unit::Seconds, net);
    }
    let ratio = section.compare(OURS, BARE);
    section.compare(SDK, BARE);
    section.compare(NET, BARE);
    section.promise_ratio("a bridged call against a bare one", ratio, ALLOWED);
    if let (Some(ours), Some(sdk)) = (section.samples(OURS), section.samples(SDK)) {
        let ratio = Ratio::of(ours, sdk);
        let share = (ALLOWED / NEEDED_BY_EXEC * 100.0).round() / 100.0;
        let promise = "the same against that of an in-process `exec` server";
        section.promise_ratio(promise, Some(ratio), share);
        section.note(format!(
            "The design counts in calls of a bare client, and found that an in-process `exec` server \
             needs {NEEDED_BY_EXEC} of them. In front of a server that answers in ten microseconds it \
             needs far more, and so do we; measured by that server, {ALLOWED} of its {NEEDED_BY_EXEC} \
             are {share}."
        ));
    }
    match Peer::sdk_tools() {
        Ok(tools) => in_front_of_sdk(subject, &tools, &mut section)?,
        Err(error) => section.note(format!("No tool on the Python SDK was called: {error}")),
    }
    Ok(section)
}

/// Makes the calls with a server that does what most servers do for each call.
fn in_front_of_sdk(subject: &Subject, tools: &Peer, section: &mut Section) -> Result<(), String> {
    let config = json!({ "servers": [tools.entry("fixture")] });
    let mut gateway = subject.warm_gateway_in_front_of("sdk-tools", config)?;
    let mut bare = BareClient::open(tools.alone());
    let calls = f64::from(CALLS);
    let contenders = vec![
        Contender::new(OURS_TO_SDK, || Ok(gateway.run(PROGRAM, PRINTED)? / calls)),
        Contender::new(BARE_TO_SDK, || {
            let (calls_answered, seconds) = timed(|| call_all(&mut bare));
            calls_answered.map(|()| seconds / calls)
        }),
    ];
    section.add_times(interleave(subject.rounds(5), contenders)?);
    let ratio = section.compare(OURS_TO_SDK, BARE_TO_SDK);
    let promise = "the same in front of a server on the official SDK";
    section.promise_ratio(promise, ratio, ALLOWED);
    Ok(())
}

/// Makes the calls without a program: requests are written and answers read, but not parsed.
pub(super) fn call_all(bare: &mut BareClient) -> Result<(), String> {
    for number in 0..CALLS {
        let answer = bare.call_raw(&format!(
            r#"{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"add","arguments":{{"a":{number},"b":1}}}}}}"#
        ));
        if !answer.contains(&format!(r#""structuredContent":{{"result":{}}}"#, number + 1)) {
            return Err(format!("the call of add({number}, 1) was answered with {answer}"));
        }
    }
    Ok(())
}
