//! The command line with five published servers: how long a person waits.

use std::process::{Command, Stdio};
use std::thread;

use serde_json::{Value, json};
use testkit::packages::{NODE, node, npm, venv};

use crate::rounds::{Contender, interleave, timed};
use crate::section::Section;
use crate::server::Server;
use crate::subject::Subject;

const LIST: &str = "`list`, five servers";
const LIST_NONE: &str = "`list`, no server";
const RUN: &str = "`run` of `print(1)`, five servers";
const RUN_NONE: &str = "`run` of `print(1)`, no server";
const CALL: &str = "`call` of one tool, five servers";
const CALL_ALONE: &str = "its server alone, from the start to the answer";
const TOOLS: &str = "`tools`, five servers";
const CHECK: &str = "`check`, five servers";
const ALL_ALONE: &str = "the five servers alone, all started at once, to their lists of tools";
const DOCTOR: &str = "`doctor`, five servers";
const DOCTOR_NONE: &str = "`doctor`, no server";
const FIRST: &str = "first program over MCP, five servers";
const FIRST_NONE: &str = "first program over MCP, no server";

const PROGRAM: &str = "print(1)";

/// In seconds. On a busy machine a measurement is slow, but does not fail.
const CONNECT_TIMEOUT: u32 = 120;

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let servers = published(subject)?;
    let everything = servers.first().ok_or("there is no server")?;
    let five =
        CommandLine { subject, name: "five-published", config: json!({ "servers": servers }) };
    let none = CommandLine { subject, name: "no-server", config: json!({ "servers": [] }) };
    let run = ["run", "-e", PROGRAM];
    let call = ["call", "mcp__everything__echo", "message=hello"];
    // These include the start of one server; the start without onecall is measured beside them.
    let contenders = vec![
        Contender::new(LIST, || five.seconds(&["list"], "everything")),
        Contender::new(LIST_NONE, || none.seconds(&["list"], "")),
        Contender::new(RUN, || five.seconds(&run, "1")),
        Contender::new(RUN_NONE, || none.seconds(&run, "1")),
        Contender::new(CALL, || five.seconds(&call, "hello")),
        Contender::new(CALL_ALONE, || alone_with_call(everything)),
        Contender::new(TOOLS, || five.seconds(&["tools"], "mcp__time__convert_time")),
        Contender::new(CHECK, || five.seconds(&["check"], "everything")),
        Contender::new(ALL_ALONE, || all_alone(&servers)),
        Contender::new(DOCTOR, || five.seconds(&["doctor"], "everything")),
        Contender::new(DOCTOR_NONE, || none.seconds(&["doctor"], "")),
        Contender::new(FIRST, || five.first_program()),
        Contender::new(FIRST_NONE, || none.first_program()),
    ];
    let mut section = Section::new("each command, with five published servers configured");
    section.add_times(interleave(subject.rounds(8), contenders)?);
    for (name, baseline) in [
        (LIST, LIST_NONE),
        (RUN, RUN_NONE),
        (CALL, CALL_ALONE),
        (TOOLS, ALL_ALONE),
        (CHECK, ALL_ALONE),
        (DOCTOR, DOCTOR_NONE),
        (FIRST, FIRST_NONE),
    ] {
        section.compare(name, baseline);
    }
    section.note(
        "The servers are the reference servers `everything`, `filesystem`, `memory` and \
         `sequential-thinking` on Node.js and `time` on Python, each started anew by every command \
         that needs it.",
    );
    section.promise_at_most("`run` of `print(1)` with five servers", RUN, 0.35);
    Ok(section)
}

/// The entries of five reference servers, installed as for the interop tests.
fn published(subject: &Subject) -> Result<Vec<Value>, String> {
    let (node, npm, python) = (node::find(NODE)?, npm::install("npm")?, venv::install("servers")?);
    let main = |name: &str| {
        npm.join(format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js"))
    };
    let time = python.join("bin/mcp-server-time");
    let mut servers = vec![
        json!({ "name": "everything", "command": node, "args": [main("everything")] }),
        json!({ "name": "files", "command": node, "args": [main("filesystem"), subject.folder] }),
        json!({ "name": "memory", "command": node, "args": [main("memory")],
                "env": { "MEMORY_FILE_PATH": subject.folder.join("memory.jsonl") } }),
        json!({ "name": "thinking", "command": node, "args": [main("sequential-thinking")] }),
        json!({ "name": "time", "command": time, "args": ["--local-timezone", "UTC"] }),
    ];
    for server in &mut servers {
        server["connect_timeout_seconds"] = CONNECT_TIMEOUT.into();
    }
    Ok(servers)
}

/// The command line with one configuration.
struct CommandLine<'a> {
    subject: &'a Subject,
    name: &'a str,
    config: Value,
}

impl CommandLine<'_> {
    /// The duration of a command; its output must contain `expected`.
    fn seconds(&self, arguments: &[&str], expected: &str) -> Result<f64, String> {
        let mut command = self.subject.onecall(arguments, self.name, &self.config)?;
        let (output, seconds) = timed(|| command.stdin(Stdio::null()).output());
        let output = output.map_err(|error| format!("onecall cannot be started: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        // `doctor` also fails because of what this machine lacks.
        let is_over = output.status.success() || arguments == ["doctor"];
        if is_over && text.contains(expected) {
            return Ok(seconds);
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let last = errors.lines().last().unwrap_or("it does not say why");
        Err(format!("{arguments:?} ended with {}: {last}", output.status))
    }

    /// The time from the start of `onecall serve` to the result of the first program.
    fn first_program(&self) -> Result<f64, String> {
        let mut server = Server::start(self.subject.serve_config(self.name, self.config.clone())?)?;
        Ok(server.initialized_after + server.run(PROGRAM, "1")?)
    }
}

/// The time of a server without onecall, from its start to the answer of the call.
fn alone_with_call(entry: &Value) -> Result<f64, String> {
    let mut server = Server::start(command(entry))?;
    let answer = server.call("echo", &json!({ "message": "hello" }))?;
    Ok(server.initialized_after + answer.seconds)
}

/// The time of all servers without onecall, from their common start to the last list of tools.
fn all_alone(entries: &[Value]) -> Result<f64, String> {
    let list = |entry: &Value| -> Result<Server, String> {
        let mut server = Server::start(command(entry))?;
        server.has_tool("any")?;
        Ok(server)
    };
    let (servers, seconds) = timed(|| {
        thread::scope(|scope| -> Vec<Result<Server, String>> {
            let threads: Vec<_> = entries.iter().map(|entry| scope.spawn(|| list(entry))).collect();
            let died = || Err("a server died; see above".to_owned());
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| died())).collect()
        })
    });
    servers.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(seconds)
}

fn command(entry: &Value) -> Command {
    let mut command = Command::new(entry["command"].as_str().unwrap_or_default());
    let arguments = entry["args"].as_array().map(Vec::as_slice).unwrap_or_default();
    command.args(arguments.iter().filter_map(Value::as_str)).stderr(Stdio::null());
    let variables = entry["env"].as_object().into_iter().flatten();
    command.envs(variables.filter_map(|(name, value)| Some((name, value.as_str()?))));
    command
}
