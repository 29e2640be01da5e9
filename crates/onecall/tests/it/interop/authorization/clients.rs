//! Published clients that log in: each finds the provider by the refusal of its first request, registers
//! itself, sends the user there, and comes back with a token. The test is the browser.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::Team;
use crate::support::browser::Browser;
use crate::support::installed::{bounded, installed, interop_file};

/// The redirect of the drivers. There is no listener: the test passes on where the browser was sent.
const REDIRECT: &str = "http://127.0.0.1:8719/callback";

#[test]
fn python_sdk_1() {
    python("SDK_1", "sdk_1.py");
}

#[test]
fn python_sdk_2() {
    python("SERVERS", "sdk_2.py");
}

#[test]
fn typescript_sdk_1() {
    node("sdk_1.mjs");
}

#[test]
fn typescript_sdk_2() {
    node("sdk_2.mjs");
}

fn python(environment: &str, driver: &str) {
    let Some(folder) = installed(&format!("ONECALL_INTEROP_{environment}")) else { return };
    check(driver, || {
        let mut command = bounded(folder.join("bin/python"));
        // Python writes no compiled files beside the drivers.
        command.arg("-B");
        command
    });
}

fn node(driver: &str) {
    let Some(node) = installed("ONECALL_INTEROP_NODE") else { return };
    if installed("ONECALL_INTEROP_NPM").is_none() {
        return;
    }
    check(driver, || bounded(&node));
}

/// Two users of different groups see and call what the policies permit their group.
fn check(driver: &str, interpreter: impl Fn() -> Command) {
    let Some(team) = Team::start() else { return };
    let anna = play(&team, driver, interpreter(), "anna");
    let tools = anna["callable"].as_str().expect("a list of names");
    for tool in ["mcp__fixture__add", "mcp__fixture__echo", "mcp__fixture__env"] {
        assert!(tools.contains(tool), "{tools}");
    }
    assert_eq!(anna["add"], json!(["[Script executed successfully]\n42\n", false]));
    assert_eq!(anna["echo"], json!(["[Script executed successfully]\nhi\n", false]));

    let ian = play(&team, driver, interpreter(), "ian");
    let tools = ian["callable"].as_str().expect("a list of names");
    let tools: Value = serde_json::from_str(tools).expect("JSON");
    assert_eq!(tools, json!(["mcp__fixture__echo"]));
    assert_eq!(ian["echo"], json!(["[Script executed successfully]\nhi\n", false]));
    let refused = ian["add"][0].as_str().expect("a text");
    assert!(refused.contains("mcp__fixture__add"), "{refused}");
    assert_eq!(ian["add"][1], true, "{refused}");
}

/// What a client sees after this user has logged in.
pub(super) fn play(team: &Team, driver: &str, mut command: Command, user: &str) -> Value {
    command.arg(interop_file("authorization").join(driver)).arg(team.url());
    command.env("HOME", team.gateway.home.path("home"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the driver starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut browser = Browser::default();
    let mut seen = None;
    for line in stdout.lines() {
        let line: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
        if let Some(url) = line["open"].as_str() {
            let back = browser.authorize(url, user, REDIRECT);
            writeln!(stdin, "{back}").expect("the driver reads");
        } else {
            seen = Some(line["seen"].clone());
        }
    }
    let status = child.wait().expect("it ends");
    assert!(status.success(), "{driver} as {user}: {status}");
    seen.expect("a driver prints what it saw")
}
