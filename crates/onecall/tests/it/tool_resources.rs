//! The tools that programs may call, as resources of ours.

use serde_json::{Value, json};
use testkit::rpc::RpcError;

use crate::support::{Gateway, Home, fixture};

fn read(gateway: &mut Gateway, uri: &str) -> Result<(String, String), RpcError> {
    let answer = gateway.session.client().try_request("resources/read", json!({ "uri": uri }))?;
    let [content] = answer["contents"].as_array().unwrap().as_slice() else {
        panic!("one content: {answer}")
    };
    assert_eq!(content["uri"], uri);
    let text = |key: &str| content[key].as_str().unwrap().to_owned();
    Ok((text("text"), text("mimeType")))
}

/// The addresses on every page, and how many pages there are.
fn list(gateway: &mut Gateway) -> (Vec<String>, usize) {
    let (mut uris, mut pages, mut params) = (Vec::new(), 0, json!({}));
    loop {
        let mut page = gateway.session.client().request("resources/list", params);
        pages += 1;
        let listed = page["resources"].as_array().unwrap();
        assert!(listed.len() <= 201, "{} on one page", listed.len());
        uris.extend(listed.iter().map(|it| it["uri"].as_str().unwrap().to_owned()));
        match page["nextCursor"].take() {
            Value::String(cursor) => params = json!({ "cursor": cursor }),
            _ => return (uris, pages),
        }
    }
}

#[test]
fn a_server_and_its_tools_can_be_read() {
    let servers = [fixture("my-data", &[]), fixture("other", &[])];
    let mut gateway = Gateway::with_config(&json!({ "servers": servers }));
    gateway.callable_tools();
    let (index, kind) = read(&mut gateway, "onecall://servers").unwrap();
    let expected = "onecall://servers/my_data: 35 tools\nonecall://servers/other: 35 tools\n";
    assert_eq!((index.as_str(), kind.as_str()), (expected, "text/plain"));
    let (server, _) = read(&mut gateway, "onecall://servers/my_data").unwrap();
    assert!(server.contains("onecall://servers/my_data/add.pyi: Adds two numbers.\n"), "{server}");
    for (ending, kind) in [("pyi", "text/x-python"), ("ts", "text/x-typescript")] {
        let uri = format!("onecall://servers/my_data/add.{ending}");
        let (text, mime_type) = read(&mut gateway, &uri).unwrap();
        assert_eq!(mime_type, kind);
        insta::assert_snapshot!(format!("resource_{ending}"), text);
    }
}

#[test]
fn everything_is_listed_page_by_page() {
    let mut gateway = Gateway::with_flags(&["--tools", "300"]);
    let names = gateway.callable_tools();
    let (uris, pages) = list(&mut gateway);
    let place = |name: &String| name.trim_start_matches("mcp__fixture__").to_owned();
    let mut expected = vec!["onecall://servers".to_owned(), "onecall://servers/fixture".to_owned()];
    for name in names.iter().map(place) {
        expected.extend(["pyi", "ts"].map(|it| format!("onecall://servers/fixture/{name}.{it}")));
    }
    assert_eq!(uris, expected);
    assert_eq!(pages, 4);
    let foreign = json!({ "cursor": "17" });
    let error = gateway.session.client().try_request("resources/list", foreign).unwrap_err();
    assert_eq!(error.code, -32602);
}

#[test]
fn templates_say_how_addresses_are_made_and_complete_themselves() {
    let mut gateway = Gateway::new();
    gateway.callable_tools();
    let templates = gateway.session.client().request("resources/templates/list", json!({}));
    let uris: Vec<&str> = templates["resourceTemplates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["uriTemplate"].as_str().unwrap())
        .collect();
    let expected = [
        "onecall://servers/{server}",
        "onecall://servers/{server}/{tool}.pyi",
        "onecall://servers/{server}/{tool}.ts",
    ];
    assert_eq!(uris, expected);
    let mut complete = |name: &str, value: &str| {
        let request = json!({
            "ref": { "type": "ref/resource", "uri": uris[1] },
            "argument": { "name": name, "value": value },
            "context": { "arguments": { "server": "fixture" } },
        });
        gateway.session.client().request("completion/complete", request)["completion"].clone()
    };
    assert_eq!(complete("server", "fi")["values"], json!(["fixture"]));
    assert_eq!(complete("tool", "ad")["values"], json!(["add"]));
    assert_eq!(complete("other", "")["values"], json!([]));
}

#[test]
fn what_is_not_there_is_answered_with_the_nearest() {
    let mut gateway = Gateway::with_config(&json!({
        "servers": [fixture("fixture", &[])],
        "tools": { "block": ["mcp__fixture__crash"] },
    }));
    for (uri, hint) in [
        ("onecall://servers/fixture/ad.pyi", ". Did you mean 'onecall://servers/fixture/add.pyi'?"),
        ("onecall://servers/fixtur", ". Did you mean 'onecall://servers/fixture'?"),
        ("onecall://servers/zzz/zzzzzz.ts", ""),
        ("file:///etc/passwd", ". Did you mean 'onecall://servers'?"),
    ] {
        let error = read(&mut gateway, uri).unwrap_err();
        let expected = format!("there is no resource '{uri}'{hint}");
        assert_eq!((error.code, error.message), (-32002, expected));
    }
    let blocked = read(&mut gateway, "onecall://servers/fixture/crash.pyi").unwrap_err();
    assert!(!blocked.message.contains("crash.pyi'?"), "{}", blocked.message);
    let (uris, _) = list(&mut gateway);
    assert!(uris.iter().all(|uri| !uri.contains("crash")));
}

#[test]
fn clients_are_told_when_the_tree_changes() {
    let home = Home::new();
    let file = home.write_tools("tools.json", &[("first", "The first.")]);
    let servers = [fixture("fixture", &["--tools-file", &file.display().to_string()])];
    home.write("config.json", json!({ "servers": servers }).to_string());
    let mut gateway = Gateway::in_home(home);
    assert_eq!(gateway.callable_tools(), ["mcp__fixture__first"]);
    assert_eq!(list(&mut gateway).0.len(), 4);
    gateway.home.write_tools("tools.json", &[("second", "The second.")]);
    gateway.session.client().wait_notification("notifications/tools/list_changed");
    gateway.session.client().wait_notification("notifications/resources/list_changed");
    let (uris, _) = list(&mut gateway);
    assert!(uris.contains(&"onecall://servers/fixture/second.pyi".to_owned()), "{uris:?}");
    assert!(!uris.iter().any(|uri| uri.contains("first")), "{uris:?}");
}

#[test]
fn a_lazy_server_is_started_by_who_reads_its_tools_only() {
    let mut lazy = fixture("lazy", &[]);
    lazy["lazy"] = json!(true);
    let mut gateway = Gateway::with_config(&json!({ "servers": [lazy] }));
    assert_eq!(list(&mut gateway).0, ["onecall://servers"]);
    let (index, _) = read(&mut gateway, "onecall://servers").unwrap();
    assert_eq!(index, "onecall://servers/lazy: no tools are known yet\n");
    let (text, _) = read(&mut gateway, "onecall://servers/lazy/add.pyi").unwrap();
    assert!(text.contains("async def mcp__lazy__add("), "{text}");
}
