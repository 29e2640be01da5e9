//! Published clients with onecall as their server: each plays the scenario that is in
//! `tests/interop/clients`, and sees what a bare client sees.

use std::process::Command;

use serde_json::{Value, json};
use testkit::mcp::{Session, ToolAnswer};

use crate::support::installed::{bounded, installed, interop_file};
use crate::support::{Home, ReceivedMessages, finish, fixture};

/// The last revision with a handshake, and the first without.
const HANDSHAKE: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// Where the server writes down what it receives.
const RECEIVED: &str = "received";

#[test]
fn python_sdk_1() {
    python("SDK_1", "sdk_1.py", None, HANDSHAKE);
}

#[test]
fn python_sdk_2() {
    python("SERVERS", "sdk_2.py", Some("legacy"), HANDSHAKE);
    python("SERVERS", "sdk_2.py", Some("auto"), STATELESS);
}

#[test]
fn fastmcp() {
    python("FASTMCP", "fastmcp_client.py", None, STATELESS);
}

#[test]
fn typescript_sdk_1() {
    node("sdk_1.mjs", None, HANDSHAKE);
}

#[test]
fn typescript_sdk_2() {
    node("sdk_2.mjs", Some("legacy"), HANDSHAKE);
    node("sdk_2.mjs", Some("auto"), STATELESS);
}

fn python(environment: &str, driver: &str, mode: Option<&str>, protocol: &str) {
    let Some(folder) = installed(&format!("ONECALL_INTEROP_{environment}")) else { return };
    // With `-B`, Python writes no compiled files beside the drivers.
    let mut command = bounded(folder.join("bin/python"));
    command.arg("-B");
    check(command, driver, mode, protocol);
}

fn node(driver: &str, mode: Option<&str>, protocol: &str) {
    let Some(node) = installed("ONECALL_INTEROP_NODE") else { return };
    if installed("ONECALL_INTEROP_NPM").is_none() {
        return;
    }
    check(bounded(node), driver, mode, protocol);
}

/// Plays the scenario and compares what the client saw, whole.
fn check(mut command: Command, driver: &str, mode: Option<&str>, protocol: &str) {
    let (home, received) = home();
    command.arg(interop_file("clients").join(driver)).args(mode);
    let serve = home.onecall_with_config(&["serve"]);
    command.arg(serve.get_program()).args(serve.get_args());
    command.env("HOME", home.path("home"));
    command.env("ONECALL_INTEROP_RECEIVED", home.path(RECEIVED));
    let seen: Value = serde_json::from_str(&run(command)).expect("a driver prints JSON");
    let mut expected = expected(&home);
    expected["protocol"] = protocol.into();
    assert_eq!(seen, expected, "{driver} {mode:?}");
    let hanging = received.wait_for_call("hang");
    received.wait_for_cancel(&hanging);
}

/// A server that writes down what it receives.
pub fn home() -> (Home, ReceivedMessages) {
    let home = Home::new();
    let servers = [fixture("fixture", &["--log", &home.text_path(RECEIVED)])];
    home.write("config.json", json!({ "servers": servers }).to_string());
    let received = ReceivedMessages::in_file(home.path(RECEIVED));
    (home, received)
}

/// What a client prints that must succeed.
pub fn run(command: Command) -> String {
    let shown = format!("{command:?}");
    let ended = finish(command);
    assert_eq!(ended.code, Some(0), "{shown}\n{}", ended.stderr);
    ended.stdout
}

/// What a client sees in the scenario: the answers that a bare client gets, and those that
/// are to the letter what `docs/programs.md` says.
fn expected(home: &Home) -> Value {
    let mut session = Session::open(home.onecall_with_config(&["serve"]));
    let mut ask = |tool: &str, arguments: Value| pair(&session.call_tool(tool, arguments));
    let callable = ask("list_callable_tools", json!({}))[0].take();
    let inspected = ask("inspect_tool", json!({ "tool_name": "mcp__fixture__add" }));
    let missing = ask("inspect_tool", json!({ "tool_name": "mcp__fixture__ad" }));
    let tools = session.tool_names();
    let found = tools
        .iter()
        .any(|tool| tool == "search_tools")
        .then(|| pair(&session.call_tool("search_tools", json!({ "query": "add two numbers" }))));
    let refusal = session.try_call_tool("no_such_tool", json!({})).expect_err("it is unknown");
    let failure = "\
[Script execution failed]
Traceback (most recent call last):
  File \"<program>\", line 2, in <module>
    await mcp__fixture__fail(message='out of paper')
ToolError: 'mcp__fixture__fail' failed: out of paper
[Output before the failure]
before
";
    json!({
        "server": "onecall",
        "tools": tools,
        "callable": callable,
        "inspected": inspected,
        "missing": missing,
        "found": found,
        "success": ["[Script executed successfully]\n42 grüße 🦀\n", false],
        "failure": [failure, true],
        "refusal": refusal.message,
        "steps": ["[Script executed successfully]\ndone\n", false],
        "progress": [1, "1 tool call made, last: mcp__fixture__sleep"],
        "cancelled": "cancelled",
        "afterwards": ["[Script executed successfully]\nalive\n", false],
    })
}

fn pair(answer: &ToolAnswer) -> Value {
    json!([answer.text, answer.is_error])
}
