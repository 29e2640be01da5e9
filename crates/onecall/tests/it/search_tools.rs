//! How an agent finds the tools that its programs can call.

use serde_json::{Value, json};
use testkit::mcp::ToolAnswer;

use crate::support::{CommandResult, Gateway, Home, finish, fixture};

fn answer(gateway: &mut Gateway, arguments: Value) -> ToolAnswer {
    gateway.session.call_tool("search_tools", arguments)
}

fn found(gateway: &mut Gateway, arguments: Value) -> String {
    let answer = answer(gateway, arguments);
    assert!(!answer.is_error, "{}", answer.text);
    answer.text
}

#[test]
fn a_tool_is_shown_in_as_much_detail_as_is_wanted() {
    let mut gateway = Gateway::new();
    let query = "convert money between currencies";
    let names = found(&mut gateway, json!({ "query": query, "detail": "names", "limit": 1 }));
    insta::assert_snapshot!("search_names", names);
    let signatures = found(&mut gateway, json!({ "query": query, "limit": 1 }));
    insta::assert_snapshot!("search_signatures", signatures);
    let typescript = json!({ "query": "add numbers", "language": "typescript", "limit": 1 });
    assert_eq!(
        found(&mut gateway, typescript).lines().next(),
        Some("await mcp__fixture__add({ a: number; b: number }): Promise<number>")
    );
    let full = found(&mut gateway, json!({ "query": "add numbers", "detail": "full", "limit": 1 }));
    let first: Value = serde_json::from_str(full.lines().next().unwrap()).unwrap();
    let inspected =
        gateway.session.call_tool("inspect_tool", json!({ "tool_name": "mcp__fixture__add" }));
    assert_eq!(first, serde_json::from_str::<Value>(&inspected.text).unwrap());
}

#[test]
fn what_goes_beyond_the_room_is_shown_by_name() {
    let mut gateway = Gateway::with_flags(&["--tools", "500"]);
    let arguments = json!({ "query": "archive an invoice", "limit": 12 });
    insta::assert_snapshot!("search_room", found(&mut gateway, arguments));
}

#[test]
fn an_empty_query_lists_by_name() {
    let mut gateway = Gateway::new();
    let all = gateway.callable_tools();
    for query in [json!({ "query": "" }), json!({}), json!({ "query": null })] {
        let mut arguments = json!({ "detail": "names", "limit": 100 });
        arguments.as_object_mut().unwrap().extend(query.as_object().unwrap().clone());
        let text = found(&mut gateway, arguments);
        let names: Vec<&str> = text.lines().map(|line| line.split(':').next().unwrap()).collect();
        assert_eq!(names, all);
    }
}

#[test]
fn a_server_can_be_named_as_models_name_it() {
    let servers = [fixture("my-data", &[]), fixture("other", &[])];
    let mut gateway = Gateway::with_config(&json!({ "servers": servers }));
    for name in ["my-data", "my_data", "myData"] {
        let text = found(&mut gateway, json!({ "query": "add", "server": name, "limit": 1 }));
        assert!(text.starts_with("await mcp__my_data__add("), "{text}");
        assert!(!text.contains("other"), "{text}");
    }
    for (name, message) in [
        ("mydate", "search_tools: there is no server 'mydate'. Did you mean 'my-data'?"),
        ("xyz", "search_tools: there is no server 'xyz'; there are: my-data, other"),
    ] {
        let answer = answer(&mut gateway, json!({ "query": "add", "server": name }));
        assert_eq!((answer.text.as_str(), answer.is_error), (message, true));
    }
}

#[test]
fn arguments_that_make_no_sense_are_explained() {
    let mut gateway = Gateway::new();
    for (arguments, message) in [
        (json!({ "query": 5 }), "search_tools: 'query' must be a string"),
        (
            json!({ "query": "", "detail": "all" }),
            "search_tools: 'detail' must be one of names, signatures, full",
        ),
        (json!({ "limit": 0 }), "search_tools: 'limit' must be a whole number from 1 to 100"),
        (json!({ "limit": 1.5 }), "search_tools: 'limit' must be a whole number from 1 to 100"),
        (json!({ "limit": 1e9 }), "search_tools: 'limit' must be a whole number from 1 to 100"),
    ] {
        let answer = answer(&mut gateway, arguments);
        assert_eq!((answer.text.as_str(), answer.is_error), (message, true));
    }
}

#[test]
fn what_may_not_be_called_is_not_found() {
    let config = json!({
        "servers": [fixture("fixture", &[])],
        "tools": { "block": ["mcp__fixture__add", "mcp__fixture__crash"] },
    });
    let mut gateway = Gateway::with_config(&config);
    for query in ["add numbers", "mcp__fixture__add", "crash"] {
        let text = found(&mut gateway, json!({ "query": query, "detail": "full", "limit": 100 }));
        assert!(!text.contains("mcp__fixture__add\"") && !text.contains("crash"), "{text}");
    }
}

#[test]
fn nothing_found_says_where_there_is_something() {
    let mut gateway = Gateway::with_config(&json!({
        "servers": [fixture("one", &[]), { "name": "gone", "command": "/does/not/exist" }],
    }));
    insta::assert_snapshot!("search_nothing", found(&mut gateway, json!({ "query": "xylophone" })));
    let mut empty = Gateway::with_config(&json!({ "servers": [] }));
    assert_eq!(found(&mut empty, json!({ "query": "" })), "There are no tools.");
}

#[test]
fn a_server_that_is_slow_to_come_is_named_and_not_waited_for() {
    let servers = [fixture("fixture", &[]), fixture("slow", &["--hang-on-init"])];
    let mut gateway = Gateway::with_config(&json!({ "servers": servers }));
    let text = found(&mut gateway, json!({ "query": "add two numbers", "limit": 1 }));
    assert!(text.starts_with("await mcp__fixture__add("), "{text}");
    assert!(text.ends_with("\n[Servers still connecting: slow]"), "{text}");
}

#[test]
fn people_find_the_same() {
    let home = Home::with_config(&json!({ "servers": [fixture("fixture", &[])] }));
    let tools =
        |arguments: &[&str]| -> CommandResult { finish(home.onecall_with_config(arguments)) };
    let signatures = tools(&["tools", "add two numbers", "--limit", "1", "--detail", "signatures"]);
    assert_eq!(
        signatures.stdout,
        "await mcp__fixture__add(a: float, b: float) -> float\n  Adds two numbers.\n"
    );
    let typescript = "await mcp__fixture__add({ a: number; b: number }): Promise<number>";
    let of = ["tools", "add two numbers", "--limit", "1", "--detail", "signatures"];
    let wanted = tools(&[&of[..], &["--language", "typescript"]].concat());
    assert_eq!(wanted.stdout, format!("{typescript}\n  Adds two numbers.\n"));
    let json = tools(&[&of[..], &["--language", "typescript", "--json"]].concat());
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json[0]["signature"], typescript);
    let names = tools(&["tools", "add two numbers", "--limit", "1", "--json"]);
    let expected = json!([{ "name": "mcp__fixture__add", "description": "Adds two numbers." }]);
    assert_eq!(serde_json::from_str::<Value>(&names.stdout).unwrap(), expected);
    let full = tools(&["tools", "add two numbers", "--limit", "1", "--detail", "full"]);
    let full: Value = serde_json::from_str(&full.stdout).unwrap();
    let shown = tools(&["tools", "show", "mcp__fixture__add"]);
    assert_eq!(full[0], serde_json::from_str::<Value>(&shown.stdout).unwrap());
    let none = tools(&["tools", "xylophone", "--json"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(1), "[]\n"));
    let nowhere = tools(&["tools", "--server", "fixtur"]);
    let message = "error: there is no server 'fixtur'. Did you mean 'fixture'?\n";
    assert_eq!((nowhere.code, nowhere.stderr.as_str()), (Some(2), message));
}
