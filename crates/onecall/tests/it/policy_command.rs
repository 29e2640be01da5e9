//! `onecall policy`: checks, explains and tests policies through the binary.

use serde_json::{Value, json};

use crate::support::{CommandResult, Home, finish, fixture};

const POLICY: &str = r#"// The team's policies.
permit(principal in Group::"staff", action in Action::"call", resource == Server::"shop");

@ask("it cannot be undone")
forbid(principal, action == Action::"mcp__shop__add", resource)
when { context.input.a.greaterThan(decimal("100.0")) };

@id("robots")
@reason("robots only read")
forbid(principal, action, resource) when { context.client == "robot" };
"#;

fn home(policy: &str) -> Home {
    let config = json!({ "servers": [fixture("shop", &[])], "policy": "./policy" });
    let home = Home::with_config(&config);
    home.write("policy/team.cedar", policy);
    home
}

fn policy(home: &Home, arguments: &[&str]) -> CommandResult {
    finish(home.onecall_with_config(&[&["policy"], arguments].concat()))
}

/// All that a command says, without the path of its home.
fn shown(home: &Home, result: &CommandResult) -> String {
    let text = format!("{}{}exit code {:?}", result.stdout, result.stderr, result.code);
    text.replace(&home.text_path("").trim_end_matches('/').to_owned(), "HOME")
}

#[test]
fn check_reports_errors_with_their_lines() {
    let home = home(POLICY);
    insta::assert_snapshot!(shown(&home, &policy(&home, &["check"])));
    let broken =
        POLICY.replace("context.input.a.", "context.input.amount.").replace("\"shop\"", "\"shap\"");
    home.write("policy/team.cedar", broken);
    home.write("policy/more.cedar", "permit(principal, action");
    insta::assert_snapshot!(shown(&home, &policy(&home, &["check"])));
    std::fs::remove_file(home.path("policy/more.cedar")).unwrap();
    insta::assert_snapshot!(shown(&home, &policy(&home, &["check"])));
    let json: Value = serde_json::from_str(&policy(&home, &["check", "--json"]).stdout).unwrap();
    assert_eq!(json["valid"], json!(false));
    assert_eq!(json["errors"][0]["file"], json!("team.cedar"));
    assert_eq!(json["errors"][0]["line"], json!(2));
}

#[test]
fn a_server_that_does_not_answer_is_a_warning() {
    let down = json!({ "name": "down", "command": "/nonexistent/server" });
    let config = json!({ "servers": [fixture("shop", &[]), down], "policy": "./policy" });
    let home = Home::with_config(&config);
    home.write(
        "policy/team.cedar",
        "permit(principal, action == Action::\"mcp__down__x\", resource) when { context.input.a == 1 };",
    );
    let result = policy(&home, &["check"]);
    assert_eq!(result.code, Some(1), "{}", result.stderr);
    insta::assert_snapshot!(shown(&home, &CommandResult { stderr: String::new(), ..result }));
}

#[test]
fn a_configuration_without_policies_says_how_to_name_them() {
    let home = Home::with_config(&json!({ "servers": [] }));
    insta::assert_snapshot!(shown(&home, &policy(&home, &["check"])));
}

#[test]
fn explain_shows_the_decision_and_the_policies() {
    let home = home(POLICY);
    let explain =
        |arguments: &[&str]| shown(&home, &policy(&home, &[&["explain"], arguments].concat()));
    insta::assert_snapshot!(explain(&[
        "anna",
        "mcp__shop__add",
        "a=500",
        "b=1",
        "--group",
        "staff"
    ]));
    insta::assert_snapshot!(explain(&[
        "anna",
        "shop.add",
        r#"{"a": 5, "a": 6}"#,
        "--group",
        "staff"
    ]));
    insta::assert_snapshot!(explain(&["anna", "mcp__shop__ad", "a=5"]));
    insta::assert_snapshot!(explain(&[
        "anna",
        "read_resource",
        "uri=x",
        "server=shop",
        "--client",
        "robot"
    ]));
    let json = policy(&home, &["explain", "local", "add", "{}", "--json"]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["decision"], json!("deny"));
    assert_eq!(json["rule"], json!("default"));
    assert_eq!(json["policies"][2]["result"], json!("condition_false"));
}

/// A server that a command does not need has not listed its tools, which is nothing to warn about.
#[test]
fn other_commands_do_not_warn_about_servers_that_they_do_not_need() {
    let home = home(POLICY);
    for arguments in [["run", "-e", "print(1)"], ["tools", "--json", "--limit=1"]] {
        let result = finish(home.onecall_with_config(&arguments));
        assert!(!result.stderr.contains("WARN"), "{arguments:?}: {result:?}");
    }
}

/// A call is decided by more than policies, also where there are none.
#[test]
fn explain_knows_lists_pins_and_approvals() {
    let mut config = json!({
        "servers": [fixture("shop", &[])],
        "tools": { "block": ["mcp__shop__echo"] },
        "approvals": { "ask": ["mcp__shop__add"] },
    });
    let home = Home::with_config(&config);
    let explain = |tool: &str| {
        let text = shown(&home, &policy(&home, &["explain", "anna", tool, "{}"]));
        text.lines().next().unwrap_or_default().to_owned()
    };
    let without_policies = [explain("shop.add"), explain("shop.echo"), explain("list_resources")];
    home.write("policy/team.cedar", "@id(\"all\") permit(principal, action, resource);\n");
    config["policy"] = json!("./policy");
    home.replace_config(&config);
    let with_policies = [explain("shop.add"), explain("shop.echo"), explain("list_resources")];
    insta::assert_snapshot!([without_policies, with_policies].concat().join("\n"));
    let json = policy(&home, &["explain", "anna", "shop.add", "{}", "--json"]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["decision"], json!("ask"));
    assert_eq!(json["rule"], json!("approvals.ask: mcp__shop__add"));
    assert_eq!(json["policies"][0]["result"], json!("satisfied"));
}

#[test]
fn test_compares_decisions_with_what_a_file_expects() {
    let home = home(POLICY);
    // The tools of the server are known once it has listed them.
    assert_eq!(policy(&home, &["check"]).code, Some(0));
    home.write(
        "cases.yaml",
        r#"
cases:
  - {user: anna, groups: [staff], tool: mcp__shop__add, arguments: {a: 1, b: 2}, expect: allow}
  - {user: anna, groups: [staff], tool: mcp__shop__add, arguments: {a: 101, b: 2}, expect: ask, rule: "team.cedar:4"}
  - {user: anna, tool: mcp__shop__add, arguments: {a: 1}, expect: deny, rule: default}
  - {user: anna, groups: [staff], client: robot, tool: mcp__shop__echo, expect: deny, rule: robots}
"#,
    );
    insta::assert_snapshot!(shown(&home, &policy(&home, &["test", &home.text_path("cases.yaml")])));
    home.write(
        "wrong.yaml",
        r#"
policy: policy/team.cedar
tools:
  - {server: shop, name: add, input_schema: {properties: {a: {type: number}}, required: [a]}}
  - {server: shop, name: look, annotations: {readOnlyHint: true}}
cases:
  - {user: anna, groups: [staff], tool: mcp__shop__look, expect: allow}
  - {name: too much, user: anna, groups: [staff], tool: mcp__shop__add, arguments: {a: 101}, expect: allow}
  - user: anna
    groups: [staff]
    tool: mcp__shop__add
    arguments: '{"a": 1, "a": 1000}'
    expect: deny
    rule: robots
  - {user: anna, tool: mcp__shop__echo, expect: deny}
  - {user: "", tool: mcp__shop__add, expect: deny}
  - {user: anna, tool: mcp__shop__add, kind: dance, expect: deny}
"#,
    );
    insta::assert_snapshot!(shown(&home, &policy(&home, &["test", &home.text_path("wrong.yaml")])));
    for (text, name) in [
        ("cases: []", "empty"),
        ("case: []", "key"),
        ("cases: [{user: anna, tool: x, expect: maybe}]", "expect"),
        ("cases:\n  - {user: anna, tol: x, expect: deny}", "field"),
        ("cases: [", "yaml"),
    ] {
        home.write("bad.yaml", text);
        insta::assert_snapshot!(
            format!("bad_{name}"),
            shown(&home, &policy(&home, &["test", &home.text_path("bad.yaml")]))
        );
    }
}

#[test]
fn programs_cannot_be_given_the_folder_of_the_policies() {
    let home = home(POLICY);
    home.write("work/policy/team.cedar", POLICY);
    let config = json!({
        "servers": [fixture("shop", &[])],
        "policy": "./work/policy",
        "workspace": { "path": home.text_path("work"), "mode": "read-write" },
    });
    home.replace_config(&config);
    insta::assert_snapshot!(shown(&home, &policy(&home, &["check"])));
}
