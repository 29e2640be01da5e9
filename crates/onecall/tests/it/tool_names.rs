//! Every command that takes the name of a tool takes it in the same forms.

use serde_json::{Value, json};

use crate::support::{CommandResult, Gateway, Home, finish, fixture};

/// Two servers: both have `add`, only `shop-two` has `list.orders`.
fn home() -> Home {
    let home = Home::new();
    let one = home.write_tools("one.json", &[("add", "Adds.")]);
    let two = home.write_tools("two.json", &[("add", "Adds."), ("list.orders", "Lists orders.")]);
    let server = |name: &str, tools: &std::path::Path| {
        let log = home.text_path(&format!("started-{name}"));
        fixture(name, &["--log", &log, "--tools-file", tools.to_str().unwrap()])
    };
    let mut second = server("shop-two", &two);
    second["pin"] = json!(true);
    home.write("config.json", json!({ "servers": [server("one", &one), second] }).to_string());
    home
}

fn onecall(home: &Home, arguments: &[&str]) -> CommandResult {
    finish(home.onecall_with_config(arguments))
}

const ORDERS: [&str; 4] = [
    "mcp__shop_two__list_orders",
    "list.orders",
    "shop-two.list.orders",
    "mcp_shop_two_list_orders",
];

#[test]
fn a_unique_name_is_enough() {
    let home = home();
    for name in ORDERS {
        let shown = onecall(&home, &["tools", "show", name]);
        assert_eq!(shown.code, Some(0), "{name}: {shown:?}");
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
        assert_eq!(shown["name"], ORDERS[0]);
        let plan = json!({ "target_tool": name, "tool_args": {} });
        home.write("plan.json", plan.to_string());
        let explained = onecall(&home, &["proxy", "--explain", &home.text_path("plan.json")]);
        assert!(explained.stdout.contains(ORDERS[0]), "{name}: {explained:?}");
        let called = onecall(&home, &["call", name]);
        assert!(!called.stderr.contains("there is no tool"), "{name}: {called:?}");
        let pinned = onecall(&home, &["pin", "shop-two", name, "--yes"]);
        assert_eq!(pinned.code, Some(0), "{name}: {pinned:?}");
    }
}

#[test]
fn a_name_with_its_server_starts_that_server_alone() {
    let home = home();
    let shown = onecall(&home, &["tools", "show", "one.add"]);
    assert!(shown.stdout.contains("mcp__one__add"), "{shown:?}");
    assert!(home.path("started-one").exists() && !home.path("started-shop-two").exists());
}

#[test]
fn a_name_of_several_tools_lists_them() {
    let home = home();
    let several = "error: several tools are named 'add': write one of 'mcp__one__add', \
                   'mcp__shop_two__add'\n";
    for arguments in [&["call", "add", "a=1", "b=2"][..], &["tools", "show", "add"]] {
        let ended = onecall(&home, arguments);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), several), "{arguments:?}");
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    let home = home();
    let ended = onecall(&home, &["call", "mcp__one__ad"]);
    let near = "error: there is no tool 'mcp__one__ad'. Did you mean: 'mcp__one__add'";
    assert!(ended.code == Some(1) && ended.stderr.starts_with(near), "{ended:?}");
    let ended = onecall(&home, &["call", "zzzzzz"]);
    let none = "error: there is no tool 'zzzzzz'; `onecall tools` lists all tools\n";
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), none));
    let ended = onecall(&home, &["pin", "shop-two", "list_order", "--yes"]);
    let near = "error: server 'shop-two' has no tool 'list_order'. Did you mean: 'list.orders'";
    assert!(ended.code == Some(2) && ended.stderr.starts_with(near), "{ended:?}");
}

#[test]
fn runs_are_found_by_each_form() {
    let home = Home::with_config(&json!({ "servers": [fixture("so-called", &[])] }));
    assert_eq!(home.run("await mcp__so_called__add(1, 2)").code, Some(0));
    for name in ["mcp__so_called__add", "so-called.add", "add"] {
        let listed = onecall(&home, &["runs", "--tool", name]);
        assert!(listed.stdout.contains(" ok"), "{name}: {listed:?}");
    }
    for name in ["other.add", "so-called.echo"] {
        assert_eq!(onecall(&home, &["runs", "--tool", name]).stdout, "", "{name}");
    }
}

#[test]
fn an_agent_can_inspect_by_each_form() {
    let mut gateway = Gateway::in_home(home());
    for name in ORDERS {
        let answer = gateway.session.call_tool("inspect_tool", json!({ "tool_name": name }));
        assert!(answer.text.contains(ORDERS[0]), "{name}: {answer:?}");
    }
    let answer = gateway.session.call_tool("inspect_tool", json!({ "tool_name": "add" }));
    let several = "[Tool not found] 'add' is not available in execute_program\n\
                   Several tools have this name: 'mcp__one__add', 'mcp__shop_two__add'";
    assert_eq!((answer.text.as_str(), answer.is_error), (several, true));
}
