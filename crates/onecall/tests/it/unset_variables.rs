//! Entries of servers that refer to variables which are not set: only these servers are missing.

use std::io::Write;
use std::process::Stdio;

use serde_json::json;
use testkit::bins;
use testkit::mcp::Session;

use crate::support::{Gateway, Home, finish, fixture};

fn home() -> Home {
    Home::with_config(&json!({ "servers": [
        fixture("works", &[]),
        { "name": "tracker", "command": bins::fixture_server(), "env": { "TOKEN": "${TRACKER_TOKEN}" } },
        { "name": "far", "url": "${FAR_URL}/mcp", "lazy": true },
    ] }))
}

#[test]
fn programs_use_the_other_servers_and_learn_what_is_missing() {
    let mut gateway = Gateway::in_home(home());
    assert_eq!(gateway.prints("print(await mcp__works__add(1, 2))"), "3\n");
    let missing = "server 'tracker' is not running: its entry refers to the variable TRACKER_TOKEN, which is not set";
    let code = "
        try:
            await mcp__tracker__add(1, 2)
        except ToolError as error:
            print(error)
    ";
    let printed = gateway.prints(code);
    assert!(printed.starts_with(&format!("'mcp__tracker__add' failed: {missing}")), "{printed}");
    let found = gateway.session.call_tool("search_tools", json!({ "query": "tracker add" }));
    let line = "\n[Server tracker cannot be used: its entry refers to the variable TRACKER_TOKEN,";
    assert!(found.text.contains(line) && !found.text.contains("down"), "{}", found.text);
    let lazy = gateway.fails("await mcp__far__anything()");
    assert!(lazy.contains("the variable FAR_URL, which is not set"), "{lazy}");
}

#[test]
fn commands_that_do_not_need_the_server_are_silent_about_it() {
    let home = home();
    let add = ["call", "mcp__works__add", "a=1", "b=2"];
    for arguments in [&add[..], &["run", "-q", "-e", "print(3)"], &["tools", "--server", "works"]] {
        let ended = finish(home.onecall_with_config(arguments));
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
    let ended = finish(home.onecall_with_config(&["call", "mcp__tracker__add"]));
    assert_eq!((ended.code, ended.stderr.matches("TRACKER_TOKEN,").count()), (Some(1), 1));
    let ended = finish(home.onecall_with_config(&["tools"]));
    assert_eq!((ended.code, ended.stderr.matches("TRACKER_TOKEN,").count()), (Some(0), 1));
}

#[test]
fn check_names_the_variables() {
    let home = home();
    let ended = finish(home.onecall_with_config(&["check"]));
    assert_eq!(ended.code, Some(1));
    let states: Vec<_> = ended
        .stdout
        .lines()
        .skip(2)
        .map(|line| line.split("  ").filter(|cell| !cell.is_empty()).collect::<Vec<_>>())
        .collect();
    let state = |at: usize| states[at].last().unwrap().trim().to_owned();
    assert!(state(0).starts_with("ready in "), "{}", ended.stdout);
    assert!(state(1).starts_with("failed: its entry refers to the variable TRACKER_TOKEN,"));
    assert!(state(2).starts_with("failed: its entry refers to the variable FAR_URL,"));
    // With the variable, the server is there.
    let mut command = home.onecall_with_config(&["check"]);
    command.env("TRACKER_TOKEN", "t").env("FAR_URL", "http://127.0.0.1:1");
    let ended = finish(command);
    assert!(!ended.stdout.contains("TRACKER_TOKEN"), "{}", ended.stdout);
}

#[test]
fn an_entry_that_becomes_complete_is_started_by_a_reload() {
    let home = home();
    let session = Session::open(home.onecall_with_config(&["serve", "--log", "info"]));
    let mut gateway = Gateway { session, home };
    assert_eq!(gateway.prints("print(await mcp__works__add(1, 2))"), "3\n");
    let complete = json!({ "servers": [
        fixture("works", &[]),
        { "name": "tracker", "command": bins::fixture_server(), "env": { "TOKEN": "${TRACKER_TOKEN:-t}" } },
    ] });
    gateway.home.write("config.json", complete.to_string());
    gateway.wait_for_log(&["INFO", "removed: far; restarted: tracker"]);
    assert_eq!(gateway.prints("print(await mcp__tracker__env(name='TOKEN'))"), "t\n");
}

#[test]
fn a_secret_that_is_kept_meanwhile_starts_its_server() {
    let home = home();
    let session = Session::open(home.onecall_with_config(&["serve", "--log", "info"]));
    let mut gateway = Gateway { session, home };
    assert_eq!(gateway.prints("print(await mcp__works__add(1, 2))"), "3\n");
    let mut keep = gateway.home.onecall_with_config(&["secrets", "set", "TRACKER_TOKEN"]);
    keep.stdin(Stdio::piped());
    let mut keep = keep.spawn().unwrap();
    keep.stdin.take().unwrap().write_all(b"kept-value\n").unwrap();
    assert!(keep.wait().unwrap().success());
    gateway.wait_for_log(&["INFO", "restarted: tracker"]);
    let code = "print(await mcp__tracker__env(name='TOKEN') == 'kept' + '-value')";
    assert_eq!(gateway.prints(code), "True\n");
}
