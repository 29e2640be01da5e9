//! The client that the suite starts: a configuration with the suite's server in it,
//! and a program on the real binary that calls its tools.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::onecall;

/// Where the suite says what is to be done.
const SCENARIO: &str = "MCP_CONFORMANCE_SCENARIO";
const CONTEXT: &str = "MCP_CONFORMANCE_CONTEXT";

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
    let ended = made.and_then(|()| talk(url, &folder));
    let _ = std::fs::remove_dir_all(&folder);
    ended
}

fn talk(url: &str, folder: &Path) -> Result<(), String> {
    let config = folder.join("config.json");
    let server = json!({ "name": "suite", "url": url, "transport": "http" });
    write(&config, &json!({ "servers": [server] }).to_string())?;
    let calls = calls(&config)?;
    // A JSON text in a JSON string is a Python string, too.
    let calls = Value::from(calls.to_string()).to_string();
    let program = folder.join("program.py");
    write(&program, &PROGRAM.replace("CALLS", &calls))?;
    let status =
        Command::new(onecall()).arg("run").arg(&program).arg("--config").arg(&config).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("onecall run failed: {status}")),
        Err(error) => Err(format!("onecall cannot be started: {error}")),
    }
}

/// Which tools the scenario wants called, and with what; null means all there are.
fn calls(config: &Path) -> Result<Value, String> {
    let told = std::env::var(CONTEXT).ok().and_then(|text| serde_json::from_str(&text).ok());
    let told: Value = told.unwrap_or_default();
    if let Some(calls) = told["toolCalls"].as_array() {
        let call = |call: &Value| json!([call["name"], call["arguments"]]);
        return Ok(calls.iter().map(call).collect());
    }
    match std::env::var(SCENARIO).unwrap_or_default().as_str() {
        "tools_call" => Ok(json!([["add_numbers", { "a": 5, "b": 3 }]])),
        "json-schema-2020-12-preservation" => {
            let shown = show("mcp__suite__json_schema_2020_12_tool", config)?;
            Ok(json!([["json_schema_echo", { "schema": shown["inputSchema"] }]]))
        }
        _ => Ok(Value::Null),
    }
}

/// What `onecall tools show` says of a tool.
fn show(tool: &str, config: &Path) -> Result<Value, String> {
    let mut command = Command::new(onecall());
    command.args(["tools", "show", tool, "--config"]).arg(config).stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{command:?}: {error}"))
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text)
        .map_err(|error| format!("{} cannot be written: {error}", file.display()))
}
