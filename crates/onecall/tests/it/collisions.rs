//! Rules about a tool hold when the name of another one meets its own, now or later.

use serde_json::{Value, json};
use testkit::process::wait_until;

use crate::support::{Gateway, Home, TIMEOUT, finish, fixture};

const ADD: (&str, &str) = ("add", "Adds two numbers.");
const DELETE: (&str, &str) = ("delete_resource", "Deletes a resource.");
const SAME: (&str, &str) = ("delete-resource", "Deletes a resource as well.");
const LATER: (&str, &str) = ("later", "Is there later.");

fn gateway(tools: &Value) -> Gateway {
    let home = Home::new();
    home.write_tools("tools", &[ADD, DELETE]);
    let server = fixture("fixture", &["--tools-file", &home.text_path("tools")]);
    home.write("config.json", json!({ "servers": [server], "tools": tools }).to_string());
    Gateway::in_home(home)
}

/// Has the server list a tool whose name meets that of another, and waits until it is known.
fn collide(gateway: &mut Gateway) {
    gateway.home.write_tools("tools", &[ADD, DELETE, SAME, LATER]);
    wait_until(TIMEOUT, || {
        let listed = gateway.callable_tools();
        listed.contains(&"mcp__fixture__later".to_owned())
    });
}

#[test]
fn a_blocked_tool_stays_blocked_when_its_name_changes() {
    for pattern in ["mcp__fixture__delete_resource", "mcp__*__delete_resource", "delete_resource"] {
        let mut gateway = gateway(&json!({ "block": [pattern] }));
        assert_eq!(gateway.callable_tools(), ["mcp__fixture__add"], "{pattern}");
        collide(&mut gateway);
        let listed = gateway.callable_tools();
        assert_eq!(listed, ["mcp__fixture__add", "mcp__fixture__later"], "{pattern}");
    }
}

#[test]
fn an_allowed_name_opens_nothing_else() {
    let allowed = ["mcp__fixture__delete_resource", "mcp__fixture__later"];
    let mut gateway = gateway(&json!({ "allow": allowed }));
    assert_eq!(gateway.callable_tools(), ["mcp__fixture__delete_resource"]);
    collide(&mut gateway);
    assert_eq!(gateway.callable_tools(), ["mcp__fixture__later"]);
}

#[test]
fn a_program_cannot_call_a_blocked_tool_by_its_new_name() {
    let mut gateway = gateway(&json!({ "block": ["mcp__fixture__delete_resource"] }));
    collide(&mut gateway);
    for name in ["delete_resource_e166f6", "delete_resource_030e86"] {
        let failed = gateway.fails(&format!("await mcp__fixture__{name}(a=1)"));
        let refused =
            format!("ToolError: 'mcp__fixture__{name}' is not available in execute_program");
        assert!(failed.lines().any(|line| line == refused), "{failed}");
    }
    assert_eq!(gateway.prints("print(await mcp__fixture__add(a=1, b=2))"), "3\n");
}

#[test]
fn check_and_doctor_show_which_names_meet() {
    let home = Home::new();
    home.write_tools("tools", &[ADD, DELETE, SAME]);
    let server = fixture("fixture", &["--tools-file", &home.text_path("tools")]);
    home.write("config.json", json!({ "servers": [server] }).to_string());
    for command in ["check", "doctor"] {
        let ended = finish(home.onecall_with_config(&[command]));
        for part in [
            "several tools would have the name mcp__fixture__delete_resource: ",
            "'delete-resource' of 'fixture' is called mcp__fixture__delete_resource_",
            "'delete_resource' of 'fixture' is called mcp__fixture__delete_resource_",
        ] {
            assert!(ended.stdout.contains(part), "{command}: {}", ended.stdout);
        }
        assert_eq!(ended.code, Some(0), "{command}: {}", ended.stdout);
    }
}
