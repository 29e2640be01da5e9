//! A configuration that changes while it is served.

use std::process::Command;

use serde_json::{Value, json};
use testkit::mcp::Session;
use testkit::process::{marked, unique_mark, wait_until};

use crate::support::{Gateway, Home, TIMEOUT, finish, fixture, printed};

fn serving(config: &Value) -> Gateway {
    Gateway::with_info_log(Home::with_config(config))
}

/// The ids of the processes of a fixture server that was started with this name.
fn pids(mark: &str) -> Vec<u32> {
    marked(mark).into_iter().map(|process| process.pid).collect()
}

#[test]
fn only_servers_whose_entry_changed_are_touched() {
    let marks: Vec<String> = (0..4).map(|_| unique_mark()).collect();
    let entry = |name: &str, mark: usize| fixture(name, &["--name", &marks[mark]]);
    let servers = [entry("same", 0), entry("other", 1), entry("gone", 2)];
    let mut gateway = serving(&json!({ "servers": servers }));
    assert_eq!(gateway.callable_tools().len(), 3 * 35);
    let [same, other, gone] = [0, 1, 2].map(|mark| pids(&marks[mark]));
    assert_eq!([same.len(), other.len(), gone.len()], [1, 1, 1]);

    let mut changed = entry("other", 1);
    changed["env"] = json!({ "GREETING": "hello" });
    let servers = [entry("new", 3), changed, entry("same", 0)];
    gateway.home.replace_config(&json!({ "servers": servers }));
    gateway.wait_for_log(&["INFO", "added: new; removed: gone; restarted: other"]);
    gateway.wait_for_tool_change();
    assert_eq!(gateway.prints("print(await mcp__other__env(name='GREETING'))"), "hello\n");
    let expected = ["new", "other", "same"].map(|name| format!("mcp__{name}__add"));
    let adds: Vec<String> =
        gateway.callable_tools().into_iter().filter(|name| name.ends_with("__add")).collect();
    assert_eq!(adds, expected);
    assert_eq!(pids(&marks[0]), same);
    assert!(wait_until(TIMEOUT, || pids(&marks[2]).is_empty()));
    let restarted = pids(&marks[1]);
    assert!(restarted.len() == 1 && restarted != other, "{restarted:?} after {other:?}");
    assert_eq!(pids(&marks[3]).len(), 1);
}

#[test]
fn sighup_reads_it_again() {
    let mut gateway = serving(&json!({ "servers": [fixture("a", &[])] }));
    gateway.callable_tools();
    let pid = gateway.pid().to_string();
    assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    gateway.wait_for_log(&["INFO", "SIGHUP"]);
    assert_eq!(gateway.prints("print(await mcp__a__add(1, 2))"), "3\n");
}

/// Runs until the configuration has changed, and then uses a tool once more.
const LONG_LIVED: &str = "
    import asyncio
    print(await mcp__a__add(1, 2))
    while 'mcp__b__add' not in dir(tools):
        await asyncio.sleep(0.05)
    print(await mcp__a__add(3, 4))
";

#[test]
fn rules_hold_from_the_next_program_on() {
    let mut gateway = serving(&json!({ "servers": [fixture("a", &[])] }));
    let running = gateway.start(LONG_LIVED);
    // It has begun when another one, which came later, has ended.
    gateway.prints("print(await mcp__a__add(1, 2))");
    gateway.home.replace_config(&json!({
        "servers": [fixture("a", &[]), fixture("b", &[])],
        "tools": { "block": ["mcp__a__add"] },
        "execution": { "max_tool_calls": 1 },
    }));
    assert_eq!(printed(&gateway.session.finish_call(running)), "3\n7\n");
    gateway.wait_for_log(&["INFO", "changed from the next program on: tools, execution"]);
    let failure = gateway.fails("await mcp__a__add(1, 2)");
    assert!(failure.contains("'mcp__a__add' is not available in execute_program"), "{failure}");
    let failure = gateway.fails("await mcp__b__add(1, 2)\nawait mcp__b__add(1, 2)");
    assert!(failure.contains("the limit of 1 tool calls per program is reached"), "{failure}");
    assert!(!gateway.callable_tools().contains(&"mcp__a__add".to_owned()));
}

#[test]
fn categories_of_imports_follow_the_configuration() {
    let servers = json!([fixture("a", &[])]);
    let mut gateway = serving(&json!({ "servers": servers }));
    let categories = json!({ "mcp__a__add": "validation" });
    gateway
        .home
        .replace_config(&json!({ "servers": servers, "generate": { "categories": categories } }));
    gateway.wait_for_log(&["INFO", "changed from the next program on: generate"]);
    let code = "import { add } from './mcp-apis/a/validation';\nconsole.log(await add(1, 2));";
    assert_eq!(printed(&gateway.execute_typescript(code)), "3\n");
}

#[test]
fn a_program_is_told_that_its_server_was_removed() {
    let mut gateway = serving(&json!({ "servers": [fixture("gone", &[]), fixture("a", &[])] }));
    let code = "
        import asyncio
        while True:
            try:
                await mcp__gone__add(1, 2)
            except ToolError as error:
                print(error)
                break
            await asyncio.sleep(0.05)
        try:
            await mcp__gone__add(1, 2)
        except ToolError as error:
            print(error)
        print(await mcp__a__add(1, 2))
    ";
    let running = gateway.start(code);
    gateway.prints("print(await mcp__gone__add(1, 2))");
    gateway.home.replace_config(&json!({ "servers": [fixture("a", &[])] }));
    let why = "'mcp__gone__add' failed: server 'gone' was removed from the configuration\n";
    assert_eq!(printed(&gateway.session.finish_call(running)), format!("{why}{why}3\n"));
    let failure = gateway.fails("await mcp__gone__add(1, 2)");
    assert!(failure.contains("NameError"), "{failure}");
}

#[test]
fn what_needs_a_restart_is_named() {
    let mut gateway = serving(&json!({ "servers": [fixture("a", &[])] }));
    gateway.callable_tools();
    let servers = [fixture("a", &[])];
    gateway
        .home
        .replace_config(&json!({ "servers": servers, "sandbox": "off", "engine": "cpython" }));
    let warning =
        "restart onecall to apply what has changed in the configuration under: sandbox, engine";
    gateway.wait_for_log(&["WARN", warning]);
}

#[test]
fn a_broken_one_is_reported_and_changes_nothing() {
    let mut gateway = serving(&json!({ "servers": [fixture("a", &[])] }));
    gateway.callable_tools();
    gateway.home.write("config.json", "{\n  \"servres\": []\n}\n");
    gateway.wait_for_log(&["ERROR", "config.json:2:3: unknown key 'servres'"]);
    gateway.wait_for_log(&["help: did you mean 'servers'?"]);
    gateway.wait_for_log(&["the previous configuration stays in use"]);
    assert_eq!(gateway.prints("print(await mcp__a__add(1, 2))"), "3\n");
    std::fs::remove_file(gateway.home.path("config.json")).unwrap();
    gateway.wait_for_log(&["ERROR", "does not exist"]);
    assert_eq!(gateway.prints("print(await mcp__a__add(1, 2))"), "3\n");
    gateway.home.replace_config(&json!({ "servers": [fixture("b", &[])] }));
    gateway.wait_for_log(&["INFO", "added: b; removed: a"]);
    assert_eq!(gateway.prints("print(await mcp__b__add(1, 2))"), "3\n");
}

#[test]
fn a_file_that_is_written_in_steps_is_read_when_it_is_complete() {
    let mut gateway = serving(&json!({ "servers": [fixture("a", &[])] }));
    gateway.callable_tools();
    let config = json!({ "servers": [fixture("b", &[])] }).to_string();
    for length in [0, 1, config.len() / 2, config.len() - 1] {
        gateway.home.write("config.json", &config[..length]);
    }
    std::fs::remove_file(gateway.home.path("config.json")).unwrap();
    gateway.home.write("config.json", &config);
    gateway.wait_for_log(&["INFO", "added: b; removed: a"]);
    assert!(!gateway.session.client().stderr().contains("ERROR"));
}

#[test]
fn a_trusted_one_that_changes_must_be_trusted_again() {
    let home = Home::new();
    let config = |name: &str| json!({ "servers": [fixture(name, &[])] }).to_string();
    home.write("work/onecall.yaml", config("a"));
    assert_eq!(finish(home.onecall(&["trust"])).code, Some(0));
    let session = Session::open(home.onecall(&["serve", "--log", "info"]));
    let mut gateway = Gateway { session, home };
    assert_eq!(gateway.callable_tools().len(), 35);
    gateway.home.write("work/onecall.yaml", config("b"));
    gateway.wait_for_log(&["WARN", "is not read: it has changed since you trusted it"]);
    gateway.wait_for_log(&["WARN", "onecall.yaml' would no longer be used; the configuration"]);
    assert_eq!(gateway.prints("print(await mcp__a__add(1, 2))"), "3\n");
    assert_eq!(finish(gateway.home.onecall(&["trust"])).code, Some(0));
    gateway.wait_for_log(&["INFO", "added: b; removed: a"]);
    assert_eq!(gateway.prints("print(await mcp__b__add(1, 2))"), "3\n");
}

#[test]
fn a_lazy_server_that_comes_is_told_and_not_started() {
    let mark = unique_mark();
    let mut gateway = serving(&json!({ "servers": [fixture("a", &[])] }));
    assert_eq!(gateway.callable_tools().len(), 35);
    let mut lazy = fixture("b", &["--name", &mark]);
    lazy["lazy"] = json!(true);
    gateway.home.replace_config(&json!({ "servers": [fixture("a", &[]), lazy] }));
    gateway.wait_for_tool_change();
    assert!(pids(&mark).is_empty());
    assert_eq!(gateway.callable_tools().len(), 2 * 35);
    assert_eq!(pids(&mark).len(), 1);
    assert_eq!(gateway.tool_change_count(), 0);
}
