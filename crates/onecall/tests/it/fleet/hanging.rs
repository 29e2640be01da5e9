//! A database that hangs holds up the requests that need it, and no others.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::bins;
use testkit::postgres::PostgresServer;
use testkit::unreliable_link::UnreliableLink;

use super::{TestFleet, success};
use crate::support::http_gateway::Client;
use crate::support::raw_http::Request;
use crate::users::{bearer, personal_token};

/// How long a request may take that needs no database. A store call is given up after seven seconds.
const PROMPT: Duration = Duration::from_secs(4);

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
