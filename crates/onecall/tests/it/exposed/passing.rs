//! Lists, answers and errors of exposed servers arrive as the servers sent them.

use std::process::Command;

use serde_json::{Value, json};
use testkit::bins;
use testkit::mcp::Session;

use super::{HANDSHAKE, exposing};
use crate::support::Gateway;

fn bare() -> Session {
    let mut command = Command::new(bins::reference_server());
    command.arg(HANDSHAKE);
    Session::open(command)
}

/// What a request is answered with, except for what a gateway lists of its own.
fn answer(session: &mut Session, method: &str, params: Value) -> Result<Value, (i64, Value)> {
    let answered = session.client().try_request(method, params);
    let mut answer = answered.map_err(|error| (error.code, error.data))?;
    for (list, key) in [("resources", "uri"), ("resourceTemplates", "uriTemplate")] {
        if let Some(entries) = answer.get_mut(list).and_then(Value::as_array_mut) {
            entries.retain(|it| !it[key].as_str().unwrap().starts_with("onecall://"));
        }
    }
    Ok(answer)
}

#[test]
fn every_request_is_answered_as_the_server_answers_it() {
    let (mut bare, mut gateway) = (bare(), Gateway::with_config(&exposing(HANDSHAKE)));
    let read = |uri: &str| ("resources/read", json!({ "uri": uri }));
    let prompt = |name: &str, arguments: Value| {
        ("prompts/get", json!({ "name": name, "arguments": arguments }))
    };
    let call = |name: &str| ("tools/call", json!({ "name": name, "arguments": {} }));
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("prompts/list", json!({})),
        read("test://static-text"),
        read("test://static-binary"),
        read("test://template/123/data"),
        read("test://nothing"),
        prompt("test_simple_prompt", json!({})),
        prompt("test_prompt_with_arguments", json!({ "arg1": "a", "arg2": "b" })),
        prompt("test_prompt_with_embedded_resource", json!({ "resourceUri": "test://x" })),
        prompt("test_prompt_with_image", json!({})),
        call("test_simple_text"),
        call("test_multiple_content_types"),
        call("test_audio_content"),
        call("test_structured_content"),
        call("test_error_handling"),
        call("test_protocol_error"),
        call("test_missing_capability"),
    ] {
        let mut expected = answer(&mut bare, method, params.clone());
        let got = answer(&mut gateway.session, method, params.clone());
        if let Ok(expected) = &mut expected {
            // Hints about caching belong to the newer revision; clients of this one do not get them.
            let expected = expected.as_object_mut().unwrap();
            expected.retain(|key, _| !matches!(key.as_str(), "ttlMs" | "cacheScope"));
        }
        let got = got.map(|mut got| {
            let fields = got.as_object_mut().unwrap();
            fields.retain(|key, _| !matches!(key.as_str(), "ttlMs" | "cacheScope"));
            got
        });
        assert_eq!(got, expected, "{method} {params}");
    }
}

#[test]
fn completions_are_those_of_the_server() {
    let mut gateway = Gateway::with_config(&exposing(HANDSHAKE));
    let mut complete = |reference: Value| {
        let argument = json!({ "name": "arg1", "value": "test" });
        let params = json!({ "ref": reference, "argument": argument });
        gateway.session.client().request("completion/complete", params)["completion"].take()
    };
    let expected = json!({ "values": ["test", "testing"], "total": 2, "hasMore": false });
    let prompt = json!({ "type": "ref/prompt", "name": "test_prompt_with_arguments" });
    assert_eq!(complete(prompt), expected);
    let template = json!({ "type": "ref/resource", "uri": "test://template/{id}/data" });
    assert_eq!(complete(template), expected);
    let unknown = json!({ "type": "ref/prompt", "name": "nothing" });
    assert_eq!(complete(unknown), json!({ "values": [], "total": 0, "hasMore": false }));
}

#[test]
fn programs_use_the_same_server() {
    let mut gateway = Gateway::with_config(&exposing(HANDSHAKE));
    let code = "
        print(await mcp__reference__test_simple_text())
        print(await read_resource('test://static-text'))
        try:
            await mcp__reference__test_protocol_error()
        except ToolError as error:
            print(error)
    ";
    assert_eq!(
        gateway.prints(code),
        "This is a simple text.\nThis is the text of the static resource.\n\
         'mcp__reference__test_protocol_error' failed: refused on purpose\n"
    );
}

#[test]
fn nothing_is_declared_that_is_not_exposed() {
    let capabilities = |config: &Value| {
        let home = crate::support::Home::with_config(config);
        let mut session =
            Session::new(testkit::rpc::Client::spawn(home.onecall_with_config(&["serve"])));
        session.initialize(HANDSHAKE)["capabilities"].take()
    };
    let own = json!({
        "tools": { "listChanged": true },
        "resources": { "listChanged": true },
        "completions": {},
    });
    assert_eq!(capabilities(&json!({})), own);
    let mut all = own;
    all["resources"]["subscribe"] = json!(true);
    all["prompts"] = json!({ "listChanged": true });
    all["logging"] = json!({});
    assert_eq!(capabilities(&exposing(HANDSHAKE)), all);
}
