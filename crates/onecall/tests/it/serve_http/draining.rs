//! A gateway that can take requests says so, and one that is to end lets its requests finish.

use std::fs;

use serde_json::{Value, json};
use testkit::process::wait_until;

use crate::support::TIMEOUT;
use crate::support::http_gateway::{HttpGateway, stateless, stateless_request, text};
use crate::support::raw_http::Request;

/// The status and the body of an answer to this path, without a token.
fn get(gateway: &HttpGateway, path: &str) -> (u16, String) {
    let answer = Request::new("GET", path).send(gateway.address);
    (answer.status, answer.text())
}

fn fleet(drain_seconds: u64) -> Value {
    json!({
        "advertise": "http://127.0.0.1:1",
        "secret": "0123456789abcdef0123456789abcdef",
        "drain_seconds": drain_seconds,
    })
}

/// A gateway with a tool that says that it was called, and answers as soon as it may.
fn gateway_with_held_tool(drain_seconds: u64) -> HttpGateway {
    let held =
        "touch \"$HOME/called\"; until [ -e \"$HOME/released\" ]; do sleep 0.02; done; printf ok";
    HttpGateway::with_settings(&json!({
        "fleet": fleet(drain_seconds),
        "local_tools": { "held": { "command": ["sh", "-c", held] } },
    }))
}

#[test]
fn a_gateway_says_whether_it_is_ready() {
    let gateway = HttpGateway::with_settings(&json!({}));
    assert!(wait_until(TIMEOUT, || get(&gateway, "/ready") == (200, "ready".to_owned())));
    assert_eq!(get(&gateway, "/health"), (200, "ok".to_owned()));
    assert_eq!(Request::new("POST", "/ready").send(gateway.address).status, 405);
    // A store that is damaged and must not be replaced cannot be used.
    let store = gateway.home.path("home/state/onecall/onecall.db");
    fs::write(store.with_extension("db.durable"), "").unwrap();
    for file in ["db", "db-wal", "db-shm"] {
        fs::remove_file(store.with_extension(file)).unwrap();
    }
    fs::write(&store, "no store at all").unwrap();
    let reason = "not ready: the store cannot be reached; the log says why\n";
    assert!(wait_until(TIMEOUT, || get(&gateway, "/ready") == (503, reason.to_owned())));
    assert_eq!(get(&gateway, "/health"), (200, "ok".to_owned()));
}

#[test]
fn a_gateway_that_can_run_no_program_is_not_ready() {
    let settings = json!({ "engine": "cpython", "python": "/nowhere/python" });
    let gateway = HttpGateway::with_settings(&settings);
    let reason = "not ready: no program can run; the log says why\n";
    assert_eq!(get(&gateway, "/ready"), (503, reason.to_owned()));
    assert_eq!(get(&gateway, "/health"), (200, "ok".to_owned()));
    assert!(gateway.stderr().contains("/nowhere/python cannot be started"), "{}", gateway.stderr());
}

#[test]
fn a_gateway_that_is_stopped_finishes_what_has_begun() {
    let mut gateway = gateway_with_held_tool(3600);
    let client = gateway.client();
    let begun = client.start(1, "print(await mcp__local__held())", "t");
    assert!(wait_until(TIMEOUT, || gateway.home.path("home/called").exists()));

    gateway.signal("-TERM");
    let stopping = (503, "not ready: this gateway is stopping\n".to_owned());
    assert!(wait_until(TIMEOUT, || get(&gateway, "/ready") == stopping));
    assert_eq!(get(&gateway, "/health"), (200, "ok".to_owned()));
    let message = stateless(2, "print(1)");
    let refused = stateless_request(&message).send(gateway.address);
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    let message = refused.message();
    let expected = "this gateway is stopping; send the request again, so that another one gets it";
    assert_eq!(message["error"]["message"], expected);
    // What helps the program to finish still passes.
    client.notify(&json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" }));

    fs::write(gateway.home.path("home/released"), "").unwrap();
    assert_eq!(text(&begun.message()), "[Script executed successfully]\nok\n");
    assert!(gateway.ended().success());
}

#[test]
fn requests_that_do_not_finish_in_time_end_with_the_gateway() {
    let mut gateway = gateway_with_held_tool(1);
    let _begun = gateway.client().start(1, "print(await mcp__local__held())", "t");
    assert!(wait_until(TIMEOUT, || gateway.home.path("home/called").exists()));
    gateway.signal("-TERM");
    assert!(gateway.ended().success());
}

#[test]
fn a_second_signal_ends_the_wait() {
    let mut gateway = gateway_with_held_tool(3600);
    let _begun = gateway.client().start(1, "print(await mcp__local__held())", "t");
    assert!(wait_until(TIMEOUT, || gateway.home.path("home/called").exists()));
    gateway.signal("-TERM");
    assert!(wait_until(TIMEOUT, || get(&gateway, "/ready").0 == 503));
    gateway.signal("-TERM");
    assert!(gateway.ended().success());
}
