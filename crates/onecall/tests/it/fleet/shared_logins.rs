//! Logins to servers that all users share: several gateways have one login, which only one of them renews
//! at a time.

use serde_json::{Value, json};
use testkit::authorization::AuthorizationServer;
use testkit::process::wait_until;
use testkit::remote::HttpFixture;
use testkit::unreliable_link::UnreliableLink;

use super::{SECRETS_KEY, TestFleet, success};
use crate::postgres::server;
use crate::support::http_gateway::{Client, HttpGateway};
use crate::support::login::{LOGIN_NEEDED, Login, vault};
use crate::support::raw_http::Request;
use crate::support::{CommandResult, Home, TIMEOUT, finish};

const CALL: &str = "print(await mcp__far__add(1, 2))";

/// A server that requires a login, and gateways that have it.
struct Setup {
    authority: AuthorizationServer,
    remote: HttpFixture,
    fleet: TestFleet,
}

impl Setup {
    /// `None` if PostgreSQL is not installed.
    fn new() -> Option<Self> {
        server()?;
        let authority = AuthorizationServer::start();
        let remote = HttpFixture::start(&["--guarded-by", &authority.issuer()]);
        let servers = json!([{ "name": "far", "url": remote.url("/mcp") }]);
        let fleet = TestFleet::new(&json!({ "store": "database", "servers": servers }));
        Some(Self { authority, remote, fleet })
    }

    /// The folder of a person on another machine, with the configuration of the gateways.
    fn machine(&self) -> Home {
        let home = Home::new();
        home.write("config.json", self.fleet.settings.to_string());
        home
    }
}

fn log_in(home: &Home) {
    let mut login = Login::start(home, &[("ONECALL_SECRETS_KEY", SECRETS_KEY)]);
    let address = login.address();
    let page = address.map(|address| testkit::web::get_with_redirects(&address));
    let ended = login.ended();
    assert_eq!(ended.code, Some(0), "{page:?} {ended:?}");
}

fn onecall(home: &Home, arguments: &[&str]) -> CommandResult {
    let mut command = home.onecall_with_config(arguments);
    command.env("ONECALL_SECRETS_KEY", SECRETS_KEY);
    finish(command)
}

/// Runs the program until it succeeds: a gateway notices a login within a second.
fn succeeds(gateway: &HttpGateway) -> Client {
    let client = gateway.client();
    let (mut id, mut answer) = (0, String::new());
    let has_succeeded = wait_until(TIMEOUT, || {
        id += 1;
        answer = client.run(id, CALL);
        answer == success("3")
    });
    assert!(has_succeeded, "{answer}");
    client
}

#[test]
fn a_login_at_one_machine_is_a_login_everywhere() {
    let Some(setup) = Setup::new() else { return };
    let (one, other) = (setup.fleet.start(), setup.fleet.start());
    let refused = one.client().run(1, CALL);
    assert!(refused.contains(LOGIN_NEEDED), "{refused}");
    let machine = setup.machine();
    log_in(&machine);
    succeeds(&one);
    let client = succeeds(&other);
    for home in [&machine, &one.home, &other.home] {
        assert_eq!(vault(home), Vec::<std::path::PathBuf>::new());
    }
    let listed = onecall(&machine, &["secrets", "list", "--all-users", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let login = &listed["logins"][0];
    assert_eq!((&login["user"], &login["server"]), (&json!("local"), &json!("far")), "{listed:#}");
    assert_eq!(login["readable"], true);
    let checked = onecall(&other.home, &["check"]);
    assert!(
        checked.stdout.contains("far") && !checked.stdout.contains("needs login"),
        "{checked:?}"
    );
    // A logout on a third machine ends it everywhere.
    let logout = onecall(&setup.machine(), &["logout", "far"]);
    assert_eq!((logout.code, setup.authority.valid_tokens()), (Some(0), (0, 0)), "{logout:?}");
    let mut id = 100;
    let mut answer = String::new();
    let is_refused = wait_until(TIMEOUT, || {
        id += 1;
        answer = client.run(id, CALL);
        answer.contains(LOGIN_NEEDED)
    });
    assert!(is_refused, "{answer}");
}

#[test]
fn a_token_is_renewed_by_one_gateway_at_a_time() {
    let Some(setup) = Setup::new() else { return };
    let (one, other) = (setup.fleet.start(), setup.fleet.start());
    log_in(&setup.machine());
    let clients = [succeeds(&one), succeeds(&other)];
    for round in 1..=5 {
        let before = setup.authority.refresh_count();
        setup.authority.revoke_access_tokens();
        setup.authority.hold_refreshes();
        let programs = clients.each_ref().map(|client| client.start(100 + round, CALL, "t"));
        assert!(wait_until(TIMEOUT, || setup.authority.held_refreshes() > 0));
        setup.authority.release_refreshes();
        for program in programs {
            let answer = program.message();
            let answer = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
            assert_eq!(answer, success("3"), "round {round}");
        }
        assert_eq!(setup.authority.refresh_count(), before + 1, "round {round}");
    }
    // A refresh token that is used twice would have ended the login.
    assert_eq!(setup.authority.valid_tokens().1, 1);
}

#[test]
fn a_gateway_that_dies_while_it_renews_a_token_hinders_no_other() {
    let Some(setup) = Setup::new() else { return };
    let (one, other) = (setup.fleet.start(), setup.fleet.start());
    log_in(&setup.machine());
    let clients = [succeeds(&one), succeeds(&other)];
    setup.authority.revoke_access_tokens();
    setup.authority.hold_refreshes();
    let lost = clients[0].start(100, CALL, "t");
    assert!(wait_until(TIMEOUT, || setup.authority.held_refreshes() == 1));
    setup.authority.ignore_held_refreshes();
    let waiting = clients[1].start(100, CALL, "t");
    // Killed, not stopped, and before its client leaves, which would end the renewal.
    drop((one, lost));
    assert!(wait_until(TIMEOUT, || setup.authority.held_refreshes() == 1));
    setup.authority.release_refreshes();
    let answer = waiting.message();
    assert_eq!(answer["result"]["content"][0]["text"], success("3"), "{answer:#}");
    assert_eq!(setup.authority.valid_tokens().1, 1);
}

#[test]
fn a_login_in_a_file_is_taken_over_once() {
    let Some(setup) = Setup::new() else { return };
    let machine = setup.machine();
    let with_file = json!({ "servers": setup.fleet.settings["servers"] });
    machine.write("config.json", with_file.to_string());
    log_in(&machine);
    assert_eq!(vault(&machine).len(), 1);
    machine.write("config.json", setup.fleet.settings.to_string());
    machine.write("program.py", CALL);
    let run = |home: &Home| onecall(home, &["run", &machine.text_path("program.py")]);
    assert_eq!(run(&machine).stdout, "3\n");
    assert_eq!(vault(&machine), Vec::<std::path::PathBuf>::new());
    // Another machine had a login of its own, which the stored one replaces.
    let another = Home::new();
    another.write("config.json", with_file.to_string());
    log_in(&another);
    another.write("config.json", setup.fleet.settings.to_string());
    assert_eq!(run(&another).stdout, "3\n");
    assert_eq!(vault(&another), Vec::<std::path::PathBuf>::new());
    assert_eq!(onecall(&machine, &["logout", "far"]).code, Some(0));
    let refused = run(&another);
    assert!(refused.stderr.contains(LOGIN_NEEDED), "{refused:?}");
}

#[test]
fn a_token_is_used_while_the_database_is_away() {
    let Some(mut setup) = Setup::new() else { return };
    let url = setup.fleet.settings["store"]["url"].as_str().expect("a URL").to_owned();
    let address = server().expect("a server").address();
    let link = UnreliableLink::to(address);
    let url = url.replace(&address.to_string(), &link.address().to_string());
    setup.fleet.settings["store"]["url"] = json!(url);
    let gateway = setup.fleet.start();
    log_in(&setup.machine());
    let client = succeeds(&gateway);
    link.cut();
    let ready = || Request::new("GET", "/ready").send(gateway.address).status;
    assert!(wait_until(TIMEOUT, || ready() == 503));
    for id in 100..110 {
        assert_eq!(client.run(id, CALL), success("3"));
    }
    link.restore();
    assert!(wait_until(TIMEOUT, || ready() == 200));
    assert_eq!(client.run(200, CALL), success("3"));
    drop(setup.remote);
}
