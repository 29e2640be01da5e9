//! Types of results that no server declares: learned from real results, kept, shown, and
//! forgotten.

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::process::wait_until;

use crate::support::{Gateway, Home, TIMEOUT, finish, fixture};

fn config() -> Value {
    json!({ "servers": [fixture("fixture", &[])] })
}

/// What `inspect_tool` says about a tool.
fn inspect(gateway: &mut Gateway, tool: &str) -> Value {
    let name = format!("mcp__fixture__{tool}");
    let answer = gateway.session.call_tool("inspect_tool", json!({ "tool_name": name }));
    serde_json::from_str(&answer.text).expect("JSON")
}

/// What `inspect_tool` says about a tool after this many results were examined, which happens after
/// the calls are answered.
fn learned(gateway: &mut Gateway, tool: &str, samples: u64) -> Value {
    let mut description = Value::Null;
    let found = wait_until(TIMEOUT, || {
        description = inspect(gateway, tool);
        description["observedOutput"]["samples"] == samples
    });
    assert!(found, "{description}");
    description
}

#[test]
fn a_result_tells_its_type() {
    let mut gateway = Gateway::with_config(&config());
    let before = inspect(&mut gateway, "echo");
    assert_eq!((&before["outputSchema"], &before["observedOutput"]), (&Value::Null, &Value::Null));
    gateway.execute(
        "for value in ({'id': 1, 'tags': ['a']}, {'id': None, 'tags': [], 'extra': 1.5}):
    await mcp__fixture__echo({'value': value})",
    );
    assert_snapshot!(format!("{:#}", learned(&mut gateway, "echo", 2)));
    let search = "print(tools.search('mcp__fixture__echo', limit=1)[0]['signature'])";
    assert_snapshot!(gateway.prints(search));
    let answer = gateway.execute_typescript(
        "console.log((await tools.search('mcp__fixture__echo', 1))[0].signature)",
    );
    assert_snapshot!(answer.text);
}

#[test]
fn a_declared_type_is_not_observed() {
    let mut gateway = Gateway::with_config(&config());
    gateway.execute("await mcp__fixture__add(1, 2)\nawait mcp__fixture__nothing()");
    learned(&mut gateway, "nothing", 1);
    let description = inspect(&mut gateway, "add");
    assert_eq!(description["observedOutput"], Value::Null);
    assert_ne!(description["outputSchema"], Value::Null);
}

#[test]
fn the_next_process_knows_it_too() {
    let home = Home::with_config(&config());
    let ended = home.run("print(len(await mcp__fixture__rows(3)))");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "3\n"), "{}", ended.stderr);
    home.run("await mcp__fixture__rows(2)");
    let ended = finish(home.onecall_with_config(&["tools", "show", "mcp__fixture__rows"]));
    let shown: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(shown["observedOutput"]["samples"], 2);
    assert_snapshot!(shown["signature"].as_str().unwrap_or_default());

    let generate = ["generate", "--lang", "python", "--out", "out"];
    assert_eq!(finish(home.onecall_with_config(&generate)).code, Some(0));
    let file = std::fs::read_to_string(home.path("work/out/fixture/query/rows.py")).unwrap();
    assert_snapshot!(file);

    // Another server of this name is not the one that was watched.
    let other = json!({ "servers": [fixture("fixture", &["--tools", "1"])] });
    home.write("config.json", other.to_string());
    let ended = finish(home.onecall_with_config(&["tools", "show", "mcp__fixture__rows"]));
    assert!(!ended.stdout.contains("observedOutput"), "{}", ended.stdout);
}

#[test]
fn it_can_be_forgotten() {
    let home = Home::with_config(&config());
    let forget = |pattern: &[&str]| {
        finish(home.onecall_with_config(&[&["tools", "forget"], pattern].concat())).stdout
    };
    assert_eq!(forget(&[]), "Forgot the learned result types of 0 tools\n");
    assert!(!home.path("home/state").exists());
    home.run("await mcp__fixture__rows(2)\nawait mcp__fixture__nothing()");
    assert_eq!(forget(&["mcp__other__*"]), "Forgot the learned result types of 0 tools\n");
    assert_eq!(forget(&["*rows"]), "Forgot the learned result types of 1 tool\n");
    let ended = finish(home.onecall_with_config(&["tools", "show", "mcp__fixture__rows"]));
    assert!(!ended.stdout.contains("observedOutput"), "{}", ended.stdout);
    assert_eq!(forget(&[]), "Forgot the learned result types of 1 tool\n");
}

#[test]
fn no_value_is_kept() {
    let home =
        Home::with_config(&json!({ "servers": [fixture("fixture", &[])], "records": "off" }));
    let ended = home.run(
        "await mcp__fixture__echo({'value': {'name': 'SECRET-value', 'nested': [{'x': 'SECRET-two'}],
             'SECRET@example.com': 1, 'SECRET123456': {'SECRET key': 'SECRET-three'}}})
await mcp__fixture__echo({'value': 'SECRET-text'})",
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let mut kept = Vec::new();
    for file in home.state_files() {
        kept.extend(std::fs::read(file).unwrap());
    }
    let kept = String::from_utf8_lossy(&kept);
    assert!(kept.contains("nested"));
    assert!(!kept.contains("SECRET"));
}

#[test]
fn it_can_be_switched_off() {
    let mut config = config();
    config["learn_output_types"] = json!(false);
    let home = Home::with_config(&config);
    home.run("await mcp__fixture__nothing()");
    let mut gateway = Gateway::in_home(home);
    gateway.execute("await mcp__fixture__nothing()");
    assert_eq!(inspect(&mut gateway, "nothing")["observedOutput"], Value::Null);
}

#[test]
fn without_a_store_it_is_known_as_long_as_the_process_lives() {
    let home = Home::new();
    home.write("blocked/onecall.db/file", "a folder where the file should be");
    let mut config = config();
    config["store"] = json!({ "path": home.path("blocked/onecall.db") });
    home.write("config.json", config.to_string());
    let mut gateway = Gateway::in_home(home);
    gateway.execute("await mcp__fixture__nothing()\nawait mcp__fixture__nothing()");
    learned(&mut gateway, "nothing", 2);
}

#[test]
fn after_many_results_only_some_are_looked_at() {
    let mut gateway = Gateway::with_config(&config());
    gateway.execute("for _ in range(130): await mcp__fixture__nothing()");
    // The first 20, the 64th and the 128th.
    learned(&mut gateway, "nothing", 22);
}
