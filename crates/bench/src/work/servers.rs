//! Many servers: servers that hang must not delay others, and all start at once.

use std::cell::RefCell;

use serde_json::{Value, json};

use crate::rounds::{Contender, Samples, interleave};
use crate::section::{Section, Unit};
use crate::server::Server;
use crate::subject::Subject;

/// One call to each of ten servers, twenty times.
const CALLS: &str = "\
tools = [mcp__s0__add, mcp__s1__add, mcp__s2__add, mcp__s3__add, mcp__s4__add,
         mcp__s5__add, mcp__s6__add, mcp__s7__add, mcp__s8__add, mcp__s9__add]
total = 0
for number in range(200):
    total += await tools[number % 10](a=number, b=1)
print(total)";
const TOTAL: &str = "20100";
const CALL_COUNT: f64 = 200.0;

const HALF_HUNG: &str = "a call, ten of twenty servers hung";
const ALL_WELL: &str = "a call, all twenty servers well";

const SERVERS: usize = 200;
const TOOLS: usize = 50;
/// The start time of each server, so that the result shows what happens concurrently.
const OWN_START: [&str; 4] = ["--tools", "50", "--start-delay-ms", "1000"];

const CROWD: &str = "200 servers with 50 tools each, from the start to the first list";
const ALONE: &str = "one of them, from the start to the first list";

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let mut section = Section::new("many servers");
    measure_hung_servers(subject, &mut section)?;
    ready(subject, &mut section)?;
    Ok(section)
}

/// Whether servers that never answer slow down calls to others.
fn measure_hung_servers(subject: &Subject, section: &mut Section) -> Result<(), String> {
    let gateway = |name: &str, flags: &[&str]| -> Result<RefCell<Server>, String> {
        let servers = (0..20).map(|number| {
            let flags = if number < 10 { &[] } else { flags };
            let mut server = subject.server(&format!("s{number}"), flags);
            server["connect_timeout_seconds"] = json!(600);
            server
        });
        let config = json!({ "servers": servers.collect::<Vec<Value>>() });
        let mut server = Server::start(subject.serve_config(name, config)?)?;
        server.run(CALLS, TOTAL)?;
        Ok(RefCell::new(server))
    };
    let half = gateway("half-hung", &["--hang-on-init"])?;
    let well = gateway("all-well", &[])?;
    let contenders = vec![
        Contender::new(HALF_HUNG, || Ok(half.borrow_mut().run(CALLS, TOTAL)? / CALL_COUNT)),
        Contender::new(ALL_WELL, || Ok(well.borrow_mut().run(CALLS, TOTAL)? / CALL_COUNT)),
    ];
    section.add_times(interleave(subject.rounds(12), contenders)?);
    let ratio = section.compare(HALF_HUNG, ALL_WELL);
    section.promise_ratio("half of twenty servers hung: calls to the others", ratio, 1.2);
    Ok(())
}

/// How long it takes until the tools of all servers are known.
fn ready(subject: &Subject, section: &mut Section) -> Result<(), String> {
    let (mut crowd, mut alone) = (Samples::default(), Samples::default());
    for _ in 0..subject.rounds(5) {
        for (count, samples) in [(SERVERS, &mut crowd), (1, &mut alone)] {
            let servers =
                (0..count).map(|number| subject.server(&format!("s{number}"), &OWN_START));
            let config = json!({ "servers": servers.collect::<Vec<Value>>() });
            let name = format!("{count}-servers");
            let mut gateway = Server::start(subject.serve_config(&name, config)?)?;
            let seconds = gateway.list_callable_tools(count * TOOLS)?;
            samples.push(gateway.initialized_after + seconds);
        }
    }
    section.add(CROWD, Unit::Seconds, crowd);
    section.add(ALONE, Unit::Seconds, alone);
    let ratio = section.compare(CROWD, ALONE);
    section
        .note("Each server takes a second for its own start; the rest is what all of them share.");
    section.promise_ratio("200 servers with 50 tools each: ready against one of them", ratio, 2.0);
    Ok(())
}
