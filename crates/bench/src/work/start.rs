//! Starting: how long an agent's client waits for the gateway.

use crate::rounds::Samples;
use crate::section::{Section, Unit};
use crate::server::Server;
use crate::subject::Subject;

use super::HELLO;

const INITIALIZED: &str = "onecall, `initialize` answered";
const FIRST: &str = "onecall, first program answered";
const FIRST_CALL: &str = "onecall, first program with a call, its server prompt";
const SDK: &str = "SDK server, `initialize` answered, its server prompt";
const BARE: &str = "fixture server, `initialize` answered";

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let rounds = subject.rounds(8);
    let [mut initialized, mut first, mut first_call, mut sdk, mut bare] = [const { Vec::new() }; 5];
    for _ in 0..rounds {
        let mut gateway = Server::start(subject.serve(&["--start-delay-ms", "2000"])?)?;
        initialized.push(gateway.initialized_after);
        first.push(gateway.initialized_after + gateway.run(HELLO, "hello")?);
        drop(gateway);
        let mut prompt = Server::start(subject.serve(&[])?)?;
        let call = prompt.run("print(await mcp__fixture__add(a=1, b=1))", "2")?;
        first_call.push(prompt.initialized_after + call);
        drop(prompt);
        bare.push(Server::start(std::process::Command::new(&subject.fixture))?.initialized_after);
        if let Some(server) = subject.sdk_server() {
            sdk.push(server?.initialized_after);
        }
    }
    let mut section = Section::new("from the start of the process, its one server taking 2 s");
    let lines = [
        (INITIALIZED, initialized),
        (FIRST, first),
        (FIRST_CALL, first_call),
        (BARE, bare),
        (SDK, sdk),
    ];
    for (name, values) in lines.into_iter().filter(|(_, values)| !values.is_empty()) {
        section.add(name, Unit::Seconds, Samples::from(values));
    }
    section.compare(INITIALIZED, BARE);
    section.compare(FIRST, INITIALIZED);
    section.compare(SDK, BARE);
    section.promise_at_most("`initialize` answered before any downstream is up", INITIALIZED, 0.05);
    Ok(section)
}
