//! What runs were worth, run by run and added up.

use std::fs::File;

use serde_json::{Value, json};
use testkit::bins;
use testkit::mcp::Session;
use testkit::process::{Process, wait_until};

use crate::support::{Gateway, Home, TIMEOUT, finish, fixture};

fn gateway(more: Value) -> Gateway {
    let mut config = json!({ "servers": [fixture("fixture", &[])] });
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Gateway::with_config(&config)
}

fn parsed(home: &Home, arguments: &[&str]) -> Value {
    let ended = finish(home.onecall_with_config(arguments));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).expect("JSON on stdout")
}

/// What the only run was worth, once it is recorded.
fn recorded(home: &Home) -> Value {
    let mut tokens = Value::Null;
    let done = wait_until(TIMEOUT, || {
        tokens = parsed(home, &["runs", "--json"])[0]["tokens"].clone();
        tokens.is_object()
    });
    assert!(done, "{tokens}");
    tokens
}

fn exact(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len()
}

/// A tool as clients show it to their models.
fn definition_for_model(name: &str, tool: &Value) -> String {
    let (description, schema) = (&tool["description"], &tool["inputSchema"]);
    json!({ "name": name, "description": description, "input_schema": schema }).to_string()
}

const PROGRAM: &str = "
    total = 0
    for i in range(20):
        total += len(await mcp__fixture__rows(count=5))
    print(total)
";

/// Asserts that the recorded tokens differ from the exact ones by less than this percentage.
fn assert_near(tokens: &Value, gateway: &mut Gateway, answer: &str, percent: i64) {
    let own: String = gateway.session.list_tools().iter().map(ToString::to_string).collect();
    let mut server = Session::open(bins::fixture_command(&[]));
    let name = |tool: &Value| format!("mcp__fixture__{}", tool["name"].as_str().unwrap());
    let tools = server.list_tools();
    let definitions = tools.iter().map(|tool| exact(&definition_for_model(&name(tool), tool)));
    let mut direct: usize = definitions.sum();
    for _ in 0..20 {
        let rows = server.call_tool("rows", json!({ "count": 5 })).text;
        direct += exact(&format!("mcp__fixture__rows {{\"count\":5}} {rows}"));
    }
    let ours = exact(&own) + exact(PROGRAM) + exact(answer);
    for (key, exact) in [("direct", direct), ("onecall", ours)] {
        let (recorded, exact) = (tokens[key].as_i64().unwrap(), i64::try_from(exact).unwrap());
        let difference = (recorded - exact).abs() * 100 / exact;
        assert!(difference < percent, "{key}: {recorded} for {exact}");
    }
}

/// Tokens are estimated from sizes; the estimates are close to the exact counts.
#[test]
fn tokens_are_estimated_from_sizes() {
    let mut gateway = gateway(json!({}));
    let answer = gateway.execute(PROGRAM).text;
    let tokens = recorded(&gateway.home);
    let number = |key: &str| tokens[key].as_i64().unwrap();
    assert_eq!(tokens["saved"], number("direct") - number("onecall"));
    assert_eq!(tokens["estimated"], true);
    assert_near(&tokens, &mut gateway, &answer, 30);
}

/// A process of its own counts the tokens of runs that are recorded as a whole.
#[test]
fn tokens_of_whole_records_are_counted() {
    let mut gateway = gateway(json!({ "records": "full" }));
    let answer = gateway.execute(PROGRAM).text;
    let mut tokens = Value::Null;
    let is_counted = wait_until(TIMEOUT, || {
        tokens = recorded(&gateway.home);
        tokens["estimated"] == false
    });
    assert!(is_counted, "{tokens}");
    assert_near(&tokens, &mut gateway, &answer, 10);
    // What is counted is what a program of another author counts, too.
    let texts = json!(["", "a b", PROGRAM, "x".repeat(100_000)]).to_string();
    let texts = File::open(gateway.home.write("texts", texts)).expect("the texts");
    let counted = gateway.home.onecall(&["count-tokens"]).stdin(texts).output().expect("counts");
    let counts: Vec<usize> = serde_json::from_slice(&counted.stdout).expect("counts");
    let expected = ["", "a b", PROGRAM].map(exact);
    assert_eq!((counts.get(..3), counts.len()), (Some(expected.as_slice()), 4));
}

#[test]
fn a_gateway_that_records_stays_small() {
    let mut gateway = gateway(json!({}));
    gateway.prints(PROGRAM);
    let pid = gateway.pid();
    let peak = || Process::read(pid).unwrap().peak_bytes().unwrap() >> 20;
    let before = peak();
    for _ in 0..100 {
        gateway.prints(PROGRAM);
    }
    let grown = peak() - before;
    assert!(grown < 8, "{grown} MiB for a hundred programs");
}

#[test]
fn agents_are_told_what_they_saved_if_they_are_to_be() {
    let mut gateway = gateway(json!({ "report_savings": true }));
    let answer = gateway.execute(PROGRAM);
    let (text, line) = answer.text.rsplit_once('\n').unwrap();
    assert_eq!(text, "[Script executed successfully]\n100");
    let tokens = recorded(&gateway.home);
    let expected = format!(
        "[Tokens: ~{} instead of ~{} with direct calls, {}% fewer]",
        tokens["onecall"],
        tokens["direct"],
        tokens["saved"].as_i64().unwrap() * 100 / tokens["direct"].as_i64().unwrap()
    );
    assert_eq!(line, expected);
    // Where nothing is recorded, too.
    let mut forgetful = self::gateway(json!({ "report_savings": true, "records": "off" }));
    let answer = forgetful.execute("raise ValueError('no')");
    assert!(answer.text.contains("\n[Tokens: "), "{}", answer.text);
    let listed = finish(forgetful.home.onecall_with_config(&["runs", "--json"]));
    assert_eq!(listed.stdout, "[]\n");
}

#[test]
fn figures_add_up() {
    let mut gateway = gateway(json!({}));
    gateway.prints("for i in range(3): await mcp__fixture__add(a=i, b=i)");
    gateway.prints("await mcp__fixture__add(a=1, b=1)\nawait mcp__fixture__echo(value='x')");
    gateway.fails("await mcp__fixture__fail(message='no')");
    let mut stats = Value::Null;
    let done = wait_until(TIMEOUT, || {
        stats = parsed(&gateway.home, &["stats", "--json"]);
        stats["total"]["runs"] == 3
    });
    assert!(done, "{stats:#}");
    let figures = |value: &Value, keys: &[&str]| -> Vec<Value> {
        keys.iter().map(|key| value[key].clone()).collect()
    };
    let of_runs = ["runs", "failed_runs", "calls", "errors", "cache_hits"];
    assert_eq!(figures(&stats["total"], &of_runs), [3, 1, 6, 1, 0]);
    let days = stats["days"].as_array().unwrap();
    let runs: u64 = days.iter().map(|day| day["runs"].as_u64().unwrap()).sum();
    assert_eq!(runs, 3);
    let of_calls = ["runs", "calls", "errors"];
    let tools: Vec<_> = stats["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (tool["tool"].as_str().unwrap(), figures(tool, &of_calls)))
        .collect();
    let expected = [
        ("mcp__fixture__add", [2, 4, 0]),
        ("mcp__fixture__echo", [1, 1, 0]),
        ("mcp__fixture__fail", [1, 1, 1]),
    ];
    assert_eq!(tools, expected.map(|(name, figures)| (name, figures.map(Value::from).to_vec())));
    assert_eq!(figures(&stats["servers"][0], &of_calls), [3, 6, 1]);
    for columns in [60, 200] {
        let mut command = gateway.home.onecall_with_config(&["stats"]);
        command.env("COLUMNS", columns.to_string());
        let shown = finish(command).stdout;
        let widest = shown.lines().skip(1).map(|line| line.chars().count()).max();
        assert!(widest <= Some(columns), "{shown}");
        assert!(shown.starts_with("3 runs (1 failed), 6 calls (1 failed), "), "{shown}");
        let tool = shown.lines().find(|line| line.contains("add "));
        assert!(tool.is_some_and(|line| line.contains(" ~")), "{shown}");
    }
    assert_eq!(parsed(&gateway.home, &["stats", "--json", "--since", "0s"])["total"]["runs"], 0);
}

#[test]
fn runs_of_the_command_line_save_no_tokens() {
    let home = Home::new();
    home.write("config.json", json!({ "servers": [] }).to_string());
    assert_eq!(home.run("print(1)").stdout, "1\n");
    let stats = parsed(&home, &["stats", "--json"]);
    let figures =
        ["runs", "agent_runs", "direct_tokens", "saved_tokens"].map(|key| &stats["total"][key]);
    assert_eq!(figures, [1, 0, 0, 0]);
    let shown = finish(home.onecall_with_config(&["stats"])).stdout;
    let headline = "1 runs (0 failed), 0 calls (0 failed). All of them ran from the command line; \
                    tokens are saved when an agent runs programs.\n";
    assert!(shown.starts_with(headline), "{shown}");
    let listed = finish(home.onecall_with_config(&["runs"])).stdout;
    let run: Vec<&str> = listed.lines().nth(1).unwrap_or_default().split_whitespace().collect();
    assert!(run.ends_with(&["0", "-", "command", "line", "ok"]), "{listed}");
}
