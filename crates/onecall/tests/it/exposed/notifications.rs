//! Messages of exposed servers that are not answers: log messages, progress, and changes of lists and
//! resources.

use serde_json::{Value, json};
use testkit::process::wait_until;
use testkit::rpc::Client;

use super::{HANDSHAKE, STATELESS, exposing, listed, stateless};
use crate::support::{Gateway, Home, TIMEOUT};

const WATCHED: &str = "test://watched-resource";

fn log_messages(gateway: &mut Gateway) -> Vec<Value> {
    let notifications = gateway.session.client().notifications();
    let is_log = |it: &&Value| it["method"] == "notifications/message";
    notifications.iter().filter(is_log).map(|it| it["params"]["data"].clone()).collect()
}

#[test]
fn log_messages_come_before_the_answer_if_the_client_wants_them() {
    let mut gateway = Gateway::with_config(&exposing(HANDSHAKE));
    gateway.session.call_tool("test_tool_with_logging", json!({}));
    assert_eq!(log_messages(&mut gateway), [""; 0]);
    let set = |gateway: &mut Gateway, level: &str| {
        let client = gateway.session.client();
        assert_eq!(client.request("logging/setLevel", json!({ "level": level })), json!({}));
    };
    set(&mut gateway, "info");
    gateway.session.call_tool("test_tool_with_logging", json!({}));
    let all = ["the tool has started", "the tool is working", "the tool has ended"];
    assert_eq!(log_messages(&mut gateway), all);
    // Another client may want more, so the level is applied here as well.
    set(&mut gateway, "warning");
    gateway.session.call_tool("test_tool_with_logging", json!({}));
    assert_eq!(log_messages(&mut gateway), all);
    let unknown = json!({ "level": "loud" });
    assert!(gateway.session.client().try_request("logging/setLevel", unknown).is_err());
}

#[test]
fn every_progress_report_comes_before_the_answer() {
    let mut gateway = Gateway::with_config(&exposing(HANDSHAKE));
    let call =
        gateway.session.start_call_with_progress("test_tool_with_progress", json!({}), "token");
    gateway.session.finish_call(call);
    let reports = gateway.session.progress("token");
    let progress: Vec<Option<f64>> = reports.iter().map(|it| it["progress"].as_f64()).collect();
    assert_eq!(progress, [Some(0.0), Some(50.0), Some(100.0)]);
}

#[test]
fn a_client_learns_of_the_changes_of_resources_that_it_watches() {
    for revision in [HANDSHAKE, STATELESS] {
        let mut gateway = Gateway::with_config(&exposing(revision));
        let watch = json!({ "uri": WATCHED });
        gateway.session.client().request("resources/subscribe", watch.clone());
        gateway.session.call_tool("test_trigger_resource_update", json!({}));
        let updated = "notifications/resources/updated";
        let update = gateway.session.client().wait_notification(updated);
        assert_eq!(update["params"]["uri"], WATCHED, "{revision}");
        gateway.session.client().request("resources/unsubscribe", watch);
        gateway.session.call_tool("test_trigger_resource_update", json!({}));
        // Both announcements take the same way, so an update would have arrived by now.
        gateway.session.call_tool("test_trigger_prompt_change", json!({}));
        let client = gateway.session.client();
        client.wait_notification("notifications/prompts/list_changed");
        assert!(!client.notifications().iter().any(|it| it["method"] == updated), "{revision}");
        let unknown = json!({ "uri": "test://nothing" });
        let subscribed = client.try_request("resources/subscribe", unknown);
        assert!(subscribed.is_ok() || revision == HANDSHAKE, "{subscribed:?}");
    }
}

#[test]
fn a_client_learns_of_changed_prompts_and_tools() {
    for revision in [HANDSHAKE, STATELESS] {
        let mut gateway = Gateway::with_config(&exposing(revision));
        let prompts = |gateway: &mut Gateway| listed(gateway, "prompts/list", "prompts", "name");
        let before = prompts(&mut gateway);
        gateway.session.call_tool("test_trigger_prompt_change", json!({}));
        let is_listed = wait_until(TIMEOUT, || {
            gateway.session.client().wait_notification("notifications/prompts/list_changed");
            prompts(&mut gateway).len() == before.len() + 1
        });
        assert!(is_listed, "{revision}");
        gateway.session.call_tool("test_trigger_tool_change", json!({}));
        let is_listed = wait_until(TIMEOUT, || {
            gateway.wait_for_tool_change();
            gateway.session.tool_names().contains(&"test_extra_tool".to_owned())
        });
        assert!(is_listed, "{revision}");
    }
}

#[test]
fn a_client_without_a_handshake_subscribes_to_what_it_wants() {
    let home = Home::with_config(&exposing(STATELESS));
    let mut client = Client::spawn(home.onecall_with_config(&["serve"]));
    let wanted = json!({ "promptsListChanged": true, "resourceSubscriptions": [WATCHED] });
    let params = stateless(json!({ "notifications": wanted }), &json!({}));
    let subscription = client.start("subscriptions/listen", params);
    let accepted = client.wait_notification("notifications/subscriptions/acknowledged");
    assert_eq!(accepted["params"]["notifications"], wanted);
    let call = |client: &mut Client, name: &str| {
        client.request("tools/call", stateless(json!({ "name": name }), &json!({})))
    };
    call(&mut client, "test_trigger_tool_change");
    call(&mut client, "test_trigger_prompt_change");
    let id = "io.modelcontextprotocol/subscriptionId";
    let changed = client.wait_notification("notifications/prompts/list_changed");
    assert_eq!(changed["params"]["_meta"][id], subscription);
    call(&mut client, "test_trigger_resource_update");
    let updated = client.wait_notification("notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], WATCHED);
    assert_eq!(updated["params"]["_meta"][id], subscription);
    let notes = client.notifications();
    assert!(!notes.iter().any(|it| it["method"] == "notifications/tools/list_changed"));
    // Log messages are wanted for each request.
    let mut params = stateless(json!({ "name": "test_logging_tool" }), &json!({}));
    params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("info");
    client.request("tools/call", params);
    let logged = client.wait_notification("notifications/message");
    assert_eq!(logged["params"]["data"], "a message");
}
