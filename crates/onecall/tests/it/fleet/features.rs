//! Where several gateways meet other features: two gateways behind a load balancer, which sends each connection
//! to the next one.

use std::net::SocketAddr;

use serde_json::{Value, json};
use testkit::load_balancer::LoadBalancer;
use testkit::process::wait_until;

use super::{TestFleet, free_address, run_in, success};
use crate::postgres;
use crate::support::http_gateway::{Client, HttpGateway, call, stateless, stateless_request, text};
use crate::support::raw_http::{HttpResponse, Request};
use crate::support::{CommandResult, TIMEOUT, finish, fixture};
use crate::users::{bearer, personal_token};

/// Two gateways behind a load balancer, with a database if there is one.
struct Pair {
    fleet: TestFleet,
    one: HttpGateway,
    other: HttpGateway,
    load_balancer: LoadBalancer,
}

impl Pair {
    /// Gateways whose configuration also has these keys.
    fn new(settings: &Value) -> Self {
        let mut settings = settings.clone();
        settings["store"] = json!("database");
        let fleet = TestFleet::new(&settings);
        let addresses = [free_address(), free_address()];
        let load_balancer = LoadBalancer::start(addresses.to_vec());
        let public = load_balancer.address().to_string();
        let [one, other] =
            addresses.map(|address| fleet.start_at(address, &["--allow-host", &public]));
        Self { fleet, one, other, load_balancer }
    }

    fn address(&self) -> SocketAddr {
        self.load_balancer.address()
    }

    /// Calls a tool without a session, at whichever gateway the load balancer chooses.
    fn call(&self, tool: &str, arguments: &Value) -> Value {
        let mut message: Value = serde_json::from_str(&stateless(1, "")).unwrap();
        message["params"]["name"] = json!(tool);
        message["params"]["arguments"] = arguments.clone();
        let message = message.to_string();
        let mut request = stateless_request(&message);
        request.headers.retain(|(name, _)| *name != "Mcp-Name");
        request.header("Mcp-Name", tool).send(self.address()).message()
    }

    /// Runs a command beside the second gateway.
    fn command(&self, arguments: &[&str]) -> CommandResult {
        finish(self.other.home.onecall_with_config(arguments))
    }
}

fn cancelled(request: u64) -> Value {
    json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": request },
    })
}

#[test]
fn a_session_is_found_through_a_load_balancer() {
    let pair = Pair::new(&json!({}));
    let client = Client::open(pair.address(), &[]);
    assert_eq!(run_in("s", &client, 1, "n = 0\nprint(n)"), success("0"));
    for number in 1..5 {
        let printed = run_in("s", &client, 1 + number, "n += 1\nprint(n)");
        assert_eq!(printed, success(&number.to_string()));
    }
    // TypeScript has no variables that stay, but runs in the client's session all the same.
    for id in 10..14 {
        let mut message = call(id, "console.log(6 * 7)", &json!({}));
        message["params"]["arguments"]["language"] = json!("typescript");
        assert_eq!(text(&client.post(&message).message()), success("42"));
    }
}

#[test]
fn a_kept_answer_is_shared_and_cleared_everywhere() {
    let pair = Pair::new(&json!({ "cache": { "scope": "shared" } }));
    let query = |gateway: &HttpGateway| {
        let code = "print(len(await mcp__fixture__query_sales(region='North', year=2024)))";
        text(&gateway.start_stateless(1, code).message())
    };
    let received = pair.fleet.received();
    let calls = || received.calls("query_sales");
    let first = query(&pair.one);
    assert!(first.starts_with("[Script executed successfully]"), "{first}");
    // The answer is written to the store after the program has it.
    assert!(wait_until(TIMEOUT, || {
        let before = calls();
        assert_eq!(query(&pair.other), first);
        calls() == before
    }));
    let known = calls();
    assert_eq!((query(&pair.one), query(&pair.other), calls()), (first.clone(), first, known));
    let cleared = pair.command(&["cache", "clear"]);
    assert_eq!(cleared.code, Some(0), "{cleared:?}");
    assert!(wait_until(TIMEOUT, || {
        query(&pair.one);
        calls() > known
    }));
}

#[test]
fn plans_and_exposed_tools_work_at_every_gateway() {
    let pair = Pair::new(&json!({ "expose_tools": ["mcp__fixture__add"] }));
    let inner = json!({ "__tool__": "mcp__fixture__add", "args": { "a": 1, "b": 2 } });
    let plan = json!({ "target_tool": "mcp__fixture__add", "tool_args": { "a": inner, "b": 4 } });
    for _ in 0..4 {
        assert_eq!(text(&pair.call("proxy", &plan)), "7");
        let sum = pair.call("mcp__fixture__add", &json!({ "a": 20, "b": 22 }));
        assert_eq!(text(&sum), "42");
    }
    // Both gateways have been asked.
    let servers = pair.fleet.received().messages();
    let started = servers.iter().filter(|message| message["method"] == "initialize").count();
    assert_eq!(started, 2);
}

#[test]
fn one_gateway_gets_a_new_configuration_while_the_other_runs() {
    let pair = Pair::new(&json!({}));
    let client = pair.other.client();
    assert_eq!(run_in("s", &client, 1, "x = 1\nprint(x)"), success("1"));
    let extend = |gateway: &HttpGateway| {
        let config = std::fs::read_to_string(gateway.home.path("config.json")).unwrap();
        let mut config: Value = serde_json::from_str(&config).unwrap();
        config["servers"].as_array_mut().unwrap().push(fixture("more", &[]));
        gateway.home.replace_config(&config);
    };
    let add = |gateway: &HttpGateway| {
        text(&gateway.start_stateless(1, "print(await mcp__more__add(1, 2))").message())
    };
    extend(&pair.one);
    assert!(wait_until(TIMEOUT, || add(&pair.one) == success("3")));
    assert!(add(&pair.other).contains("NameError"), "{}", add(&pair.other));
    // The session at the other gateway is reached through the one that was changed.
    assert_eq!(run_in("s", &client.through(&pair.one), 2, "print(x + 1)"), success("2"));
    extend(&pair.other);
    assert!(wait_until(TIMEOUT, || add(&pair.other) == success("3")));
    assert_eq!(run_in("s", &client, 3, "print(x + 2)"), success("3"));
}

#[test]
fn a_question_of_one_gateway_is_answered_at_the_other() {
    let approvals = json!({ "ask": ["mcp__fixture__counter"], "wait_seconds": 0 });
    let pair = Pair::new(&json!({ "approvals": approvals }));
    let waits =
        text(&pair.one.start_stateless(1, "print(await mcp__fixture__counter())").message());
    assert!(waits.starts_with("[Script waiting for approval]"), "{waits}");
    let run = waits.lines().find_map(|line| line.strip_prefix("run: ")).unwrap().to_owned();
    let approved = pair.command(&["approvals", "approve", "--all"]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    // Wherever the client asks for the answer, it is the same one, and the call was made once.
    let mut answers = Vec::new();
    assert!(wait_until(TIMEOUT, || {
        answers.push(text(&pair.call("continue_program", &json!({ "run": run }))));
        let ended = |answer: &&String| answer.starts_with("[Script executed successfully]");
        answers.iter().filter(ended).count() == 3
    }));
    answers.retain(|answer| answer.starts_with("[Script executed"));
    assert_eq!(answers, [success("1"), success("1"), success("1")]);
    assert_eq!(pair.fleet.received().calls("counter"), 1);
}

#[test]
fn a_removed_user_is_stopped_at_every_gateway() {
    let pair = Pair::new(&json!({ "users": {}, "durable": true }));
    let anna = bearer(&personal_token(&pair.one, "anna", &[]));
    let received = pair.fleet.received();
    let mut program =
        Client::open(pair.one.address, &[&anna]).start(1, "await mcp__fixture__hang()", "t");
    let hanging = received.wait_for_call("hang");
    let removed = pair.command(&["users", "remove", "anna"]);
    assert_eq!(removed.code, Some(0), "{removed:?}");
    received.wait_for_cancel(&hanging);
    // The gateway ends the request, or first notices that the run was cancelled in the store.
    while let Some(event) = program.next_event() {
        let is_result = event.data.get("result").is_some();
        assert!(!is_result || text(&event.data).contains("Cancelled"), "{event:?}");
    }
    let log_in = || -> HttpResponse {
        let message = stateless(2, "print(1)");
        stateless_request(&message).header("Authorization", &anna).send(pair.address())
    };
    assert!(wait_until(TIMEOUT, || (0..4).all(|_| log_in().status == 401)));
    // No gateway takes the program up.
    let runs = pair.command(&["runs", "--json"]);
    let runs: Value = serde_json::from_str(&runs.stdout).unwrap();
    assert!(runs.as_array().unwrap().iter().all(|run| run["outcome"] != "interrupted"), "{runs:#}");
}

#[test]
fn a_program_is_cancelled_through_the_other_gateway() {
    let pair = Pair::new(&json!({}));
    let received = pair.fleet.received();
    let client = pair.one.client();
    let _program = client.start(7, "await mcp__fixture__hang()", "t");
    let hanging = received.wait_for_call("hang");
    client.through(&pair.other).notify(&cancelled(7));
    received.wait_for_cancel(&hanging);
}

#[test]
fn a_durable_run_is_cancelled_from_another_machine() {
    let pair = Pair::new(&json!({ "durable": true }));
    let received = pair.fleet.received();
    let program = pair.one.client().start(1, "await mcp__fixture__hang()", "t");
    let hanging = received.wait_for_call("hang");
    let runs = pair.command(&["runs", "--json"]);
    let runs: Value = serde_json::from_str(&runs.stdout).unwrap();
    let ended = pair.command(&["cancel", runs[0]["id"].as_str().unwrap()]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    received.wait_for_cancel(&hanging);
    let answer = text(&program.message());
    assert!(answer.contains("Cancelled"), "{answer}");
}

#[test]
fn the_end_of_a_forwarding_gateway_cancels_nothing() {
    let pair = Pair::new(&json!({ "durable": true }));
    let received = pair.fleet.received();
    let client = pair.one.client();
    let code = "import asyncio\nawait mcp__fixture__echo(value='begun')\nawait asyncio.sleep(2)\n\
                print(await mcp__fixture__echo(value='done'))";
    let begun = client.through(&pair.other).start(1, code, "t");
    received.wait_for_call("echo");
    let Pair { one, other, .. } = pair;
    drop((other, begun));
    let mut runs = Value::Null;
    assert!(
        wait_until(TIMEOUT, || {
            let listed = finish(one.home.onecall_with_config(&["runs", "--json"]));
            runs = serde_json::from_str(&listed.stdout).unwrap();
            runs[0]["outcome"] == "ok"
        }),
        "{runs:#}"
    );
    assert_eq!(runs[0]["resumed"], false);
    // The session is still there.
    let message = call(2, "print(1)", &json!({})).to_string();
    assert_eq!(client.send(Request::message(&message)).status, 200);
}

#[test]
fn a_running_gateway_goes_on_when_a_newer_one_has_changed_the_schema() {
    let Some(server) = postgres::server() else { return };
    let pair = Pair::new(&json!({ "durable": true }));
    let run = |gateway: &HttpGateway| text(&gateway.start_stateless(1, "print(1)").message());
    assert_eq!((run(&pair.one), run(&pair.other)), (success("1"), success("1")));
    let url = pair.fleet.settings["store"]["url"].as_str().unwrap().to_owned();
    let recorded = || server.execute(&url, "SELECT count(*) FROM onecall.runs");
    assert!(wait_until(TIMEOUT, || recorded() == "2"));
    // What a migration of the next version does: it adds, and changes nothing that is there.
    server.execute(
        &url,
        "ALTER TABLE onecall.runs ADD COLUMN added TEXT; CREATE TABLE onecall.added (a BIGINT);
         UPDATE onecall.version SET number = number + 1",
    );
    assert_eq!((run(&pair.one), run(&pair.other)), (success("1"), success("1")));
    assert!(wait_until(TIMEOUT, || recorded() == "4"));
    // A gateway of this version that starts now is refused, and says what to do.
    let refused = pair.command(&["serve", "--http", "127.0.0.1:0"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("update onecall"), "{refused:?}");
}
