//! An MCP server under measurement, onecall or another one: one client, one write and one read per
//! request; answers are parsed after the time was taken.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::process::{self, wait_until};
use testkit::rpc::BareClient;

const SUCCESS: &str = "[Script executed successfully]\n";

/// A running server. It and all its descendants are ended when this is dropped.
pub struct Server {
    // The order of the fields matters: the server is killed first, then its descendants are
    // awaited.
    client: BareClient,
    children: ChildProcesses,
    next_id: u64,
    /// The seconds from its start to its answer to `initialize`.
    pub initialized_after: f64,
}

/// The answer of a tool.
pub struct TimedAnswer {
    pub text: String,
    /// The time from the first byte of the request to the last byte of the answer.
    pub seconds: f64,
}

impl Server {
    /// Starts the server and does the handshake.
    pub fn start(command: Command) -> Result<Self, String> {
        let start = Instant::now();
        let client = BareClient::spawn(command);
        let mut server = Self {
            client,
            children: ChildProcesses::default(),
            next_id: 0,
            initialized_after: 0.0,
        };
        server.request(
            "initialize",
            &json!({
                "protocolVersion": testkit::mcp::PROTOCOL, "capabilities": {},
                "clientInfo": { "name": "bench", "version": "1" },
            }),
        )?;
        server.initialized_after = start.elapsed().as_secs_f64();
        server.client.send_raw(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        Ok(server)
    }

    pub fn pid(&self) -> u32 {
        self.client.pid()
    }

    /// Runs a program, which must print exactly `expected`; returns the seconds.
    pub fn run(&mut self, code: &str, expected: &str) -> Result<f64, String> {
        self.run_with(&json!({ "code": code }), expected)
    }

    /// Runs a program with these arguments of `execute_program`; returns the seconds.
    pub fn run_with(&mut self, arguments: &Value, expected: &str) -> Result<f64, String> {
        let answer = self.call("execute_program", arguments)?;
        check_printed(&answer.text, expected)?;
        Ok(answer.seconds)
    }

    /// Runs a program that must fail with this text; returns the seconds.
    pub fn run_expecting_failure(&mut self, code: &str, expected: &str) -> Result<f64, String> {
        let params = json!({ "name": "execute_program", "arguments": { "code": code } });
        let (result, seconds) = self.request("tools/call", &params)?;
        match text(&result) {
            Err(failure) if failure == expected => Ok(seconds),
            other => Err(format!("ended with {other:?} instead of '{expected}'")),
        }
    }

    /// Runs the same program `count` times, one directly after the other.
    pub fn run_in_a_row(&mut self, count: u32, code: &str, expected: &str) -> Result<f64, String> {
        (0..count).map(|_| self.run(code, expected)).sum()
    }

    /// Runs the same program `count` times at once; returns the seconds for all.
    pub fn run_at_once(&mut self, count: u32, code: &str, expected: &str) -> Result<f64, String> {
        let arguments = json!({ "code": code });
        let (texts, seconds) = self.call_at_once(count, count, "execute_program", &arguments)?;
        texts.iter().try_for_each(|text| check_printed(text, expected))?;
        Ok(seconds)
    }

    /// Calls a tool `count` times, at most `max_in_flight` of them at any moment; returns all
    /// answers and the seconds for all of them.
    pub fn call_at_once(
        &mut self,
        count: u32,
        max_in_flight: u32,
        tool: &str,
        arguments: &Value,
    ) -> Result<(Vec<String>, f64), String> {
        let params = json!({ "name": tool, "arguments": arguments });
        let requests: Vec<String> =
            (0..count).map(|_| self.line("tools/call", &params).1).collect();
        let mut rest = requests.iter();
        let mut answers = Vec::with_capacity(requests.len());
        let start = Instant::now();
        for request in rest.by_ref().take(usize::try_from(max_in_flight).unwrap_or(usize::MAX)) {
            self.client.send_raw(request);
        }
        while answers.len() < requests.len() {
            let line = self.client.receive_raw();
            // Notifications of the server are not answers.
            if line.contains("\"method\":") && !line.contains("\"result\":") {
                continue;
            }
            answers.push(line.to_owned());
            if let Some(request) = rest.next() {
                self.client.send_raw(request);
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let texts = answers.iter().map(|answer| text(&parse(answer)?));
        Ok((texts.collect::<Result<_, _>>()?, seconds))
    }

    /// Calls one of the server's tools.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Result<TimedAnswer, String> {
        let params = json!({ "name": tool, "arguments": arguments });
        let (result, seconds) = self.request("tools/call", &params)?;
        Ok(TimedAnswer { text: text(&result)?, seconds })
    }

    /// Asks for the names of all tools that programs can call, of which there must be at least so many; returns
    /// the seconds. Of very many, the first names come, and how many there are.
    pub fn list_callable_tools(&mut self, at_least: usize) -> Result<f64, String> {
        let params = json!({ "name": "list_callable_tools", "arguments": {} });
        let (result, seconds) = self.request("tools/call", &params)?;
        let names: Vec<Value> = serde_json::from_str(&text(&result)?)
            .map_err(|error| format!("the list is not JSON: {error}"))?;
        let rest = result["content"][1]["text"].as_str().unwrap_or_default();
        let all =
            rest.split_once(" of ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
        match all.unwrap_or(names.len()) {
            count if count < at_least => {
                Err(format!("only {count} of {at_least} tools are listed"))
            }
            _ => Ok(seconds),
        }
    }

    /// Whether the server offers this tool.
    pub fn has_tool(&mut self, name: &str) -> Result<bool, String> {
        let (result, _) = self.request("tools/list", &json!({}))?;
        let tools = result["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(tools.iter().any(|tool| tool["name"] == name))
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<(Value, f64), String> {
        let (id, line) = self.line(method, params);
        let start = Instant::now();
        let mut answer = self.client.call_raw(&line);
        loop {
            let seconds = start.elapsed().as_secs_f64();
            let message = serde_json::from_str::<Value>(answer).unwrap_or_default();
            if message["id"] == id {
                return Ok((parse(answer)?, seconds));
            }
            answer = self.client.receive_raw();
        }
    }

    fn line(&mut self, method: &str, params: &Value) -> (u64, String) {
        self.next_id += 1;
        let id = self.next_id;
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        (id, line.to_string())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.children.0 = process::descendants(self.pid()).iter().map(|child| child.pid).collect();
    }
}

fn parse(answer: &str) -> Result<Value, String> {
    let mut message: Value =
        serde_json::from_str(answer).map_err(|error| format!("not JSON ({error}): {answer}"))?;
    match (message.get("error"), message.is_object()) {
        (Some(error), _) => Err(format!("answered with the error {error}")),
        (None, true) => Ok(message["result"].take()),
        // In a server that runs programs in its own process, their output can end up here.
        (None, false) => Err(format!("'{answer}' came where an answer was due")),
    }
}

fn text(result: &Value) -> Result<String, String> {
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    if result["isError"] == true { Err(text.to_owned()) } else { Ok(text.to_owned()) }
}

fn check_printed(text: &str, expected: &str) -> Result<(), String> {
    match text.strip_prefix(SUCCESS).map(str::trim_end) {
        Some(output) if output == expected => Ok(()),
        _ => Err(format!("printed '{text}' instead of '{expected}'")),
    }
}

/// The processes below a server, by id.
#[derive(Default)]
struct ChildProcesses(Vec<u32>);

impl Drop for ChildProcesses {
    fn drop(&mut self) {
        let gone = || self.0.iter().all(|pid| !process::is_alive(*pid));
        if !wait_until(Duration::from_secs(5), gone) {
            kill(self.0.iter().copied().filter(|pid| process::is_alive(*pid)));
        }
    }
}

/// A command whose process and all that it starts run on this core.
pub fn on_core(command: &Command, core: &str) -> Command {
    let mut pinned = Command::new("taskset");
    pinned.args(["-c", core]).arg(command.get_program()).args(command.get_args());
    pinned.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    pinned
}

/// Ends processes that this run started.
pub fn kill(pids: impl IntoIterator<Item = u32>) {
    let pids: Vec<String> = pids.into_iter().map(|pid| pid.to_string()).collect();
    if !pids.is_empty() {
        eprintln!("still running, and ended now: {}", pids.join(" "));
        let _ = Command::new("kill").arg("-KILL").args(pids).stderr(Stdio::null()).status();
    }
}
