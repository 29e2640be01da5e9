//! Exposed resources and prompts are subject to the rules that hold for programs.

use serde_json::{Value, json};
use testkit::process::wait_until;
use testkit::rpc::RpcError;

use super::{HANDSHAKE, exposing_with, listed, reference};
use crate::support::{Gateway, Home, TIMEOUT, finish};

const TEXT: &str = "test://static-text";

fn read(gateway: &mut Gateway, uri: &str) -> Result<Value, RpcError> {
    gateway.session.client().try_request("resources/read", json!({ "uri": uri }))
}

fn exposed_uris(gateway: &mut Gateway) -> Vec<String> {
    let mut uris = listed(gateway, "resources/list", "resources", "uri");
    uris.retain(|uri| !uri.starts_with("onecall://"));
    uris
}

#[test]
fn only_servers_that_are_named_are_exposed() {
    let mut gateway = Gateway::with_config(&json!({
        "servers": [reference("shown", HANDSHAKE), reference("hidden", HANDSHAKE)],
        "expose_resources": ["sho*"],
        "expose_prompts": ["shown"],
    }));
    assert_eq!(exposed_uris(&mut gateway).len(), 3);
    assert!(read(&mut gateway, TEXT).is_ok());
    let prompts = listed(&mut gateway, "prompts/list", "prompts", "name");
    assert!(prompts.iter().all(|name| name.starts_with("mcp__shown__")), "{prompts:?}");
    let hidden = json!({ "name": "mcp__hidden__test_simple_prompt" });
    assert!(gateway.session.client().try_request("prompts/get", hidden).is_err());
    // Nothing is exposed by default, and the own resources are there as ever.
    let mut gateway = Gateway::with_config(&json!({ "servers": [reference("hidden", HANDSHAKE)] }));
    assert_eq!(exposed_uris(&mut gateway), [""; 0]);
    assert!(read(&mut gateway, TEXT).is_err());
    assert!(read(&mut gateway, "onecall://servers").is_ok());
    let client = gateway.session.client();
    assert_eq!(client.request("prompts/list", json!({})), json!({ "prompts": [] }));
    for (method, params) in [
        ("prompts/get", json!({ "name": "test_simple_prompt" })),
        ("resources/subscribe", json!({ "uri": TEXT })),
        ("logging/setLevel", json!({ "level": "info" })),
    ] {
        assert_eq!(client.try_request(method, params).unwrap_err().code, -32601, "{method}");
    }
}

#[test]
fn a_resource_of_two_servers_is_read_from_neither() {
    let mut gateway = Gateway::with_config(&json!({
        "servers": [reference("one", HANDSHAKE), reference("two", HANDSHAKE)],
        "expose_resources": ["*"],
    }));
    let error = read(&mut gateway, TEXT).unwrap_err();
    assert!(error.message.contains("several servers have it: 'one', 'two'"), "{}", error.message);
}

#[test]
fn what_is_blocked_for_programs_is_blocked_for_clients() {
    for tools in [
        json!({ "block": ["mcp__reference__resources", "mcp__reference__prompts"] }),
        json!({ "allow": ["mcp__reference__test_*"] }),
    ] {
        let mut gateway = Gateway::with_config(&exposing_with(&json!({ "tools": tools })));
        assert_eq!(exposed_uris(&mut gateway), [""; 0]);
        assert_eq!(listed(&mut gateway, "prompts/list", "prompts", "name"), [""; 0]);
        let error = read(&mut gateway, TEXT).unwrap_err();
        assert_eq!(
            error.message,
            "'mcp__reference__resources' is not available in execute_program"
        );
        let client = gateway.session.client();
        let get = json!({ "name": "test_simple_prompt" });
        assert!(client.try_request("prompts/get", get).is_err());
        assert!(client.try_request("resources/subscribe", json!({ "uri": TEXT })).is_err());
        let failure = gateway.fails(&format!("await read_resource('{TEXT}', server='reference')"));
        assert!(failure.contains("'mcp__reference__resources' is not available"), "{failure}");
    }
}

#[test]
fn a_policy_decides_about_each_request() {
    let home = Home::new();
    let policy = r#"
        permit (principal, action in Action::"call", resource);
        permit (principal, action in [Action::"list_resources", Action::"list_prompts"], resource);
        permit (principal, action == Action::"read_resource", resource)
        when { context.input.uri like "*text" };
    "#;
    home.write("team.cedar", policy);
    let config = exposing_with(&json!({ "policy": home.text_path("team.cedar") }));
    home.write("config.json", config.to_string());
    let mut gateway = Gateway::in_home(home);
    assert_eq!(exposed_uris(&mut gateway).len(), 3);
    assert!(read(&mut gateway, TEXT).is_ok());
    let denied = "is not permitted: policy default: no policy permits it";
    let error = read(&mut gateway, "test://static-binary").unwrap_err();
    assert!(error.message.contains(denied), "{}", error.message);
    let failure = gateway.fails("await read_resource('test://static-binary', server='reference')");
    assert!(failure.contains(denied), "{failure}");
    for (method, params) in [
        ("prompts/get", json!({ "name": "test_simple_prompt" })),
        ("resources/subscribe", json!({ "uri": "test://watched-resource" })),
    ] {
        let error = gateway.session.client().try_request(method, params).unwrap_err();
        assert!(error.message.contains(denied), "{method}: {}", error.message);
    }
}

#[test]
fn a_resource_that_needs_an_approval_is_read_after_it() {
    let approvals = json!({ "ask": ["read_resource"] });
    let home = Home::with_config(&exposing_with(&json!({ "approvals": approvals })));
    let mut gateway = Gateway::in_home(home);
    for (verdict, is_read) in [("approve", true), ("deny", false)] {
        let id = gateway.session.client().start("resources/read", json!({ "uri": TEXT }));
        let decided = wait_until(TIMEOUT, || {
            let command = gateway.home.onecall_with_config(&["approvals", verdict, "--all"]);
            let ended = finish(command);
            ended.code == Some(0) && ended.stderr.contains("'read_resource'")
        });
        assert!(decided, "nothing was asked");
        let answer = gateway.session.client().finish(id);
        assert_eq!(answer.is_ok(), is_read, "{answer:?}");
        if let Err(error) = answer {
            assert!(error.message.contains("was denied"), "{}", error.message);
        }
    }
}

#[test]
fn every_use_is_in_the_audit_trail() {
    let mut gateway = Gateway::with_config(&exposing_with(&json!({ "audit": "hash" })));
    read(&mut gateway, TEXT).unwrap();
    let get = json!({ "name": "test_simple_prompt" });
    gateway.session.client().request("prompts/get", get);
    gateway.session.client().request("resources/subscribe", json!({ "uri": TEXT }));
    let names = || {
        let audit = gateway.home.onecall_with_config(&["audit", "--json", "-n", "1000"]);
        let rows: Vec<Value> = serde_json::from_str(&finish(audit).stdout).unwrap_or_default();
        let ended = rows.into_iter().filter(|row| row["event"]["what"] == "ended");
        let tools = ended.map(|row| row["call"]["tool"].as_str().unwrap_or_default().to_owned());
        tools.collect::<Vec<String>>()
    };
    let used = ["read_resource", "get_prompt", "subscribe_resource"];
    let all = wait_until(TIMEOUT, || used.iter().all(|it| names().contains(&(*it).to_owned())));
    assert!(all, "{:?}", names());
}
