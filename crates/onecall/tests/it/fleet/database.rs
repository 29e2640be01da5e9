//! A database that stops, hangs, is cut off or fails over while gateways use it. Programs that need nothing of
//! it go on; calls that have to be stored first are not made.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::bins;
use testkit::postgres::PostgresServer;
use testkit::process::wait_until;
use testkit::unreliable_link::UnreliableLink;

use super::{SECRET, free_address, success};
use crate::support::http_gateway::{HttpGateway, text};
use crate::support::raw_http::Request;
use crate::support::{TIMEOUT, finish, fixture};

/// How long ten programs would take at least if each of them waited for a database that does not answer.
const TIME_OF_WAITING_PROGRAMS: Duration = Duration::from_secs(70);

/// What happens to the database.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    /// It ends at once, as in a crash.
    Stopped,
    /// Its processes do nothing any more.
    Frozen,
    /// Nothing of what is sent arrives.
    Cut,
}

/// A database of a test of its own, and the link by which gateways reach it.
struct Database {
    server: PostgresServer,
    link: UnreliableLink,
    url: String,
}

impl Database {
    fn new() -> Option<Self> {
        let server = PostgresServer::start_new()?;
        let link = UnreliableLink::to(server.address());
        let direct = server.create_database();
        let url = direct.replace(&server.address().to_string(), &link.address().to_string());
        assert_ne!(url, direct, "gateways use the link");
        Some(Self { server, link, url })
    }

    fn begin(&mut self, trouble: Trouble) {
        match trouble {
            Trouble::Stopped => {
                // A crash may cost records of the last second, which are not written to disk at once.
                self.server.execute(&self.url, "CHECKPOINT");
                self.server.stop();
            }
            Trouble::Frozen => self.server.freeze(),
            Trouble::Cut => self.link.cut(),
        }
    }

    fn end(&mut self, trouble: Trouble) {
        match trouble {
            Trouble::Stopped => self.server.start(),
            Trouble::Frozen => self.server.thaw(),
            Trouble::Cut => self.link.restore(),
        }
    }

    /// Starts a gateway whose programs have effects on a server, and a tool that answers when it may.
    fn gateway(&self, settings: &Value) -> HttpGateway {
        let held = "touch \"$HOME/called\"; until [ -e \"$HOME/released\" ]; do sleep 0.02; done; \
                    rm \"$HOME/called\" \"$HOME/released\"; printf ok";
        let mut settings = settings.clone();
        settings["store"] = json!({ "url": self.url });
        settings["servers"] = json!([
            fixture("fixture", &[]),
            // The working directory of a server is that of its gateway.
            { "name": "counting", "command": bins::fixture_server(), "args": ["--effects", "effects"] },
        ]);
        settings["local_tools"] = json!({ "held": { "command": ["sh", "-c", held] } });
        HttpGateway::with_settings(&settings)
    }
}

/// Runs a program, and returns its answer.
fn run(gateway: &HttpGateway, code: &str) -> String {
    text(&gateway.start_stateless(1, code).message())
}

/// The effects that have happened.
fn effects(gateway: &HttpGateway) -> Vec<String> {
    let lines = std::fs::read_to_string(gateway.home.path("work/effects")).unwrap_or_default();
    lines.lines().filter_map(|line| line.split(' ').nth(1).map(str::to_owned)).collect()
}

/// A number of the metrics page.
fn metric(gateway: &HttpGateway, name: &str) -> u64 {
    let page = Request::new("GET", "/metrics").send(gateway.address).text();
    let value = page.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("no {name}: {page}"))
}

fn record_count(gateway: &HttpGateway) -> usize {
    let listed = finish(gateway.home.onecall_with_config(&["runs", "--json", "--limit", "1000"]));
    serde_json::from_str::<Vec<Value>>(&listed.stdout).map_or(0, |runs| runs.len())
}

#[test]
fn programs_go_on_without_the_database_and_are_recorded_later() {
    let Some(mut database) = Database::new() else { return };
    let gateway = database.gateway(&json!({}));
    assert_eq!(run(&gateway, "print(0)"), success("0"));
    let mut expected = 1;
    assert!(wait_until(TIMEOUT, || record_count(&gateway) == expected));
    for trouble in [Trouble::Stopped, Trouble::Frozen, Trouble::Cut] {
        database.begin(trouble);
        let begun = Instant::now();
        for number in 0..10 {
            let code = format!("print(await mcp__fixture__add({number}, 1))");
            assert_eq!(run(&gateway, &code), success(&(number + 1).to_string()), "{trouble:?}");
        }
        // Not one of them has waited for the database.
        assert!(begun.elapsed() < TIME_OF_WAITING_PROGRAMS, "{trouble:?}: {:?}", begun.elapsed());
        expected += 10;
        let ready = || Request::new("GET", "/ready").send(gateway.address).status;
        assert!(wait_until(TIMEOUT, || ready() == 503), "{trouble:?}");
        assert_eq!(Request::new("GET", "/health").send(gateway.address).status, 200);
        assert!(metric(&gateway, "onecall_store_writes_waiting ") > 0, "{trouble:?}");
        database.end(trouble);
        let mut found = 0;
        let is_recorded = || {
            found = record_count(&gateway);
            found == expected
        };
        assert!(wait_until(TIMEOUT, is_recorded), "{trouble:?}: {found} of {expected}");
        assert!(wait_until(TIMEOUT, || metric(&gateway, "onecall_store_writes_waiting ") == 0));
        assert!(wait_until(TIMEOUT, || ready() == 200), "{trouble:?}");
    }
    assert_eq!(metric(&gateway, "onecall_store_writes_dropped_total "), 0);
}

/// One effect before the trouble, and one during it.
const EFFECTS: &str = "\
await mcp__counting__effect(id='before-N')
await mcp__local__held()
try:
    await mcp__counting__effect(id='during-N')
except ToolError as error:
    print(str(error).split(': the store')[0])";

#[test]
fn a_call_that_cannot_be_stored_first_is_not_made() {
    let Some(mut database) = Database::new() else { return };
    let gateway = database.gateway(&json!({ "durable": true }));
    let mut expected = Vec::new();
    for (number, trouble) in [Trouble::Stopped, Trouble::Frozen, Trouble::Cut].iter().enumerate() {
        let program = gateway.client().start(1, &EFFECTS.replace('N', &number.to_string()), "t");
        assert!(wait_until(TIMEOUT, || gateway.home.path("home/called").exists()));
        database.begin(*trouble);
        gateway.home.write("home/released", "");
        let printed = text(&program.message());
        let refused = "'mcp__counting__effect' failed: it was not called, because it cannot be written to \
                       the journal first";
        assert!(printed.contains(refused), "{trouble:?}: {printed}");
        expected.push(format!("before-{number}"));
        assert_eq!(effects(&gateway), expected, "{trouble:?}");
        // A program that begins now can read, and nothing else.
        let code = "print(await mcp__fixture__add(1, 1))\nawait mcp__counting__effect(id='never')";
        let answer = run(&gateway, code);
        assert!(answer.contains(refused) && answer.contains("\n2\n"), "{trouble:?}: {answer}");
        database.end(*trouble);
        let after = format!("print((await mcp__counting__effect(id='after-{number}'))['id'])");
        expected.push(format!("after-{number}"));
        let mut answer = String::new();
        assert!(
            wait_until(TIMEOUT, || {
                answer = run(&gateway, &after);
                answer == success(&format!("after-{number}"))
            }),
            "{trouble:?}: {answer}"
        );
        assert_eq!(effects(&gateway), expected, "{trouble:?}");
    }
}

/// From now on, the end of a run cannot be stored if the run is stored.
const REFUSE_ENDS: &str = "
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
CREATE TRIGGER refuse BEFORE UPDATE ON onecall.durable_runs FOR EACH ROW
  WHEN (NEW.ended_ms IS NOT NULL) EXECUTE FUNCTION refuse()";

/// If the store got the run of a refused program without its end, and its gateway died, another gateway would
/// continue it: it would have effects after its client was told that it has none.
#[test]
fn a_run_that_was_refused_is_only_stored_with_its_end() {
    let Some(mut database) = Database::new() else { return };
    let advertised = format!("http://{}", free_address());
    let fleet = json!({ "advertise": advertised, "secret": SECRET, "lease_seconds": 300 });
    let settings = json!({ "durable": true, "fleet": fleet, "approvals": {} });
    let gateway = database.gateway(&settings);
    let code = |id: &str| format!("print((await mcp__counting__effect(id='{id}'))['id'])");
    assert_eq!(run(&gateway, &code("first")), success("first"));
    database.server.execute(&database.url, REFUSE_ENDS);
    database.begin(Trouble::Stopped);
    let refused = run(&gateway, &code("never"));
    assert!(refused.contains("it was not called, because"), "{refused}");
    database.end(Trouble::Stopped);
    let count =
        "SELECT count(*) || ' runs, ' || count(ended_ms) || ' ended' FROM onecall.durable_runs";
    let mut runs = String::new();
    let is_stored = || {
        runs = database.server.execute(&database.url, count);
        runs == "2 runs, 2 ended"
    };
    assert!(wait_until(TIMEOUT, is_stored), "{runs}");
    // The answer can be asked for again.
    let newest = "SELECT id FROM onecall.durable_runs ORDER BY number DESC LIMIT 1";
    let params = json!({
        "name": "continue_program",
        "arguments": { "run": database.server.execute(&database.url, newest) },
    });
    let message = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
    assert_eq!(text(&gateway.client().post(&message).message()), refused);
    assert_eq!(effects(&gateway), ["first"]);
}

/// A database whose host is reached and does not answer is left for the next one.
#[test]
fn a_standby_takes_the_place_of_a_database_that_hangs() {
    let Some(mut database) = Database::new() else { return };
    let standby = database.server.start_standby();
    let both = format!("{},{}", database.link.address(), standby.address());
    database.url = database.url.replace(&database.link.address().to_string(), &both)
        + "&target_session_attrs=read-write";
    let gateway = database.gateway(&json!({ "durable": true, "approvals": {} }));
    let code = |id: &str| format!("print((await mcp__counting__effect(id='{id}'))['id'])");
    assert_eq!(run(&gateway, &code("first")), success("first"));
    database.server.freeze();
    standby.promote();
    let mut answer = String::new();
    let went_on = wait_until(TIMEOUT, || {
        answer = run(&gateway, &code("second"));
        answer == success("second")
    });
    assert!(went_on, "{answer}");
    assert_eq!(effects(&gateway), ["first", "second"]);
    // A command connects anew. What the standby notifies of is noticed.
    let listed = finish(gateway.home.onecall_with_config(&["runs", "--json"]));
    assert_eq!(listed.code, Some(0), "{listed:?}");
}

#[test]
fn a_standby_takes_the_place_of_a_database_that_was_killed() {
    let Some(mut database) = Database::new() else { return };
    let standby = database.server.start_standby();
    // Both hosts are in the URL. The standby takes no writes until it is promoted.
    let both = format!("{},{}", database.link.address(), standby.address());
    database.url = database.url.replace(&database.link.address().to_string(), &both)
        + "&target_session_attrs=read-write";
    let gateway = database.gateway(&json!({ "durable": true, "audit": "hash" }));
    let code = |id: &str| format!("print((await mcp__counting__effect(id='{id}'))['id'])");
    assert_eq!(run(&gateway, &code("first")), success("first"));
    let waiting = gateway.client().start(1, &EFFECTS.replace('N', "x"), "t");
    assert!(wait_until(TIMEOUT, || gateway.home.path("home/called").exists()));
    database.server.stop();
    // Without a database that takes writes, nothing happens that has to be stored first.
    gateway.home.write("home/released", "");
    let printed = text(&waiting.message());
    assert!(printed.contains("failed: it was not called, because"), "{printed}");
    assert_eq!(effects(&gateway), ["first", "before-x"]);
    standby.promote();
    let mut answer = String::new();
    let went_on = wait_until(TIMEOUT, || {
        answer = run(&gateway, &code("second"));
        answer == success("second")
    });
    assert!(went_on, "{answer}");
    assert_eq!(effects(&gateway), ["first", "before-x", "second"]);
    // What was stored before is there, and the audit trail has no gap.
    let verified = finish(gateway.home.onecall_with_config(&["audit", "verify"]));
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let trail = finish(gateway.home.onecall_with_config(&["audit", "--json"])).stdout;
    assert!(trail.matches("mcp__counting__effect").count() >= 3, "{trail}");
}

#[test]
fn a_gateway_follows_its_database_to_another_host() {
    let Some(mut database) = Database::new() else { return };
    // Two hosts in the URL: the database is at the second one after the first has ended.
    let standby = UnreliableLink::to(database.server.address());
    let both = format!("{},{}", database.link.address(), standby.address());
    database.url = database.url.replace(&database.link.address().to_string(), &both)
        + "&target_session_attrs=read-write";
    let gateway = database.gateway(&json!({ "durable": true }));
    let code = |id: &str| format!("print((await mcp__counting__effect(id='{id}'))['id'])");
    assert_eq!(run(&gateway, &code("first")), success("first"));
    database.link = standby;
    let mut answer = String::new();
    let went_on = wait_until(TIMEOUT, || {
        answer = run(&gateway, &code("second"));
        answer == success("second")
    });
    assert!(went_on, "{answer}");
    assert_eq!(effects(&gateway), ["first", "second"]);
}
