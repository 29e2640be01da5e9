//! Several gateways that share a store: a client may reach any of them.

mod announcements;
mod chaos;
mod database;
mod departures;
mod features;
mod handover;
mod hanging;
mod page;
mod shared_logins;
mod shared_pins;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Stdio;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};
use testkit::authorization::AuthorizationServer;
use testkit::process::wait_until;
use testkit::remote::HttpFixture;

use crate::postgres::server;
use crate::support::browser::Browser;
use crate::support::http_gateway::{Client, HttpGateway, call, stateless, stateless_request, text};
use crate::support::raw_http::{HttpResponse, Request};
use crate::support::{Home, ReceivedMessages, TIMEOUT, finish, fixture, free_port};
use crate::users::logins::login_link;
use crate::users::{bearer, personal_token};

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// The key of the secrets of users: 32 bytes as base64.
const SECRETS_KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

/// Gateways with one store and one configuration.
struct TestFleet {
    folder: Home,
    settings: Value,
    lease_seconds: u64,
    drain_seconds: u64,
}

impl TestFleet {
    /// Gateways whose configuration also has these keys.
    fn new(settings: &Value) -> Self {
        let folder = Home::new();
        let mut settings = settings.clone();
        // A file that several processes of one machine share, or else a database.
        settings["store"] = match server().filter(|_| settings["store"] == "database") {
            Some(server) => json!({ "url": server.create_database() }),
            None => json!({ "path": folder.text_path("shared.db") }),
        };
        if settings["servers"].is_null() {
            settings["servers"] =
                json!([fixture("fixture", &["--log", &folder.text_path("received")])]);
        }
        Self { folder, settings, lease_seconds: 3, drain_seconds: 0 }
    }

    /// Starts one more gateway.
    fn start(&self) -> HttpGateway {
        self.start_at(free_address(), &[])
    }

    /// Starts one more gateway at this address, with more arguments.
    fn start_at(&self, address: SocketAddr, arguments: &[&str]) -> HttpGateway {
        let mut settings = self.settings.clone();
        settings["fleet"] = json!({
            "advertise": format!("http://{address}"),
            "secret": SECRET,
            "lease_seconds": self.lease_seconds,
            "drain_seconds": self.drain_seconds,
        });
        HttpGateway::serve(&address.to_string(), arguments, &settings, |command| {
            command.stdin(Stdio::null()).env("ONECALL_SECRETS_KEY", SECRETS_KEY);
        })
        .0
    }

    /// The file that the gateways share.
    fn open_store(&self) -> Connection {
        let store = Connection::open(self.folder.path("shared.db")).expect("a store");
        store.busy_timeout(TIMEOUT).expect("a store");
        store
    }

    /// Executes statements in the file that the gateways share.
    fn execute(&self, statements: &str) {
        self.open_store().execute_batch(statements).expect("a store");
    }

    fn received(&self) -> ReceivedMessages {
        ReceivedMessages::in_file(self.folder.path("received"))
    }
}

/// An address of this machine that was free a moment ago.
fn free_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], free_port()))
}

fn success(output: &str) -> String {
    format!("[Script executed successfully]\n{output}\n")
}

/// Runs a program in a session that is continued by a name or a handle.
fn run_in(session: &str, client: &Client, id: u64, code: &str) -> String {
    let mut message = call(id, code, &json!({}));
    message["params"]["arguments"]["session"] = json!(session);
    text(&client.post(&message).message())
}

fn stateless_in(session: &str, gateway: &HttpGateway, code: &str) -> HttpResponse {
    let mut message: Value = serde_json::from_str(&stateless(1, code)).expect("JSON");
    message["params"]["arguments"]["session"] = json!(session);
    stateless_request(&message.to_string()).send(gateway.address)
}

#[test]
fn a_client_may_reach_any_gateway() {
    for store in ["file", "database"] {
        let fleet = TestFleet::new(&json!({ "store": store }));
        let (one, other) = (fleet.start(), fleet.start());
        let client = one.client();
        let elsewhere = client.through(&other);
        assert_eq!(run_in("s", &client, 1, "x = 6\nprint('kept')"), success("kept"));
        assert_eq!(run_in("s", &elsewhere, 2, "print(x * 7)"), success("42"));
        // Progress comes as it is reported.
        let code = "print(await mcp__fixture__echo(value='far'))";
        let mut answer = elsewhere.start(3, code, "t");
        while answer.next_event().expect("an event").data["method"] != "notifications/progress" {}
        assert_eq!(text(&answer.message()), success("far"));
        let mut listening = elsewhere.listen(None);
        assert!(listening.next_event().is_some());
        assert_eq!(elsewhere.send(Request::new("DELETE", "/mcp")).status, 204);
        let gone = client.send(Request::message(&call(4, "print(1)", &json!({})).to_string()));
        assert_eq!(gone.status, 404);
    }
}

#[test]
fn a_handle_of_a_session_works_at_any_gateway() {
    let fleet = TestFleet::new(&json!({}));
    let (one, other) = (fleet.start(), fleet.start());
    let begun = stateless_in("work", &one, "kept = 41").message();
    let handle = begun["result"]["content"][1]["text"].as_str().expect("a handle");
    let handle = handle.strip_prefix("session: ").expect("a handle").to_owned();
    let answer = stateless_in(&handle, &other, "print(kept + 1)").message();
    assert_eq!(text(&answer), success("42"));
    drop(one);
    // While the gateway counts as alive, it cannot be reached; then the session is lost.
    let mut answer = None;
    assert!(wait_until(TIMEOUT, || {
        answer = Some(stateless_in(&handle, &other, "print(kept)")).filter(|it| it.status == 200);
        answer.is_some()
    }));
    let answer = text(&answer.expect("an answer").message());
    assert!(answer.contains("there is no session with the handle"), "{answer}");
}

#[test]
fn a_session_is_lost_with_its_gateway() {
    let fleet = TestFleet::new(&json!({}));
    let (one, other) = (fleet.start(), fleet.start());
    let client = one.client().through(&other);
    drop(one);
    let message = call(1, "print(1)", &json!({})).to_string();
    let send = || client.send(Request::message(&message));
    assert!(wait_until(TIMEOUT, || send().status == 404));
    let expected = "Not Found: the session is lost, because the gateway that had it has ended; begin a new one\n";
    assert_eq!(send().text(), expected);
    assert_eq!(other.client().run(1, "print(1)"), success("1"));
}

/// Something else has the address of a gateway that has ended: a proxy in front of it, or another service.
#[test]
fn only_a_gateway_can_say_that_it_lives() {
    for foreign in ["502 Bad Gateway", "200 OK", "403 Forbidden"] {
        let fleet = TestFleet::new(&json!({}));
        let (one, other) = (fleet.start(), fleet.start());
        let client = one.client().through(&other);
        let address = one.address;
        drop(one);
        let _service = answer_everything(address, foreign);
        fleet.execute("UPDATE gateways SET until_ms = until_ms - 60000");
        let message = call(1, "print(1)", &json!({})).to_string();
        assert_eq!(client.send(Request::message(&message)).status, 404, "{foreign}");
    }
}

/// Answers every request at this address with this status, for as long as the test runs.
fn answer_everything(address: SocketAddr, status: &'static str) -> std::thread::JoinHandle<()> {
    let listener = TcpListener::bind(address).expect("the address is free");
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            _ = connection.read(&mut [0; 65_536]);
            let answer =
                format!("HTTP/1.1 {status}\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
            _ = connection.write_all(answer.as_bytes());
        }
    })
}

/// A gateway that is too busy to renew its lease in time lives.
#[test]
fn a_session_is_not_lost_when_the_lease_of_its_gateway_expires() {
    let fleet = TestFleet::new(&json!({}));
    let (one, other) = (fleet.start(), fleet.start());
    let (client, _) = (one.client(), other.client());
    // From now on, each lease has expired when it is stored.
    fleet.execute(
        "CREATE TRIGGER expire AFTER UPDATE OF until_ms ON gateways BEGIN
           UPDATE gateways SET until_ms = until_ms - 60000 WHERE id = NEW.id;
         END;
         UPDATE gateways SET until_ms = until_ms;",
    );
    assert_eq!(run_in("s", &client, 1, "x = 6\nprint(x)"), success("6"));
    assert_eq!(run_in("s", &client.through(&other), 2, "print(x * 7)"), success("42"));
    drop(one);
    let message = call(3, "print(1)", &json!({})).to_string();
    assert_eq!(client.through(&other).send(Request::message(&message)).status, 404);
}

/// The first request may come before the store has taken note of the gateway.
#[test]
fn a_new_gateway_is_known_to_the_others_before_it_answers() {
    let fleet = TestFleet::new(&json!({}));
    let one = fleet.start();
    let store = fleet.open_store();
    store.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    let other = fleet.start();
    let begun = std::thread::spawn(move || (other.client(), other));
    // Only a gateway that does not wait for the store answers now.
    wait_until(Duration::from_secs(1), || begun.is_finished());
    store.execute_batch("COMMIT").expect("a store");
    let (client, _other) = begun.join().expect("a client");
    assert_eq!(run_in("s", &client.through(&one), 1, "print('found')"), success("found"));
}

#[test]
fn only_gateways_can_forward() {
    let fleet = TestFleet::new(&json!({}));
    let gateway = fleet.start();
    let message = stateless(1, "print(1)");
    let forged = |proof: &str| -> HttpResponse {
        stateless_request(&message).header("Onecall-Forwarded", proof).send(gateway.address)
    };
    for proof in ["", "x", "e30.AAAA", &"a".repeat(10_000)] {
        let refused = forged(proof);
        assert_eq!(refused.status, 403);
        let expected = "Forbidden: the request was not forwarded by a gateway of this fleet\n";
        assert_eq!(refused.text(), expected);
    }
}

#[test]
fn a_user_is_the_same_at_every_gateway() {
    let fleet = TestFleet::new(&json!({ "users": {} }));
    let (one, other) = (fleet.start(), fleet.start());
    let [anna, ben] = ["anna", "ben"].map(|name| bearer(&personal_token(&one, name, &[])));
    let client = Client::open(one.address, &[&anna]);
    assert_eq!(run_in("s", &client, 1, "x = 1\nprint(x)"), success("1"));
    assert_eq!(run_in("s", &client.through(&other), 2, "print(x + 1)"), success("2"));
    let message = call(3, "print(1)", &json!({})).to_string();
    let as_ben = |gateway: &HttpGateway| {
        Request::message(&message)
            .header("Mcp-Session-Id", &client.session)
            .header("Authorization", &ben)
            .send(gateway.address)
            .status
    };
    assert_eq!((as_ben(&one), as_ben(&other)), (404, 404));
}

/// The person's browser reaches another gateway than the one that made the link: the page, the form and
/// the way back from the authorization server are forwarded.
#[test]
fn a_login_link_works_at_every_gateway() {
    let authority = AuthorizationServer::with_login_page();
    let remote = HttpFixture::start(&["--guarded-by", &authority.issuer()]);
    let public = free_address();
    let fleet = TestFleet::new(&json!({
        "users": { "public_url": format!("http://{public}") },
        "servers": [{ "name": "far", "url": remote.url("/mcp"), "credentials": "user" }],
    }));
    let (one, other) = (fleet.start(), fleet.start_at(public, &[]));
    let token = personal_token(&one, "anna", &[]);
    let client = Client::open(one.address, &[&bearer(&token)]);
    let link = login_link(&client.run(1, "await mcp__far__account()"), "far", "anna");
    let page = Browser::default().use_login_link(&link, &token, "anna at work");
    assert!(page.body.contains("<h1>Logged in</h1>"), "{page:?}");
    let account = "print(await mcp__far__account())";
    assert_eq!(client.run(2, account), success("anna at work"));
    // The login is everybody's, and the link is used up everywhere.
    let elsewhere = Client::open(other.address, &[&bearer(&token)]);
    assert_eq!(elsewhere.run(1, account), success("anna at work"));
    assert_eq!(Browser::default().open(&link).status, 404);
    drop(one);
    let refused = || Browser::default().open(&link).status;
    assert!(wait_until(TIMEOUT, || refused() == 404));
}

#[test]
fn the_calls_of_a_user_are_limited_over_all_gateways() {
    let fleet = TestFleet::new(&json!({ "users": { "calls_per_minute": 5 } }));
    let (one, other) = (fleet.start(), fleet.start());
    let [anna, ben] = ["anna", "ben"].map(|name| bearer(&personal_token(&one, name, &[])));
    let code = "for _ in range(5):\n    await mcp__fixture__echo(value=1)\nprint('five')";
    assert_eq!(Client::open(one.address, &[&anna]).run(1, code), success("five"));
    // The gateways exchange what users use every second.
    let client = Client::open(other.address, &[&anna]);
    let mut asked = 0;
    assert!(wait_until(TIMEOUT, || {
        asked += 1;
        let answer = client.run(asked, "await mcp__fixture__echo(value=1)");
        answer.contains("'calls_per_minute' in users permits no more")
    }));
    assert_eq!(Client::open(other.address, &[&ben]).run(1, code), success("five"));
}

#[test]
fn the_programs_of_a_user_are_limited_over_all_gateways() {
    let fleet = TestFleet::new(&json!({ "users": { "max_programs": 1 } }));
    let (one, other) = (fleet.start(), fleet.start());
    let anna = bearer(&personal_token(&one, "anna", &[]));
    let (first, second) =
        (Client::open(one.address, &[&anna]), Client::open(other.address, &[&anna]));
    let mut hanging = first.start(1, "await mcp__fixture__hang()", "t");
    let call = "notifications/progress";
    while hanging.next_event().expect("an event").data["method"] != call {}
    // Until the other gateway knows of the program, it begins one itself.
    let mut id = 1;
    let mut waiting = None;
    assert!(wait_until(TIMEOUT, || {
        id += 1;
        let mut begun = second.start(id, "print('ran')", "t");
        let is_shown = |it: &Value| it["method"] == call || it.get("result").is_some();
        let mut shown = || begun.next_event().expect("an event").data;
        let shown = std::iter::repeat_with(&mut shown).find(is_shown).expect("an event");
        let message = shown["params"]["message"].as_str();
        let waits = message == Some("the program waits until others end");
        waiting = Some(begun).filter(|_| waits);
        waits
    }));
    drop(hanging);
    first.send(Request::new("DELETE", "/mcp"));
    assert_eq!(text(&waiting.expect("a program that waits").message()), success("ran"));
}

#[test]
fn a_run_goes_on_when_its_gateway_is_killed() {
    for store in ["file", "database"] {
        let fleet = TestFleet::new(&json!({ "store": store, "durable": true }));
        let (one, other) = (fleet.start(), fleet.start());
        let received = fleet.received();
        let code = "import asyncio\nvalue = await mcp__fixture__echo(value='kept')\n\
                    await asyncio.sleep(4)\nprint(value)";
        let begun = one.client().start(1, code, "t");
        assert!(wait_until(TIMEOUT, || received.calls("echo") == 1));
        drop((begun, one));
        let mut runs = Value::Null;
        let ended = wait_until(TIMEOUT * 2, || {
            let listed = finish(other.home.onecall_with_config(&["runs", "--json"]));
            runs = serde_json::from_str(&listed.stdout).expect("JSON");
            runs[0]["outcome"] == "ok"
        });
        assert!(ended, "{runs:#}");
        assert_eq!(runs[0]["resumed"], true);
        // A call that only reads may be repeated if its answer was not in the store yet.
        assert!(received.calls("echo") <= 2);
    }
}

const POLICY: &str = r#"
permit (principal in Group::"dev", action in Action::"call", resource);
@ask("sure?")
forbid (principal, action == Action::"mcp__fixture__echo", resource);
"#;

#[test]
fn a_run_goes_on_with_the_groups_that_its_user_has_then() {
    let policy = Home::new();
    policy.write("team.cedar", POLICY);
    let settings = json!({
        "users": {},
        "policy": policy.text_path("team.cedar"),
        "approvals": { "wait_seconds": 0 },
    });
    let fleet = TestFleet::new(&settings);
    let (one, other) = (fleet.start(), fleet.start());
    let anna = bearer(&personal_token(&one, "anna", &["dev"]));
    let code = "print(await mcp__fixture__echo(value=1))\nprint(await mcp__fixture__add(1, 2))";
    let waits = Client::open(one.address, &[&anna]).run(1, code);
    assert!(waits.starts_with("[Script waiting for approval]"), "{waits}");
    drop(one);
    let command = |arguments: &[&str]| finish(other.home.onecall_with_config(arguments));
    assert_eq!(command(&["users", "add", "anna", "--group", "intern"]).code, Some(0));
    assert_eq!(command(&["approvals", "approve", "--all"]).code, Some(0));
    let mut run = Value::Null;
    let ended = wait_until(TIMEOUT * 2, || {
        let listed = command(&["runs", "--json"]);
        run = serde_json::from_str::<Value>(&listed.stdout).expect("JSON")[0].clone();
        run["outcome"] == "raised"
    });
    assert!(ended, "{run:#}");
    let message = run["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("is not available in execute_program"), "{run:#}");
    // Neither call was made for a user who may not make it.
    assert_eq!((fleet.received().calls("echo"), fleet.received().calls("add")), (0, 0));
}

#[test]
fn the_configuration_for_deployments_is_valid() {
    let home = Home::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/onecall.yaml");
    let variables = [
        ("ADDRESS", "http://10.0.0.5:8808"),
        ("DATABASE_HOST", "127.0.0.1:1"),
        ("DATABASE_PASSWORD", "p"),
        ("DATABASE_SSLMODE", "disable"),
        ("FLEET_SECRET", SECRET),
    ];
    let mut command = home.onecall(&["check", "--json", "--config", file]);
    command.envs(variables);
    let checked = finish(command);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    // Each of the variables is needed.
    for (name, _) in variables {
        let mut command = home.onecall(&["check", "--config", file]);
        command.envs(variables).env_remove(name);
        let refused = finish(command);
        assert_ne!(refused.code, Some(0), "{name}");
        assert!(refused.stderr.contains(name), "{refused:?}");
    }
}
