//! A database that hangs holds up the requests that need it, and no others.

use std::io::Write;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::bins;
use testkit::postgres::PostgresServer;
use testkit::process::{marked, unique_mark, wait_until};
use testkit::unreliable_link::UnreliableLink;

use super::{SECRETS_KEY, TestFleet, free_address, success};
use crate::support::http_gateway::{Client, HttpGateway};
use crate::support::raw_http::Request;
use crate::support::{TIMEOUT, fixture};
use crate::users::{bearer, personal_token};

/// How long a request may take that needs no database. A store call is given up after seven seconds.
const PROMPT: Duration = Duration::from_secs(4);

/// Longer than a request takes that does not wait for the database.
const SLOW: Duration = Duration::from_secs(3);

#[test]
fn other_requests_are_answered_while_the_secrets_of_a_user_cannot_be_read() {
    let Some(server) = PostgresServer::start_new() else { return };
    let (link, url) = (UnreliableLink::to(server.address()), server.create_database());
    let linked = url.replace(&server.address().to_string(), &link.address().to_string());
    let mut fleet = TestFleet::new(&json!({ "users": {} }));
    fleet.settings["store"] = json!({ "url": linked });
    fleet.settings["servers"] = json!([{
        "name": "own", "command": bins::fixture_server(), "credentials": "user",
        "env": { "KEY": "${user:KEY}" },
    }]);
    let gateway = fleet.start();
    let [anna, ben] = ["anna", "ben"].map(|name| bearer(&personal_token(&gateway, name, &[])));
    let [anna, ben] = [&anna, &ben].map(|token| Client::open(gateway.address, &[token]));
    assert_eq!(anna.run(1, "print(1)"), success("1"));
    assert_eq!(ben.run(1, "print(1)"), success("1"));
    link.cut();
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let (anna, has_ended) = (&anna, &has_ended);
        scope.spawn(move || {
            for id in 2..4 {
                let answer = anna.run(id, "print(2)");
                // A token that was used a moment ago is known although the store cannot be reached.
                assert_eq!(answer, success("2"));
            }
            has_ended.store(true, Ordering::SeqCst);
        });
        while !has_ended.load(Ordering::SeqCst) {
            let begun = Instant::now();
            assert_eq!(Request::new("GET", "/health").send(gateway.address).status, 200);
            assert!(begun.elapsed() < PROMPT, "{:?}", begun.elapsed());
            thread::sleep(Duration::from_millis(20));
        }
    });
    link.restore();
    assert_eq!(ben.run(2, "print(3)"), success("3"));
}

/// A fleet whose database is reached by the link, with a server that runs with a secret of each user. The mark is
/// in the command of its processes. There is no audit trail: no call is made while that cannot be written.
fn fleet_with_secrets(server: &PostgresServer, link: &UnreliableLink, mark: &str) -> TestFleet {
    let url = server.create_database();
    let linked = url.replace(&server.address().to_string(), &link.address().to_string());
    let mut fleet = TestFleet::new(&json!({ "users": {}, "audit": "off" }));
    fleet.settings["store"] = json!({ "url": linked });
    fleet.settings["servers"] = json!([{
        "name": "own", "command": bins::fixture_server(), "args": ["--name", mark],
        "credentials": "user", "env": { "KEY": "${user:KEY}" },
    }]);
    fleet
}

fn set_secret(gateway: &HttpGateway, user: &str, value: &str) {
    let mut command = gateway.home.onecall_with_config(&["secrets", "set", "KEY", "--user", user]);
    command.env("ONECALL_SECRETS_KEY", SECRETS_KEY).stdin(Stdio::piped());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut set = command.spawn().expect("onecall starts");
    set.stdin.take().expect("a pipe").write_all(value.as_bytes()).expect("it reads");
    assert!(set.wait().expect("it ends").success());
}

const PRINT_KEY: &str = "print(await mcp__own__env(name='KEY'))";

/// Secrets that cannot be read have not changed.
#[test]
fn the_server_of_a_user_goes_on_without_the_database() {
    let Some(server) = PostgresServer::start_new() else { return };
    let (link, mark) = (UnreliableLink::to(server.address()), unique_mark());
    let gateway = fleet_with_secrets(&server, &link, &mark).start();
    let token = bearer(&personal_token(&gateway, "anna", &[]));
    set_secret(&gateway, "anna", "one");
    let anna = Client::open(gateway.address, &[&token]);
    assert_eq!(anna.run(1, PRINT_KEY), success("one"));
    let pids = || marked(&mark).into_iter().map(|process| process.pid).collect::<Vec<_>>();
    let started = pids();
    assert_eq!(started.len(), 1);
    link.cut();
    let mut has_waited = false;
    for id in 2.. {
        let begun = Instant::now();
        assert_eq!(anna.run(id, PRINT_KEY), success("one"));
        if has_waited {
            break;
        }
        has_waited = begun.elapsed() >= SLOW;
    }
    assert_eq!(pids(), started);
    link.restore();
    set_secret(&gateway, "anna", "two");
    assert!(wait_until(TIMEOUT, || anna.run(2, PRINT_KEY) == success("two")));
    assert_ne!(pids(), started);
}

#[test]
fn a_reload_waits_for_no_secrets() {
    let Some(server) = PostgresServer::start_new() else { return };
    let (link, mark) = (UnreliableLink::to(server.address()), unique_mark());
    let gateway =
        fleet_with_secrets(&server, &link, &mark).start_at(free_address(), &["--log", "info"]);
    let token = bearer(&personal_token(&gateway, "anna", &[]));
    set_secret(&gateway, "anna", "one");
    let anna = Client::open(gateway.address, &[&token]);
    assert_eq!(anna.run(1, PRINT_KEY), success("one"));
    let config = std::fs::read_to_string(gateway.home.path("config.json")).expect("a file");
    let mut config: Value = serde_json::from_str(&config).expect("JSON");
    config["servers"][0]["env"]["MORE"] = json!("more");
    config["servers"].as_array_mut().expect("servers").push(fixture("added", &[]));
    link.cut();
    gateway.home.replace_config(&config);
    let is_applied = || gateway.stderr().contains("added: added");
    // Each request is answered at once, also those after the change was applied.
    let (mut applied, begun) = (0, Instant::now());
    while applied < 3 {
        let sent = Instant::now();
        assert_eq!(Request::new("GET", "/health").send(gateway.address).status, 200);
        assert!(sent.elapsed() < PROMPT, "{:?}", sent.elapsed());
        assert!(begun.elapsed() < TIMEOUT, "{}", gateway.stderr());
        applied += usize::from(is_applied());
        thread::sleep(Duration::from_millis(20));
    }
    link.restore();
    // The changed server has the secret as soon as that can be read.
    let print_both = "print(await mcp__own__env(name='KEY'), await mcp__own__env(name='MORE'))";
    assert!(wait_until(TIMEOUT, || anna.run(2, print_both) == success("one more")));
}
