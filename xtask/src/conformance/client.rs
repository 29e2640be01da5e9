//! The client that the suite starts: a configuration with the suite's server in it,
//! and a program on the real binary that calls its tools. Where that says that a login
//! is needed, there is one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{login, onecall};

/// Where the suite says what is to be done.
const SCENARIO: &str = "MCP_CONFORMANCE_SCENARIO";
const CONTEXT: &str = "MCP_CONFORMANCE_CONTEXT";

/// The client that the suite wants to see where clients may describe themselves at an
/// address; users who have such a description configure it.
const DESCRIBED_CLIENT: &str = "https://conformance-test.local/client-metadata.json";

/// What a user reads who has to log in, and how often they do before they give up.
const ADVICE: &str = "run `onecall login suite`";
const PATIENCE: usize = 2;

/// Calls every tool that it is told to, else every tool that it sees.
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
    let ended = made.and_then(|()| home.talk(url, &Scenario::from_environment()));
    let _ = std::fs::remove_dir_all(&home.folder);
    ended
}

/// What the suite wants to be done.
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
            entry["oauth"]["client_id"] = DESCRIBED_CLIENT.into();
        }
        entry
    }

    /// Which tools are to be called, and with what; null means all there are.
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

/// A user's home, with a configuration and with logins that nobody else has.
struct Home {
    folder: PathBuf,
}

impl Home {
    fn talk(&self, url: &str, scenario: &Scenario) -> Result<(), String> {
        let mut entry = scenario.entry(url);
        self.configure(&entry)?;
        // A JSON text in a JSON string is a Python string, too.
        let calls = Value::from(scenario.calls(self)?.to_string()).to_string();
        let program = self.folder.join("program.py");
        write(&program, &PROGRAM.replace("CALLS", &calls))?;
        for _ in 0..PATIENCE {
            if !self.run(&program)?.contains(ADVICE) {
                return Ok(());
            }
            let log_in = || {
                login::log_in(self.onecall(&["login", "suite", "--no-browser", "--timeout", "20"]))
            };
            if let Err(said) = log_in() {
                // A user who was given a secret knows for whom, and follows the advice.
                let issuer = login::advised_issuer(&said).ok_or_else(|| said.clone())?;
                entry["oauth"]["issuer"] = issuer.into();
                self.configure(&entry)?;
                log_in()?;
            }
        }
        if self.run(&program)?.contains(ADVICE) {
            return Err(format!("a login is still needed after {PATIENCE} logins"));
        }
        Ok(())
    }

    fn configure(&self, entry: &Value) -> Result<(), String> {
        write(&self.config(), &json!({ "servers": [entry] }).to_string())
    }

    /// Runs the program; what it and onecall said.
    fn run(&self, program: &Path) -> Result<String, String> {
        let mut command = self.onecall(&["run"]);
        let output = command.arg(program).output();
        let output = output.map_err(|error| format!("{command:?} cannot be started: {error}"))?;
        let [stdout, stderr] =
            [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
        let said = format!("{stdout}{stderr}");
        eprint!("{said}");
        if output.status.success() || said.contains(ADVICE) {
            Ok(said)
        } else {
            Err(format!("onecall run failed: {}", output.status))
        }
    }

    /// What `onecall tools show` says of a tool.
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
