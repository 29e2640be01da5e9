//! What an agent has to read, in tokens: before it does anything, and to find the tools
//! of a task. `--nocapture` shows the figures.

#![allow(clippy::print_stdout, reason = "figures for people")]

use serde_json::{Value, json};
use testkit::bins;
use testkit::mcp::{PROTOCOL, Session};
use testkit::rpc::Client;

use crate::support::{Gateway, Home, finish, fixture};

fn tokens(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len()
}

/// What clients put before a model of a tool.
fn definition_for_model(tool: &Value) -> String {
    let (name, description) = (&tool["name"], &tool["description"]);
    let schema = &tool["inputSchema"];
    json!({ "name": name, "description": description, "input_schema": schema }).to_string()
}

/// The definitions of the gateway and what it says of itself.
fn initial_tokens(gateway: &mut Gateway) -> usize {
    let definitions: usize =
        gateway.session.list_tools().iter().map(|tool| tokens(&definition_for_model(tool))).sum();
    let mut session = Session::new(Client::spawn(gateway.home.onecall_with_config(&["serve"])));
    let greeting = session.initialize(PROTOCOL);
    definitions + tokens(greeting["instructions"].as_str().unwrap())
}

/// As many definitions of four hundred tokens.
fn tools_of_400_tokens(count: usize) -> Vec<Value> {
    let flags = ["--tools", &count.to_string()];
    let mut tools = Session::open(bins::fixture_command(&flags)).list_tools();
    tools.retain(|tool| tool["name"].as_str().unwrap().starts_with("tool_"));
    for tool in &mut tools {
        let mut description = tool["description"].as_str().unwrap().to_owned();
        while tokens(&definition_for_model(tool)) < 400 {
            description.push_str(" More");
            tool["description"] = json!(description);
        }
    }
    tools
}

#[test]
fn what_is_loaded_up_front_hardly_counts() {
    let mut gateway = Gateway::new();
    let ours = initial_tokens(&mut gateway);
    for (count, share) in [(30, 0.05), (500, 0.01)] {
        let direct: usize =
            tools_of_400_tokens(count).iter().map(|tool| tokens(&definition_for_model(tool))).sum();
        #[expect(clippy::cast_precision_loss, reason = "figures for people")]
        let (loaded, of) = (ours as f64, direct as f64);
        println!(
            "{count} tools: {direct} tokens; ours: {ours}, {:.1}% less",
            100.0 - loaded / of * 100.0
        );
        assert!(loaded <= of * share, "{ours} of {direct}");
    }
}

#[test]
fn an_agent_reads_what_is_for_what_and_what_needs_no_program() {
    let home = Home::with_config(&json!({ "servers": [] }));
    let mut session = Session::new(Client::spawn(home.onecall_with_config(&["serve"])));
    let greeting = session.initialize(PROTOCOL);
    let mut text = format!("{}\n", greeting["instructions"].as_str().unwrap());
    for tool in session.list_tools() {
        let (name, about) = (tool["name"].as_str().unwrap(), tool["description"].as_str().unwrap());
        text.push_str(&format!("\n{name}: {about}\n"));
    }
    insta::assert_snapshot!(text);
}

/// What `execute_program` says of a single call is true: `proxy` makes it without a program.
#[test]
fn a_single_call_needs_no_program() {
    let mut gateway = Gateway::new();
    let arguments = json!({ "target_tool": "mcp__fixture__add", "tool_args": { "a": 1, "b": 2 } });
    let answer = gateway.session.call_tool("proxy", arguments);
    assert_eq!((answer.is_error, answer.text.as_str()), (false, "3"));
}

#[test]
fn all_definitions_together_stay_small() {
    let config = json!({
        "servers": [],
        "optional_tools": ["programmatic_tool_calling"],
        "approvals": { "ask": ["mcp__*__delete_*"] },
    });
    let mut gateway = Gateway::with_config(&config);
    // Whole, as they are on the wire.
    let all: usize =
        gateway.session.list_tools().iter().map(|tool| tokens(&tool.to_string())).sum();
    println!("all definitions, the optional ones too: {all} tokens");
    assert!(all < 1_500, "{all}");
}

/// The demo has no tokenizer: its texts are the same every time, and their tokens are in its source.
#[test]
fn the_tokens_that_the_demo_shows_are_those_of_its_texts() {
    let home = Home::with_config(&json!({ "servers": [] }));
    let shown = finish(home.onecall(&["demo"])).stdout;
    let row = |name: &str| -> Vec<usize> {
        let line = shown.lines().find_map(|line| line.strip_prefix(name));
        let words = line.unwrap_or_else(|| panic!("no {name} in {shown}")).split_ascii_whitespace();
        words.filter_map(|word| word.parse().ok()).collect()
    };
    let mut server = Session::open(home.onecall(&["demo-server"]));
    let mut direct = vec![Value::from(server.list_tools()).to_string()];
    for ticker in ["ACME", "GLOBEX", "INITECH"] {
        let query = format!("{ticker} revenue outlook");
        for (tool, arguments) in [
            ("query_financials", json!({ "ticker": ticker, "quarters": 40 })),
            ("stock_quote", json!({ "ticker": ticker })),
            ("search_docs", json!({ "query": query, "limit": 5 })),
        ] {
            direct.push(format!("mcp__demo__{tool} {arguments}"));
            direct.push(server.call_tool(tool, arguments).text);
        }
    }
    let mut gateway = Session::open(home.onecall_with_config(&["serve"]));
    let (_, answer) = shown.split_once("What comes back to the model").unwrap();
    let answer = answer.lines().skip(2).map_while(|line| line.strip_prefix("    "));
    let ours = [
        Value::from(gateway.list_tools()).to_string(),
        include_str!("../../src/demo/program.py").to_owned(),
        answer.map(|line| format!("{line}\n")).collect(),
    ];
    let bytes = |texts: &[String]| texts.iter().map(String::len).sum::<usize>();
    let counted = |texts: &[String]| texts.iter().map(|text| tokens(text)).sum::<usize>();
    assert_eq!(row("bytes "), [bytes(&direct), bytes(&ours)]);
    assert_eq!(row("tokens (o200k) "), [counted(&direct), counted(&ours)]);
}

/// A gateway to the tools of published servers, of which the catalog's tests have a copy.
fn published() -> Gateway {
    let copy =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../onecall-catalog/tests/published/tools.json");
    let copy: Value = serde_json::from_str(&std::fs::read_to_string(copy).unwrap()).unwrap();
    let home = Home::new();
    let servers = copy.as_object().unwrap().iter().map(|(name, listed)| {
        let file = home.write(&format!("{name}.json"), listed["tools"].to_string());
        fixture(name, &["--tools-file", &file.display().to_string()])
    });
    let config = json!({ "servers": servers.collect::<Vec<_>>() });
    home.write("config.json", config.to_string());
    Gateway::in_home(home)
}

fn search(gateway: &mut Gateway, arguments: Value) -> String {
    let answer = gateway.session.call_tool("search_tools", arguments);
    assert!(!answer.is_error, "{}", answer.text);
    answer.text
}

#[test]
fn finding_the_tools_of_a_task_is_cheap() {
    let mut gateway = published();
    let tasks = [
        ["list open issues", "send a slack message"],
        ["run an SQL query", "write text to a file on disk"],
        ["search the web", "append content to a block"],
        ["pull request files", "comment on an issue"],
        ["address to coordinates", "distance between cities"],
    ];
    for queries in tasks {
        // Both the question and the answer pass through the model.
        let cost: usize = queries
            .iter()
            .map(|query| {
                let arguments = json!({ "query": query, "limit": 3 });
                tokens(&arguments.to_string()) + tokens(&search(&mut gateway, arguments))
            })
            .sum();
        println!("{queries:?}: {cost} tokens");
        assert!(cost < 600, "{queries:?}: {cost}");
    }
}

#[test]
fn each_detail_has_its_price() {
    let mut gateway = published();
    for query in ["pull request", "read a file", "create a page", ""] {
        let mut price = |detail: &str| {
            tokens(&search(&mut gateway, json!({ "query": query, "detail": detail })))
        };
        let (names, signatures, full) = (price("names"), price("signatures"), price("full"));
        println!("{query:?}: names {names}, signatures {signatures}, full {full} tokens");
        assert!(names <= 300 && signatures <= 600 && full <= 4_000);
        assert!(names < signatures && signatures < full);
    }
}
