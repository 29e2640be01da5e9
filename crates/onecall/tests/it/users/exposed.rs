//! Tools, resources and prompts that clients use directly, for several users at once: what one user may
//! not use neither shows nor answers, and servers, subscriptions and changes of one user are not another's.

use std::fs;
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::bins;
use testkit::process::wait_until;

use super::{bearer, personal_token, set_secret};
use crate::support::TIMEOUT;
use crate::support::http_gateway::{Client, HttpGateway};
use crate::support::raw_http::HttpResponse;

const WATCHED: &str = "test://watched-resource";
const UPDATED: &str = "notifications/resources/updated";
const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";

/// Developers use everything. Readers list what there is, read texts, and call one tool.
const POLICY: &str = r#"
permit (principal in Group::"dev", action, resource);
permit (principal in Group::"reader", action in [Action::"list_resources", Action::"list_prompts"], resource);
permit (principal in Group::"reader", action == Action::"mcp__reference__test_simple_text", resource);
permit (principal in Group::"reader", action == Action::"read_resource", resource)
when { context.input.uri like "*text" };
"#;

/// A gateway that exposes everything of the reference server, which has these variables.
fn gateway(env: &Value, more: &Value) -> HttpGateway {
    let args = ["2025-11-25"];
    let command = bins::reference_server();
    let server = json!({ "name": "reference", "command": command, "args": args, "env": env });
    let mut settings = json!({
        "users": {},
        "servers": [server],
        "expose_tools": ["mcp__reference__*"],
        "expose_resources": ["reference"],
        "expose_prompts": ["reference"],
        "expose_names": "own",
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        settings[key] = value.clone();
    }
    HttpGateway::with_settings(&settings)
}

fn client(gateway: &HttpGateway, user: &str, groups: &[&str]) -> Client {
    Client::open(gateway.address, &[&bearer(&personal_token(gateway, user, groups))])
}

/// The result of a request, or the message of its error.
fn request(client: &Client, method: &str, params: &Value) -> Result<Value, String> {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let answer = client.post(&message).message();
    match answer["error"]["message"].as_str() {
        Some(error) => Err(error.to_owned()),
        None => Ok(answer["result"].clone()),
    }
}

fn use_tool(client: &Client, name: &str) -> Result<Value, String> {
    request(client, "tools/call", &json!({ "name": name, "arguments": {} }))
}

/// How many tools, resources or prompts of the reference server a client lists.
fn count(client: &Client, method: &str, list: &str) -> usize {
    let listed = request(client, method, &json!({})).expect("a list");
    let entries = listed[list].as_array().expect("a list");
    let is_exposed = |entry: &&Value| {
        let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        text("uri").starts_with("test://") || text("name").starts_with("test_")
    };
    entries.iter().filter(is_exposed).count()
}

/// The methods of the notifications of a stream, up to the first of this kind.
fn methods_until(stream: &mut HttpResponse, last: &str) -> Vec<String> {
    let mut methods = Vec::new();
    while methods.last().is_none_or(|method| method != last) {
        let event = stream.next_event().expect("the stream goes on");
        methods.extend(event.data["method"].as_str().map(str::to_owned));
    }
    methods
}

#[test]
fn each_user_sees_and_uses_what_the_policies_permit() {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("team.cedar"), POLICY).expect("a file");
    let gateway = gateway(&json!({}), &json!({ "policy": folder.path() }));
    let developer = client(&gateway, "anna", &["dev"]);
    let reader = client(&gateway, "ben", &["reader"]);
    let stranger = client(&gateway, "eve", &[]);

    assert!(count(&developer, "tools/list", "tools") > 10);
    assert_eq!(count(&reader, "tools/list", "tools"), 1);
    assert_eq!(count(&stranger, "tools/list", "tools"), 0);
    for (method, list) in [("resources/list", "resources"), ("prompts/list", "prompts")] {
        let all = count(&developer, method, list);
        assert!(all >= 3, "{method}: {all}");
        assert_eq!(count(&reader, method, list), all, "{method}");
        assert_eq!(count(&stranger, method, list), 0, "{method}");
    }

    let text = json!({ "uri": "test://static-text" });
    let binary = json!({ "uri": "test://static-binary" });
    let prompt = json!({ "name": "test_simple_prompt" });
    let watch = json!({ "uri": WATCHED });
    for (method, params) in [
        ("resources/read", &text),
        ("resources/read", &binary),
        ("prompts/get", &prompt),
        ("resources/subscribe", &watch),
    ] {
        assert!(request(&developer, method, params).is_ok(), "{method} {params}");
        let refused = request(&stranger, method, params).expect_err("it is not permitted");
        assert!(!refused.contains("This is"), "{refused}");
        let is_permitted = request(&reader, method, params).is_ok();
        assert_eq!(is_permitted, params == &text, "{method} {params}");
    }
    assert!(use_tool(&reader, "test_simple_text").is_ok());
    assert!(use_tool(&reader, "test_image_content").is_err());
    assert!(use_tool(&stranger, "test_simple_text").is_err());
}

#[test]
fn a_change_reaches_the_user_who_watches() {
    let gateway = gateway(&json!({}), &json!({}));
    let anna = client(&gateway, "anna", &[]);
    let ben = client(&gateway, "ben", &[]);
    let (mut to_anna, mut to_ben) = (anna.listen(None), ben.listen(None));
    request(&anna, "resources/subscribe", &json!({ "uri": WATCHED })).expect("a subscription");
    use_tool(&ben, "test_trigger_resource_update").expect("it runs");
    // The server is shared, so both learn of changed prompts; only one of them watches the resource.
    use_tool(&ben, "test_trigger_prompt_change").expect("it runs");
    let seen = methods_until(&mut to_anna, PROMPTS_CHANGED);
    assert!(seen.iter().any(|method| method == UPDATED), "{seen:?}");
    let seen = methods_until(&mut to_ben, PROMPTS_CHANGED);
    assert!(!seen.iter().any(|method| method == UPDATED), "{seen:?}");
}

#[test]
fn servers_of_a_user_answer_and_notify_that_user() {
    let gateway = gateway(&json!({ "WHO": "${user:WHO}" }), &json!({}));
    let users = ["anna", "ben"].map(|user| {
        let token = personal_token(&gateway, user, &[]);
        set_secret(&gateway, user, "WHO", &format!("secret of {user}"));
        Client::open(gateway.address, &[&bearer(&token)])
    });
    let [anna, ben] = &users;
    let streams = [anna.listen(None), ben.listen(None)];
    thread::scope(|scope| {
        for client in &users {
            scope.spawn(|| {
                request(client, "resources/subscribe", &json!({ "uri": WATCHED })).expect("it is");
            });
        }
    });
    let [mut to_anna, mut to_ben] = streams;
    use_tool(anna, "test_trigger_resource_update").expect("it runs");
    methods_until(&mut to_anna, UPDATED);
    use_tool(ben, "test_trigger_prompt_change").expect("it runs");
    let seen = methods_until(&mut to_ben, PROMPTS_CHANGED);
    assert!(!seen.iter().any(|method| method == UPDATED), "{seen:?}");
    use_tool(anna, "test_trigger_resource_update").expect("it runs");
    let seen = methods_until(&mut to_anna, UPDATED);
    assert!(!seen.iter().any(|method| method == PROMPTS_CHANGED), "{seen:?}");
}

#[test]
fn a_secret_that_is_stored_later_is_used() {
    let gateway = gateway(&json!({ "WHO": "${user:WHO}" }), &json!({}));
    let anna = client(&gateway, "anna", &[]);
    let read = || request(&anna, "resources/read", &json!({ "uri": "test://static-text" }));
    let refused = read().expect_err("the secret is missing");
    assert!(refused.contains("onecall secrets set WHO --user anna"), "{refused}");
    set_secret(&gateway, "anna", "WHO", "secret of anna");
    assert!(wait_until(TIMEOUT, || read().is_ok()), "{:?}", read());
}

/// A user who was seen before has no servers of their own yet.
#[test]
fn the_first_server_that_runs_for_each_user_can_be_added_later() {
    let gateway = gateway(&json!({}), &json!({}));
    let users = ["anna", "ben"].map(|user| {
        let client = client(&gateway, user, &[]);
        set_secret(&gateway, user, "KEY", &format!("key of {user}"));
        client
    });
    for user in &users {
        use_tool(user, "test_simple_text").expect("it runs");
    }
    let config = fs::read_to_string(gateway.home.path("config.json")).expect("a file");
    let mut config: Value = serde_json::from_str(&config).expect("JSON");
    config["servers"].as_array_mut().expect("servers").push(json!({
        "name": "own", "command": bins::fixture_server(), "env": { "KEY": "${user:KEY}" },
    }));
    gateway.home.replace_config(&config);
    let print_key = "print(await mcp__own__env(name='KEY'))";
    for (user, name) in users.iter().zip(["anna", "ben"]) {
        let has_key = || user.run(2, print_key).contains(&format!("key of {name}"));
        assert!(wait_until(TIMEOUT, has_key), "{}", user.run(3, print_key));
    }
}
