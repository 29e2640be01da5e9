//! The command line of the MCP Inspector with onecall as its server.

use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::mcp::Session;

use super::clients::{home, run};
use crate::support::installed::{bounded, inspector};
use crate::support::{CommandResult, Home, finish};

/// What it exits with when a tool says that it failed.
const TOOL_FAILED: i32 = 5;

#[test]
fn lists_and_calls_tools() {
    let Some(inspector) = Inspector::find() else { return };
    let initialized = inspector.result(&["--method", "initialize"]);
    assert_eq!(initialized["serverInfo"]["name"], "onecall");
    // Strictly: no client could have trouble with a schema.
    let listed = inspector.result(&["--method", "tools/list", "--strict"]);
    let mut session = Session::open(inspector.home.onecall_with_config(&["serve"]));
    assert_eq!(listed["tools"], Value::from(session.list_tools()));

    let callable = session.call_tool("list_callable_tools", json!({}));
    assert_eq!(inspector.calls("auto", "list_callable_tools", json!({})), callable.raw);
    let arguments = json!({ "tool_name": "mcp__fixture__add" });
    let inspected = session.call_tool("inspect_tool", arguments.clone());
    assert_eq!(inspector.calls("legacy", "inspect_tool", arguments), inspected.raw);
}

#[test]
fn runs_programs() {
    let Some(inspector) = Inspector::find() else { return };
    let success = json!({
        "content": [{ "type": "text", "text": "[Script executed successfully]\n42\n" }],
        "isError": false,
    });
    for era in ["legacy", "modern"] {
        let arguments = json!({ "code": "print(await mcp__fixture__add(20, 22))" });
        assert_eq!(inspector.calls(era, "execute_program", arguments), success, "{era}");
    }
    let arguments = json!({ "code": "raise SystemExit('no')" });
    let ended = inspector.call("modern", "execute_program", &arguments);
    assert_eq!(ended.code, Some(TOOL_FAILED), "{}", ended.stderr);
    let answer: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(
        answer["result"]["content"],
        json!([{ "type": "text", "text": "[Script execution failed]\nSystemExit: no" }])
    );
}

/// The Inspector and a home for what it keeps.
struct Inspector {
    node: PathBuf,
    main: PathBuf,
    home: Home,
}

impl Inspector {
    fn find() -> Option<Self> {
        let (node, main) = inspector()?;
        let (home, _) = home();
        Some(Self { node, main, home })
    }

    /// It with these arguments, and onecall as its server.
    fn command(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = bounded(&self.node);
        let serve = self.home.onecall(&["serve"]);
        // A `--config` of the server's would be taken for one of its own.
        let config = format!("ONECALL_CONFIG={}", self.home.text_path("config.json"));
        command.arg(&self.main).args(["--cli", "--quiet", "--format", "json", "-e", &config]);
        command.arg(serve.get_program()).args(serve.get_args()).args(arguments);
        command.env("HOME", self.home.path("home"));
        command
    }

    fn result(&self, arguments: &[&str]) -> Value {
        result(&run(self.command(arguments)))
    }

    fn call(&self, era: &str, tool: &str, arguments: &Value) -> CommandResult {
        let arguments = arguments.to_string();
        let call = ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", &arguments];
        finish(self.command(&[&["--protocol-era", era], call.as_slice()].concat()))
    }

    /// The result of a call that must succeed.
    fn calls(&self, era: &str, tool: &str, arguments: Value) -> Value {
        let ended = self.call(era, tool, &arguments);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        result(&ended.stdout)
    }
}

fn result(output: &str) -> Value {
    let mut answer: Value = serde_json::from_str(output).expect("the Inspector prints JSON");
    answer["result"].take()
}
