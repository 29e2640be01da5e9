//! Clients that leave, and gateways that end, while a request is forwarded.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::process::wait_until;

use super::{TestFleet, free_address, stateless_in, success};
use crate::support::http_gateway::{Client, HttpGateway, stateless, stateless_request};
use crate::support::raw_http::{HttpResponse, connect};
use crate::support::{TIMEOUT, finish};

/// Waits until a file exists.
const PROGRAM: &str = "import asyncio\nawait mcp__fixture__echo(value='begun')\n\
                       while not await mcp__local__released():\n    await asyncio.sleep(0.05)\n\
                       print('ended')";

/// Starts a program that waits until a file exists, and returns when its tool was called.
fn start(fleet: &TestFleet, client: &Client, id: u64) -> HttpResponse {
    let before = fleet.received().calls("echo");
    let program = client.start(id, PROGRAM, "t");
    assert!(wait_until(TIMEOUT, || fleet.received().calls("echo") == before + 1));
    program
}

/// Starts the program in a session of `owner`, with a request without an MCP session that `other` forwards, and
/// returns the connection when its tool was called.
fn start_in_session(fleet: &TestFleet, owner: &HttpGateway, other: &HttpGateway) -> TcpStream {
    let begun = stateless_in("work", owner, "kept = 1").message();
    let handle = begun["result"]["content"][1]["text"].as_str().expect("a handle");
    let handle = handle.strip_prefix("session: ").expect("a handle");
    let before = fleet.received().calls("echo");
    let mut message: Value = serde_json::from_str(&stateless(1, PROGRAM)).expect("JSON");
    message["params"]["arguments"]["session"] = json!(handle);
    let message = message.to_string();
    let mut connection = connect(other.address);
    // The head of the answer comes with the answer.
    let request = stateless_request(&message).header("Host", &other.address.to_string());
    let request = format!("{}{message}", request.head());
    connection.write_all(request.as_bytes()).expect("a connection");
    assert!(wait_until(TIMEOUT, || fleet.received().calls("echo") == before + 1));
    connection
}

fn fleet(durable: bool) -> TestFleet {
    let mut fleet = TestFleet::new(&json!({ "durable": durable }));
    let released = fleet.folder.text_path("released");
    let script = format!("[ -e '{released}' ] && printf true || printf false");
    fleet.settings["local_tools"] = json!({ "released": { "command": ["sh", "-c", script] } });
    fleet
}

fn outcomes(gateway: &HttpGateway) -> Vec<String> {
    let listed = finish(gateway.home.onecall_with_config(&["runs", "--json"]));
    let runs: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap_or_default();
    runs.iter().filter_map(|run| run["outcome"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_client_that_leaves_another_gateway_cancels_its_program() {
    for durable in [false, true] {
        let fleet = fleet(durable);
        let (one, other) = (fleet.start(), fleet.start());
        // As a client that is connected to the gateway of its session does.
        for client in [one.client(), one.client().through(&other)] {
            let before = outcomes(&one).iter().filter(|it| *it == "cancelled").count();
            drop(start(&fleet, &client, 1));
            let mut seen = Vec::new();
            let is_cancelled = wait_until(TIMEOUT, || {
                seen = outcomes(&one);
                seen.iter().filter(|it| *it == "cancelled").count() == before + 1
            });
            assert!(is_cancelled, "durable: {durable}, {seen:?}");
        }
    }
}

#[test]
fn a_gateway_that_ends_cancels_no_program_of_another() {
    for signal in ["-KILL", "-TERM"] {
        let fleet = fleet(true);
        let (one, mut other) = (fleet.start(), fleet.start());
        let client = one.client();
        let program = start(&fleet, &client.through(&other), 1);
        other.signal(signal);
        other.ended();
        drop(program);
        // Another program shows that the gateway had time to cancel the first one.
        assert_eq!(client.run(2, "print(1)"), success("1"), "{signal}");
        assert_eq!(outcomes(&one).first().map(String::as_str), Some("running"), "{signal}");
        fleet.folder.write("released", "");
        let mut seen = Vec::new();
        let has_ended = wait_until(TIMEOUT, || {
            seen = outcomes(&one);
            seen.iter().all(|outcome| outcome == "ok") && seen.len() == 2
        });
        assert!(has_ended, "{signal}: {seen:?}");
    }
}

#[test]
fn a_client_without_an_mcp_session_cancels_its_program_when_it_leaves() {
    for durable in [false, true] {
        let fleet = fleet(durable);
        let (one, other) = (fleet.start(), fleet.start());
        for gateway in [&one, &other] {
            let before = outcomes(&one).iter().filter(|it| *it == "cancelled").count();
            drop(start_in_session(&fleet, &one, gateway));
            let mut seen = Vec::new();
            let is_cancelled = wait_until(TIMEOUT, || {
                seen = outcomes(&one);
                seen.iter().filter(|it| *it == "cancelled").count() == before + 1
            });
            assert!(is_cancelled, "durable: {durable}, {seen:?}");
        }
    }
}

/// A gateway that hangs neither answers nor closes its connections.
#[test]
fn a_request_does_not_wait_for_a_gateway_that_has_ended() {
    let fleet = fleet(false);
    let (one, other) = (fleet.start(), fleet.start());
    let mut program = start_in_session(&fleet, &one, &other);
    one.signal("-STOP");
    let mut head = [0; 12];
    program.set_read_timeout(Some(TIMEOUT)).expect("a connection");
    program.read_exact(&mut head).expect("an answer");
    assert_eq!(String::from_utf8_lossy(&head), "HTTP/1.1 404");
    one.signal("-CONT");
}

#[test]
fn a_gateway_that_ends_cancels_no_program_without_an_mcp_session() {
    for durable in [false, true] {
        let fleet = fleet(durable);
        let (one, mut other) = (fleet.start(), fleet.start());
        let program = start_in_session(&fleet, &one, &other);
        other.signal("-KILL");
        other.ended();
        drop(program);
        // Another program shows that the gateway had time to cancel the first one.
        assert_eq!(one.client().run(2, "print(1)"), success("1"));
        fleet.folder.write("released", "");
        let mut seen = Vec::new();
        let has_ended = wait_until(TIMEOUT, || {
            seen = outcomes(&one);
            seen == ["ok", "ok", "ok"]
        });
        assert!(has_ended, "durable: {durable}, {seen:?}");
    }
}

#[test]
fn a_gateway_stops_in_time_without_its_database() {
    let Some(server) = crate::postgres::server() else { return };
    let drain = Duration::from_secs(6);
    let fleet = TestFleet::new(&json!({ "store": "database", "durable": true, "audit": "hash" }));
    let link = testkit::unreliable_link::UnreliableLink::to(server.address());
    let url = fleet.settings["store"]["url"].as_str().expect("a URL");
    let mut settings = fleet.settings.clone();
    let address = free_address();
    settings["store"]["url"] =
        json!(url.replace(&server.address().to_string(), &link.address().to_string()));
    settings["fleet"] = json!({
        "advertise": format!("http://{address}"), "secret": super::SECRET,
        "lease_seconds": 3, "drain_seconds": drain.as_secs(),
    });
    let (mut gateway, _) = HttpGateway::serve(&address.to_string(), &[], &settings, |_| {});
    let hanging = gateway.client().start(1, "await mcp__fixture__hang()", "t");
    assert!(wait_until(TIMEOUT, || fleet.received().calls("hang") == 1));
    link.cut();
    let begun = Instant::now();
    gateway.signal("-TERM");
    gateway.ended();
    // Some more time for a busy machine; it would take more than twice as long if each write waited.
    assert!(begun.elapsed() < drain + Duration::from_secs(4), "{:?}", begun.elapsed());
    drop(hanging);
}

#[test]
fn a_run_that_lost_its_record_is_listed() {
    let Some(server) = crate::postgres::server() else { return };
    let fleet = TestFleet::new(&json!({ "store": "database", "durable": true }));
    let gateway = fleet.start();
    let client = gateway.client();
    assert_eq!(client.run(1, "print('kept')"), success("kept"));
    client.run(2, "raise ValueError('lost')");
    assert!(
        wait_until(TIMEOUT, || outcomes(&gateway) == ["raised", "ok"]),
        "{:?}",
        outcomes(&gateway)
    );
    let url = fleet.settings["store"]["url"].as_str().expect("a URL");
    server.execute(url, "DELETE FROM onecall.runs WHERE outcome = 'raised'");
    assert_eq!(outcomes(&gateway), ["unrecorded", "ok"]);
    let listed = finish(gateway.home.onecall_with_config(&["runs"])).stdout;
    let row = listed.lines().nth(1).unwrap_or_default();
    assert!(row.ends_with("unrecorded: it has failed, and has no record"), "{listed}");
    let id = row.split_whitespace().next().unwrap_or_default();
    let shown = finish(gateway.home.onecall_with_config(&["runs", "show", id])).stdout;
    assert!(shown.contains("\nAnswer\n") && shown.contains("ValueError: lost"), "{shown}");
    assert!(shown.contains("\nProgram\n    raise ValueError('lost')"), "{shown}");
}
