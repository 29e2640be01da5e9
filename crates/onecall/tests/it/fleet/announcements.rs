//! Questions that are announced to a webhook, although the gateway that asks is killed or the webhook is out of
//! order.

use std::net::TcpListener;

use serde_json::{Value, json};
use testkit::process::wait_until;

use super::TestFleet;
use crate::approvals::webhook::{Announcement, receive, receive_without_answer};
use crate::support::TIMEOUT;
use crate::support::http_gateway::HttpGateway;

/// A webhook, and a fleet that announces to it calls of a tool that need an approval.
fn fleet(store: &str) -> (TestFleet, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
    let approvals = json!({
        "ask": ["mcp__fixture__echo"],
        "wait_seconds": 0,
        "webhook": { "url": url, "secret": "hush-hush-hush" },
    });
    (TestFleet::new(&json!({ "store": store, "approvals": approvals })), listener)
}

fn ask(gateway: &HttpGateway) {
    let answer = gateway.client().run(1, "await mcp__fixture__echo(value=1)");
    assert!(answer.starts_with("[Script waiting for approval]"), "{answer}");
}

/// The questions that were announced, by which a receiver knows repeated announcements.
fn items(announcement: &Announcement) -> Vec<Value> {
    let body: Value = serde_json::from_str(&announcement.body).expect("JSON");
    let items = body["items"].as_array().expect("items");
    items.iter().map(|item| item["item"].clone()).collect()
}

#[test]
fn a_question_is_announced_although_its_gateway_is_killed() {
    for store in ["file", "database"] {
        let (fleet, listener) = fleet(store);
        let (one, _other) = (fleet.start(), fleet.start());
        ask(&one);
        // The gateway is killed before it knows that its announcement has arrived.
        let (lost, _stream) = receive_without_answer(&listener);
        drop(one);
        let repeated = receive(&listener, "204 No Content");
        assert_eq!(items(&repeated).len(), 1);
        assert_eq!(items(&repeated), items(&lost));
    }
}

#[test]
fn a_question_is_announced_once_the_webhook_works() {
    let (fleet, listener) = fleet("file");
    let gateway = fleet.start();
    ask(&gateway);
    let mut announced = Vec::new();
    // More attempts than one delivery makes.
    for status in ["503 Service Unavailable", "404 Not Found", "500 Failed", "204 No Content"] {
        announced.push(items(&receive(&listener, status)));
    }
    assert_eq!(announced[0].len(), 1);
    assert!(announced.iter().all(|items| *items == announced[0]), "{announced:?}");
    let count = "SELECT count(*) FROM questions WHERE announce_ms IS NOT NULL";
    let unannounced = || fleet.open_store().query_row(count, [], |row| row.get::<_, i64>(0));
    assert!(wait_until(TIMEOUT, || unannounced().expect("a count") == 0));
    drop(gateway);
}

/// The pause before the next attempt is long by then, and begins when an attempt has failed, not when it begins.
#[test]
fn an_old_question_is_announced_although_a_gateway_is_killed_that_announces_it() {
    let (fleet, listener) = fleet("file");
    let one = fleet.start();
    ask(&one);
    let (_lost, _stream) = receive_without_answer(&listener);
    drop(one);
    let day_before = "UPDATE questions SET asked_ms = asked_ms - 86400000, announce_ms = 0";
    assert_eq!(fleet.open_store().execute(day_before, []), Ok(1));
    let two = fleet.start();
    let (lost, _stream) = receive_without_answer(&listener);
    drop(two);
    let _three = fleet.start();
    assert_eq!(items(&receive(&listener, "204 No Content")), items(&lost));
}
