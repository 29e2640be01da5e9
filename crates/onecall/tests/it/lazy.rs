//! A lazy server is started when a program or client first needs it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Gateway, Home, finish, fixture};

/// A home with an ordinary server and a lazy one, and the file that the lazy one
/// makes when it is started.
fn home_with_lazy_server() -> (Home, PathBuf) {
    let home = Home::new();
    let mark = home.path("started");
    let mut lazy = fixture("so-lazy", &["--log", &home.text_path("started")]);
    lazy["lazy"] = json!(true);
    home.write("config.json", json!({ "servers": [lazy, fixture("eager", &[])] }).to_string());
    (home, mark)
}

fn inspect(gateway: &mut Gateway, name: &str) -> Value {
    let answer = gateway.session.call_tool("inspect_tool", json!({ "tool_name": name }));
    assert!(!answer.is_error, "{answer:?}");
    serde_json::from_str(&answer.text).unwrap()
}

/// Does what needs no lazy server: nothing starts it.
fn use_ordinary_server(gateway: &mut Gateway, mark: &Path) {
    assert_eq!(gateway.prints("print(await mcp__eager__add(1, 2))"), "3\n");
    let failure = gateway.fails("await mcp__eager__ad(1, 2)");
    assert!(failure.contains("mcp__eager__add"), "{failure}");
    gateway.fails("await mcp__so_laz__add(1, 2)");
    inspect(gateway, "mcp__eager__add");
    assert!(!mark.exists(), "nobody has needed it");
}

#[test]
fn the_first_call_starts_it() {
    let (home, mark) = home_with_lazy_server();
    let mut gateway = Gateway::in_home(home);
    use_ordinary_server(&mut gateway, &mark);
    let code = "
        import asyncio
        print(await asyncio.gather(*(mcp__so_lazy__add(n, 1) for n in range(3))))
    ";
    assert_eq!(gateway.prints(code), "[1, 2, 3]\n");
    let log = std::fs::read_to_string(mark).unwrap();
    assert_eq!(log.matches("\"initialize\"").count(), 1, "{log}");
}

#[test]
fn a_name_that_it_might_have_starts_it() {
    let (home, mark) = home_with_lazy_server();
    let mut gateway = Gateway::in_home(home);
    use_ordinary_server(&mut gateway, &mark);
    let failure = gateway.fails("await mcp__so_lazy__ad(1, 2)");
    assert!(failure.contains("mcp__so_lazy__add"), "{failure}");
    assert!(mark.exists());
}

#[test]
fn to_inspect_a_tool_of_it_starts_it() {
    let (home, mark) = home_with_lazy_server();
    let mut gateway = Gateway::in_home(home);
    use_ordinary_server(&mut gateway, &mark);
    inspect(&mut gateway, "mcp__so_lazy__add");
    assert!(mark.exists());
}

#[test]
fn a_list_of_all_tools_starts_it() {
    let (home, mark) = home_with_lazy_server();
    let mut gateway = Gateway::in_home(home);
    use_ordinary_server(&mut gateway, &mark);
    assert_eq!(gateway.callable_tools().len(), 35 + 35);
    assert!(mark.exists());
}

#[test]
fn check_starts_it() {
    let (home, mark) = home_with_lazy_server();
    let ended = finish(home.onecall_with_config(&["check"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stdout.matches("ready in").count(), 2, "{}", ended.stdout);
    assert!(mark.exists());
}

#[test]
fn one_that_nobody_needed_is_no_trouble_in_the_end() {
    let (home, mark) = home_with_lazy_server();
    let ended = home.run("print(await mcp__eager__add(1, 2))");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "3\n"), "{ended:?}");
    assert!(!mark.exists());
}

#[test]
fn one_that_cannot_be_started_says_so_when_it_is_needed() {
    let servers = [json!({ "name": "bad", "command": "/no/such/command", "lazy": true })];
    let mut gateway = Gateway::with_config(&json!({ "servers": servers }));
    assert_eq!(gateway.prints("print(1)"), "1\n");
    assert!(!gateway.session.client().stderr().contains("not available"));
    let failure = gateway.fails("await mcp__bad__add(1, 2)");
    let expected = "ToolError: 'mcp__bad__add' failed: server 'bad' is not running: ";
    assert!(failure.contains(expected), "{failure}");
    gateway.wait_for_log(&["WARN", "server=bad", "command '/no/such/command' was not found"]);
}
