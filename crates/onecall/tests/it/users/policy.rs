//! Policies and users: what a user may call depends on the groups at the time of the request, and on the
//! policies that are in force then.

use std::fs;

use serde_json::json;
use tempfile::TempDir;
use testkit::process::wait_until;

use super::{bearer, personal_token, users};
use crate::support::TIMEOUT;
use crate::support::http_gateway::{Client, HttpGateway};

const POLICY: &str = r#"
permit (principal in Group::"dev", action in Action::"call", resource);
permit (principal in Group::"intern", action == Action::"mcp__fixture__env", resource);
@id("no secrets")
@reason("interns read harmless variables")
forbid (principal in Group::"intern", action == Action::"mcp__fixture__env", resource)
when { context.input.name like "*SECRET*" };
"#;

/// A gateway with these policies, in a folder of its own.
fn gateway(policy: &str) -> (HttpGateway, TempDir) {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("team.cedar"), policy).expect("a file");
    let settings = json!({ "users": {}, "policy": folder.path() });
    (HttpGateway::with_settings(&settings), folder)
}

fn client(gateway: &HttpGateway, user: &str, groups: &[&str]) -> Client {
    Client::open(gateway.address, &[&bearer(&personal_token(gateway, user, groups))])
}

fn tools(client: &Client) -> Vec<String> {
    let params = json!({ "name": "list_callable_tools", "arguments": {} });
    let message = json!({ "jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params });
    let answer = client.post(&message).message();
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    serde_json::from_str(text).expect("a list of names")
}

fn last_line(answer: &str) -> &str {
    answer.trim_end().lines().last().unwrap_or_default()
}

#[test]
fn each_user_sees_and_calls_what_the_policies_permit() {
    let (gateway, _folder) = gateway(POLICY);
    let dev = client(&gateway, "anna", &["dev"]);
    let intern = client(&gateway, "ben", &["intern"]);
    let nobody = client(&gateway, "eve", &[]);
    assert!(tools(&dev).len() > 10);
    assert_eq!(tools(&intern), ["mcp__fixture__env"]);
    assert_eq!(tools(&nobody), [""; 0]);
    let read = |client: &Client, id, name: &str| {
        client.run(id, &format!("print(await mcp__fixture__env(name='{name}'))"))
    };
    assert_eq!(read(&dev, 1, "A_SECRET"), "[Script executed successfully]\nNone\n");
    assert_eq!(read(&intern, 1, "HARMLESS"), "[Script executed successfully]\nNone\n");
    assert_eq!(
        last_line(&read(&intern, 2, "A_SECRET")),
        "ToolError: 'mcp__fixture__env' is not permitted: policy no secrets: interns read harmless \
         variables"
    );
    // An argument that is not what the schema says makes no difference to what is permitted.
    let smuggled = intern.run(3, "print(await mcp__fixture__env(name=['A_SECRET']))");
    assert!(smuggled.contains("ToolError") || smuggled.contains("TypeError"), "{smuggled}");
    assert_eq!(
        last_line(&read(&nobody, 1, "HARMLESS")),
        "ToolError: 'mcp__fixture__env' is not available in execute_program"
    );
    // A program that hides the name from the check before the run gets no further.
    let hidden = intern.run(4, "print(await globals()['mcp__fixture__' + 'add'](a=1, b=2))");
    assert!(!hidden.contains("successfully"), "{hidden}");
}

#[test]
fn changed_policies_and_groups_count_from_the_next_call_on() {
    let (gateway, folder) = gateway(POLICY);
    let client = client(&gateway, "ben", &["intern"]);
    assert_eq!(tools(&client), ["mcp__fixture__env"]);
    let file = folder.path().join("team.cedar");
    // A file that is not valid changes nothing, and is reported.
    fs::write(
        &file,
        "permit (principal, action == Action::\"mcp__fixture__no_such_tool\", resource);",
    )
    .expect("a file");
    let reported = || gateway.stderr().contains("the previous policies stay in force");
    assert!(wait_until(TIMEOUT, reported), "{}", gateway.stderr());
    assert_eq!(tools(&client), ["mcp__fixture__env"]);
    fs::write(
        &file,
        "permit (principal in Group::\"intern\", action == Action::\"mcp__fixture__add\", resource);",
    )
    .expect("a file");
    assert!(wait_until(TIMEOUT, || tools(&client) == ["mcp__fixture__add"]));
    users(&gateway, &["add", "ben", "--group", "other"]);
    assert!(wait_until(TIMEOUT, || tools(&client).is_empty()));
}

#[test]
fn a_gateway_does_not_start_with_policies_that_are_not_valid() {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("a.cedar"), "permit (principal, action, resource")
        .expect("a file");
    let home = crate::support::Home::new();
    let config = json!({ "users": {}, "policy": folder.path(), "servers": [] });
    home.write("config.json", config.to_string());
    let ended =
        crate::support::finish(home.onecall_with_config(&["serve", "--http", "127.0.0.1:0"]));
    assert_ne!(ended.code, Some(0));
    assert!(ended.stderr.contains("a.cedar"), "{}", ended.stderr);
}
