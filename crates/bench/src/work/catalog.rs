//! Ten thousand tools: what listing them costs, and a program that uses three of them.

use std::cell::RefCell;

use serde_json::json;
use testkit::process::Process;

use super::HELLO;
use crate::rounds::{Contender, Samples, interleave};
use crate::section::{Section, Unit};
use crate::server::Server;
use crate::subject::Subject;

const MANY: [&str; 4] = ["--tools", "10000", "--page-size", "500"];
const THREE: &str = "\
total = await mcp__fixture__add(a=1, b=2)
echo = await mcp__fixture__echo(value=total)
print(echo, await mcp__fixture__weird_name_tool())";
const PRINTED: &str = "3 ok";

const READY: &str = "10,000 tools, from the start to the first list";
const READY_FEW: &str = "few tools, from the start to the first list";
const LIST: &str = "`list_callable_tools`, 10,000 tools";
const LIST_FEW: &str = "`list_callable_tools`, few tools";
const HELLO_MANY: &str = "hello, 10,000 tools";
const HELLO_FEW: &str = "hello, few tools";
const THREE_MANY: &str = "a program with three tools, 10,000 tools";
const THREE_FEW: &str = "a program with three tools, few tools";
const SEARCH: &str = "`search_tools`, 10,000 tools";

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let mut section = Section::new("10,000 tools against the fixture's own");
    ready(subject, &mut section)?;
    let many = &RefCell::new(subject.warm_gateway(&MANY)?);
    let few = RefCell::new(subject.warm_gateway(&[])?);
    let list = |gateway: &RefCell<Server>| -> Result<f64, String> {
        Ok(gateway.borrow_mut().call("list_callable_tools", &json!({}))?.seconds)
    };
    let mut contenders = vec![
        Contender::new(LIST, || list(many)),
        Contender::new(LIST_FEW, || list(&few)),
        Contender::new(HELLO_MANY, || many.borrow_mut().run(HELLO, "hello")),
        Contender::new(HELLO_FEW, || few.borrow_mut().run(HELLO, "hello")),
        Contender::new(THREE_MANY, || many.borrow_mut().run(THREE, PRINTED)),
        Contender::new(THREE_FEW, || few.borrow_mut().run(THREE, PRINTED)),
    ];
    let searches = many.borrow_mut().has_tool("search_tools")?;
    if searches {
        let query = json!({ "query": "cancel the subscription of a customer" });
        contenders.push(Contender::new(SEARCH, move || {
            Ok(many.borrow_mut().call("search_tools", &query)?.seconds)
        }));
    } else {
        section.note("The server has no `search_tools` yet, so its promise is not measured.");
    }
    section.add_times(interleave(subject.rounds(40), contenders)?);
    section.compare(LIST, LIST_FEW);
    section.compare(HELLO_MANY, HELLO_FEW);
    let three = section.compare(THREE_MANY, THREE_FEW);
    section.note(format!("Resident: {} with few tools, {} with 10,000.", size(&few), size(many)));
    section.promise_at_most("10,000 tools: `list_callable_tools`", LIST, 0.02);
    section.promise_at_most("10,000 tools: `search_tools`", SEARCH, 0.005);
    // "No cost", with a tolerance for the differences between two runs of the same program.
    section.promise_ratio("10,000 tools: a program that uses three", three, 1.1);
    Ok(section)
}

/// How long it takes until every tool is known.
fn ready(subject: &Subject, section: &mut Section) -> Result<(), String> {
    let (mut many, mut few) = (Samples::default(), Samples::default());
    for _ in 0..subject.rounds(3) {
        for (flags, samples, at_least) in [(&MANY[..], &mut many, 10_000), (&[], &mut few, 1)] {
            let mut gateway = Server::start(subject.serve(flags)?)?;
            let seconds = gateway.list_callable_tools(at_least)?;
            samples.push(gateway.initialized_after + seconds);
        }
    }
    section.add(READY, Unit::Seconds, many);
    section.add(READY_FEW, Unit::Seconds, few);
    section.compare(READY, READY_FEW);
    Ok(())
}

fn size(gateway: &RefCell<Server>) -> String {
    let process = Process::read(gateway.borrow().pid());
    let bytes = process.and_then(|process| process.resident_bytes()).unwrap_or_default();
    Unit::Bytes.show(bytes as f64)
}
