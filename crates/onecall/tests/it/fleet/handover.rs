//! Runs that change their gateway, and answers of the database that are lost: each run ends once, and what a
//! client was told stays true.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::bins;
use testkit::postgres::PostgresServer;
use testkit::process::{marked, unique_mark, wait_until};
use testkit::unreliable_link::UnreliableLink;

use super::{TestFleet, success};
use crate::support::http_gateway::{HttpGateway, text};
use crate::support::raw_http::Request;
use crate::support::{TIMEOUT, finish};

/// A fleet with a tool that says that it was called, and answers when it may. It only reads, so that its call is
/// made again by another gateway.
fn fleet_with_held_tool() -> TestFleet {
    let mut fleet = TestFleet::new(&json!({ "durable": true }));
    let [called, released] = ["called", "released"].map(|name| fleet.folder.text_path(name));
    let held =
        format!("echo >> '{called}'; until [ -e '{released}' ]; do sleep 0.02; done; printf ok");
    fleet.settings["local_tools"] =
        json!({ "held": { "command": ["sh", "-c", held], "read_only": true } });
    fleet
}

/// How often the tool was called.
fn calls(fleet: &TestFleet) -> usize {
    let called = std::fs::read_to_string(fleet.folder.path("called")).unwrap_or_default();
    called.lines().count()
}

fn unfinished(fleet: &TestFleet) -> i64 {
    let count = "SELECT count(*) FROM durable_runs WHERE ended_ms IS NULL";
    fleet.open_store().query_row(count, [], |row| row.get(0)).expect("a count")
}

#[test]
fn a_gateway_that_is_stopped_finishes_runs_without_a_client() {
    let mut fleet = fleet_with_held_tool();
    fleet.drain_seconds = 3600;
    let (one, mut other) = (fleet.start(), fleet.start());
    let begun = one.client().start(1, "print(await mcp__local__held())", "t");
    assert!(wait_until(TIMEOUT, || calls(&fleet) == 1));
    // A call that only reads does not wait until its run is stored.
    assert!(wait_until(TIMEOUT, || unfinished(&fleet) == 1));
    drop(one);
    drop(begun);
    // The other gateway continues the run, which no client waits for.
    assert!(wait_until(TIMEOUT, || calls(&fleet) == 2));
    other.signal("-TERM");
    let ready = || Request::new("GET", "/ready").send(other.address).status;
    assert!(wait_until(TIMEOUT, || ready() == 503));
    fleet.folder.write("released", "");
    assert!(other.ended().success());
    assert_eq!((calls(&fleet), unfinished(&fleet)), (2, 0));
}

/// It ignores the end of its input and SIGTERM.
#[test]
fn a_gateway_that_is_stopped_does_not_wait_for_a_server_that_stays() {
    let mark = unique_mark();
    let mut fleet = TestFleet::new(&json!({}));
    let server = bins::fixture_server();
    let script = "trap '' TERM; \"$0\" --name \"$1\"; while :; do sleep 0.1; done";
    fleet.settings["servers"] =
        json!([{ "name": "stays", "command": "sh", "args": ["-c", script, server, mark] }]);
    fleet.drain_seconds = 2;
    let mut gateway = fleet.start();
    assert_eq!(gateway.client().run(1, "print(await mcp__stays__add(1, 2))"), success("3"));
    gateway.signal("-TERM");
    assert!(gateway.ended().success());
    let log = gateway.stderr();
    assert!(log.contains("some servers have not exited in time"), "{log}");
    assert!(wait_until(TIMEOUT, || marked(&mark).is_empty()));
}

#[test]
fn a_gateway_that_stops_takes_up_no_run() {
    let mut fleet = fleet_with_held_tool();
    fleet.drain_seconds = 3600;
    let (one, mut other) = (fleet.start(), fleet.start());
    let waiting = other.client().start(1, "print(await mcp__local__held())", "t");
    assert!(wait_until(TIMEOUT, || calls(&fleet) == 1));
    let begun = one.client().start(1, "print(await mcp__local__held())", "t");
    assert!(wait_until(TIMEOUT, || calls(&fleet) == 2));
    assert!(wait_until(TIMEOUT, || unfinished(&fleet) == 2));
    other.signal("-TERM");
    let ready = || Request::new("GET", "/ready").send(other.address).status;
    assert!(wait_until(TIMEOUT, || ready() == 503));
    drop(one);
    drop(begun);
    // Longer than two leases, a gateway that stops does not take the run of the other one.
    assert!(!wait_until(Duration::from_secs(8), || calls(&fleet) == 3));
    let third = fleet.start();
    assert!(wait_until(TIMEOUT, || calls(&fleet) == 3));
    fleet.folder.write("released", "");
    assert_eq!(text(&waiting.message()), success("ok"));
    assert!(other.ended().success());
    assert!(wait_until(TIMEOUT, || unfinished(&fleet) == 0));
    drop(third);
}

/// The lease of the run is renewed much later.
#[test]
fn a_run_that_another_process_cancels_ends_at_once() {
    for store in ["file", "database"] {
        let mut fleet = TestFleet::new(&json!({ "store": store, "durable": true }));
        fleet.lease_seconds = 300;
        let gateway = fleet.start();
        let begun = gateway.client().start(1, "await mcp__fixture__hang()", "t");
        let received = fleet.received();
        assert!(wait_until(TIMEOUT, || received.calls("hang") == 1));
        let listed = finish(gateway.home.onecall_with_config(&["runs", "--json"]));
        let runs: Value = serde_json::from_str(&listed.stdout).expect("JSON");
        let id = runs[0]["id"].as_str().expect("a run").to_owned();
        let begun_at = Instant::now();
        let cancelled = finish(gateway.home.onecall_with_config(&["cancel", &id]));
        assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
        let answer = text(&begun.message());
        assert!(answer.contains("cancelled"), "{store}: {answer}");
        assert!(begun_at.elapsed() < TIMEOUT, "{store}");
    }
}

/// Two gateways with a database of their own; the first one reaches it by a link.
struct LinkedFleet {
    server: PostgresServer,
    link: UnreliableLink,
    url: String,
    fleet: TestFleet,
    one: HttpGateway,
    _other: HttpGateway,
}

impl LinkedFleet {
    fn new() -> Option<Self> {
        let server = PostgresServer::start_new()?;
        let (link, url) = (UnreliableLink::to(server.address()), server.create_database());
        let linked = url.replace(&server.address().to_string(), &link.address().to_string());
        let mut fleet = TestFleet::new(&json!({ "durable": true }));
        let effects = fleet.folder.text_path("effects");
        fleet.settings["servers"] = json!([{
            "name": "counting", "command": bins::fixture_server(), "args": ["--effects", effects],
        }]);
        fleet.settings["store"] = json!({ "url": linked });
        let one = fleet.start();
        fleet.settings["store"] = json!({ "url": url });
        let other = fleet.start();
        Some(Self { server, link, url, fleet, one, _other: other })
    }

    fn run(&self, code: &str) -> String {
        text(&self.one.start_stateless(1, code).message())
    }

    fn unfinished(&self) -> String {
        let count = "SELECT count(*) FROM onecall.durable_runs WHERE ended_ms IS NULL";
        self.server.execute(&self.url, count)
    }

    fn effects(&self) -> usize {
        let effects = std::fs::read_to_string(self.fleet.folder.path("effects"));
        effects.unwrap_or_default().lines().count()
    }
}

/// The run is stored, and its gateway does not know it.
#[test]
fn a_call_that_was_refused_is_made_by_no_other_gateway() {
    let Some(fleet) = LinkedFleet::new() else { return };
    let code = "print((await mcp__counting__effect(id='a'))['id'])";
    fleet.link.lose_commit_of("INSERT INTO durable_runs");
    let answer = fleet.run(code);
    assert!(fleet.link.has_lost_commit());
    // The run may have been stored by another attempt before its call was to be made.
    let expected = usize::from(answer == success("a"));
    assert!(expected == 1 || answer.contains("was not called"), "{answer}");
    assert_eq!((fleet.unfinished().as_str(), fleet.effects()), ("0", expected));
    assert_eq!(fleet.run(code), success("a"));
}

/// The end of the run, or an event of it, is stored, and its gateway does not know it.
#[test]
fn a_run_ends_once_although_the_answer_to_a_write_is_lost() {
    let Some(fleet) = LinkedFleet::new() else { return };
    let code = "print((await mcp__counting__effect(id='a'))['id'])";
    fleet.link.lose_commit_of("UPDATE durable_texts SET answer");
    assert_eq!(fleet.run(code), success("a"));
    assert!(fleet.link.has_lost_commit());
    assert_eq!((fleet.unfinished().as_str(), fleet.effects()), ("0", 1));
}

/// While the database cannot be written, a run that has had effects has no answer that another gateway's could
/// differ from.
#[test]
fn a_run_whose_end_cannot_be_stored_is_answered_when_it_can() {
    let Some(fleet) = LinkedFleet::new() else { return };
    fleet.run("print(1)");
    // Its client is answered before its end is stored.
    assert!(wait_until(TIMEOUT, || fleet.unfinished() == "0"));
    // The end of each run fails, until the trigger is gone.
    fleet.server.execute(
        &fleet.url,
        "SET search_path = onecall;
         CREATE FUNCTION fail() RETURNS trigger AS $$ BEGIN RAISE 'not now'; END $$ LANGUAGE plpgsql;
         CREATE TRIGGER fail BEFORE UPDATE ON durable_texts FOR EACH ROW EXECUTE FUNCTION fail();",
    );
    let code = "print((await mcp__counting__effect(id='a'))['id'])";
    let begun = fleet.one.client().start(1, code, "t");
    assert!(wait_until(TIMEOUT, || fleet.one.stderr().contains("could not be stored: the store")));
    fleet.server.execute(&fleet.url, "DROP TRIGGER fail ON onecall.durable_texts");
    assert_eq!(text(&begun.message()), success("a"));
    assert_eq!((fleet.unfinished().as_str(), fleet.effects()), ("0", 1));
}
