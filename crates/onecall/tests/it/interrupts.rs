//! Ctrl-C: a program stops, and a message lists the calls that it had made.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::{Home, ReceivedMessages, fixture};

/// Starts a command, presses Ctrl-C once the server has got the call `hang`, and returns
/// how it ended.
fn interrupted(command: &str, file: &str, text: &str) -> (Option<i32>, String) {
    let home = Home::new();
    let log = home.path("received");
    let server = fixture("fixture", &["--log", log.to_str().unwrap()]);
    home.write("config.json", json!({ "servers": [server] }).to_string());
    let path = home.write(file, text).display().to_string();
    let child = home
        .onecall_with_config(&[command, &path])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    ReceivedMessages::in_file(log).wait_for_call("hang");
    let interrupt = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &interrupt]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
}

#[test]
fn a_program_says_what_it_had_done() {
    let program = "
for number in range(3):
    await mcp__fixture__echo(number)
await mcp__fixture__hang()
";
    let expected = "onecall: interrupted after 4 tool calls (1 not answered): \
                3× mcp__fixture__echo, mcp__fixture__hang\n";
    assert_eq!(interrupted("run", "program.py", program), (Some(130), expected.to_owned()));
}

#[test]
fn a_plan_says_what_it_had_done() {
    let plan = json!({
        "target_tool": "mcp__fixture__echo",
        "tool_args": { "value": { "__tool__": "mcp__fixture__hang", "args": {} } },
    });
    let expected = "onecall: interrupted after 1 tool call (1 not answered): mcp__fixture__hang\n";
    assert_eq!(
        interrupted("proxy", "plan.json", &plan.to_string()),
        (Some(130), expected.to_owned())
    );
}
