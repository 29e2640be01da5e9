//! The client that the conformance suite starts: a configuration with the suite's server, and a
//! program on the real binary that calls its tools. If that reports that a login is needed, it logs
//! in. Where the server asks for input, the program is run for an agent whose user answers.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::mcp::Session;

use super::{login, onecall};

/// The variables in which the suite passes the scenario.
const SCENARIO: &str = "MCP_CONFORMANCE_SCENARIO";
const CONTEXT: &str = "MCP_CONFORMANCE_CONTEXT";

/// The client id metadata document that the suite expects; users who have such a document configure
/// its URL.
const CLIENT_METADATA_URL: &str = "https://conformance-test.local/client-metadata.json";

/// The message for a user who has to log in, and below it how often to log in before giving up.
const LOGIN_ADVICE: &str = "run `onecall login suite`";
const MAX_LOGINS: usize = 2;

/// Calls the tools that the scenario lists, or else every tool.
const PROGRAM: &str = "\
import json
calls = json.loads(CALLS)
if calls is None:
    calls = [[name, {'region': 'x'}] for name in dir(tools) if name.startswith('mcp__suite__')]
for name, arguments in calls:
    call = getattr(tools.aio, name if name.startswith('mcp__') else 'mcp__suite__' + name)
    try:
        print(name, await call(arguments))
    except ToolError as error:
        print(error)
";

/// `cargo xtask conformance-client URL`, which the suite runs.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let [url] = arguments else {
        return Err("the conformance suite calls this with the address of a server".to_owned());
    };
    let folder = std::env::temp_dir().join(format!("onecall-conformance-{}", std::process::id()));
    let made = std::fs::create_dir_all(&folder).map_err(|error| error.to_string());
    let home = Home { folder };
    let ended = made.and_then(|()| home.run_scenario(url, &Scenario::from_environment()));
    let _ = std::fs::remove_dir_all(&home.folder);
    ended
}

/// A scenario of the suite.
struct Scenario {
    name: String,
    context: Value,
}

impl Scenario {
    fn from_environment() -> Self {
        let told = std::env::var(CONTEXT).ok().and_then(|text| serde_json::from_str(&text).ok());
        Self {
            name: std::env::var(SCENARIO).unwrap_or_default(),
            context: told.unwrap_or_default(),
        }
    }

    /// The entry of the suite's server in the configuration.
    fn entry(&self, url: &str) -> Value {
        let mut entry = json!({ "name": "suite", "url": url, "transport": "http" });
        for key in ["client_id", "client_secret"] {
            if let Some(given) = self.context[key].as_str() {
                entry["oauth"][key] = given.into();
            }
        }
        if self.name == "auth/basic-cimd" {
            entry["oauth"]["client_id"] = CLIENT_METADATA_URL.into();
        }
        entry
    }

    /// What the user answers in a scenario whose server asks for input; `None` in any other. A form that
    /// is sent off as it is has the defaults of its fields.
    fn user_answer(&self) -> Option<Value> {
        let content = match self.name.as_str() {
            "elicitation-sep1034-client-defaults" => json!({
                "name": "John Doe",
                "age": 30,
                "score": 95.5,
                "status": "active",
                "verified": true,
            }),
            "sep-2322-client-request-state" => json!({ "confirmed": true }),
            _ => return None,
        };
        Some(json!({ "action": "accept", "content": content }))
    }

    /// The tools to call and their arguments; null stands for all tools.
    fn calls(&self, home: &Home) -> Result<Value, String> {
        if let Some(calls) = self.context["toolCalls"].as_array() {
            let call = |call: &Value| json!([call["name"], call["arguments"]]);
            return Ok(calls.iter().map(call).collect());
        }
        match self.name.as_str() {
            "tools_call" => Ok(json!([["add_numbers", { "a": 5, "b": 3 }]])),
            "json-schema-2020-12-preservation" => {
                let shown = home.show("mcp__suite__json_schema_2020_12_tool")?;
                Ok(json!([["json_schema_echo", { "schema": shown["inputSchema"] }]]))
            }
            _ => Ok(Value::Null),
        }
    }
}

/// A separate home directory, with its own configuration and logins.
struct Home {
    folder: PathBuf,
}

impl Home {
    fn run_scenario(&self, url: &str, scenario: &Scenario) -> Result<(), String> {
        let mut entry = scenario.entry(url);
        self.configure(&entry)?;
        // A JSON text in a JSON string is also a valid Python string.
        let calls = Value::from(scenario.calls(self)?.to_string()).to_string();
        let code = PROGRAM.replace("CALLS", &calls);
        if let Some(answer) = scenario.user_answer() {
            return self.run_for_agent(&code, answer);
        }
        let program = self.folder.join("program.py");
        write(&program, &code)?;
        for _ in 0..MAX_LOGINS {
            if !self.run(&program)?.contains(LOGIN_ADVICE) {
                return Ok(());
            }
            let log_in = || {
                login::log_in(self.onecall(&["login", "suite", "--no-browser", "--timeout", "20"]))
            };
            if let Err(text) = log_in() {
                // A user who has a client secret knows its issuer, and follows the advice to
                // configure it.
                let issuer = login::advised_issuer(&text).ok_or_else(|| text.clone())?;
                entry["oauth"]["issuer"] = issuer.into();
                self.configure(&entry)?;
                log_in()?;
            }
        }
        if self.run(&program)?.contains(LOGIN_ADVICE) {
            return Err(format!("a login is still needed after {MAX_LOGINS} logins"));
        }
        Ok(())
    }

    fn configure(&self, entry: &Value) -> Result<(), String> {
        write(&self.config(), &json!({ "servers": [entry] }).to_string())
    }

    /// Runs the program; returns the output of it and of onecall.
    fn run(&self, program: &Path) -> Result<String, String> {
        let mut command = self.onecall(&["run"]);
        let output = command.arg(program).output();
        let output = output.map_err(|error| format!("{command:?} cannot be started: {error}"))?;
        let [stdout, stderr] =
            [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
        let text = format!("{stdout}{stderr}");
        eprint!("{text}");
        if output.status.success() || text.contains(LOGIN_ADVICE) {
            Ok(text)
        } else {
            Err(format!("onecall run failed: {}", output.status))
        }
    }

    /// Runs the program for an agent whose user can be asked, unlike that of `onecall run`.
    fn run_for_agent(&self, code: &str, answer: Value) -> Result<(), String> {
        let answers = [("elicitation/create", answer)];
        let command = self.onecall(&["serve"]);
        let able = json!({ "elicitation": {} });
        let mut session = Session::open_with_capabilities(command, &able, &answers);
        let done = session.call_tool("execute_program", json!({ "code": code }));
        eprintln!("{}", done.text);
        if done.is_error { Err("the program failed".to_owned()) } else { Ok(()) }
    }

    /// The output of `onecall tools show` for a tool.
    fn show(&self, tool: &str) -> Result<Value, String> {
        let mut command = self.onecall(&["tools", "show", tool]);
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{command:?}: {error}"))
    }

    fn onecall(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(onecall());
        command.args(arguments).arg("--config").arg(self.config()).stdin(Stdio::null());
        command.env("HOME", &self.folder).env("XDG_STATE_HOME", self.folder.join("state"));
        command
    }

    fn config(&self) -> PathBuf {
        self.folder.join("config.json")
    }
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text)
        .map_err(|error| format!("{} cannot be written: {error}", file.display()))
}
